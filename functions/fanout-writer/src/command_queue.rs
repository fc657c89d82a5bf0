//! The queue that commands come from. The rest of long work goes back to it.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::{Command, InternalSeal, MAX_INTERNAL_LENGTH};
use shared::platform::dead_letters::fits;
use shared::platform::message::CommandError;
use shared::platform::queue::{Message, SendError, Sender};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{Origin, Timestamp};

/// The attribute of a message that went back as it came, with its sealed origin.
const FIRST: &str = "nagare.first";

/// The queue that commands come from. Segments of large fan-outs, and the rest of work that takes longer than one
/// invocation, go back to it, so waiting for it to drain includes them. They are sealed: nobody else can
/// send such commands.
#[derive(Debug, Clone)]
pub struct CommandQueue(Option<(Sender, InternalSeal)>);

impl CommandQueue {
    /// A queue to send to, and the seal for what goes there.
    pub fn new(sender: Sender, seal: InternalSeal) -> Self {
        Self(Some((sender, seal)))
    }

    /// No queue, for writers that hand nothing on: sends are refused, and internal commands are not read.
    pub fn none() -> Self {
        Self(None)
    }

    /// The same queue, with a retry count of its own.
    pub(crate) fn metered(&self) -> Self {
        Self(self.0.as_ref().map(|(sender, seal)| (sender.metered(), seal.clone())))
    }

    /// Retried calls since [`Self::metered`].
    pub(crate) fn retries(&self) -> u64 {
        self.0.as_ref().map_or(0, |(sender, _)| sender.retries())
    }

    /// Reads a body that came from the queue.
    ///
    /// # Errors
    /// [`CommandError`]; it is permanent.
    pub fn parse(&self, body: &str, now: Timestamp) -> Result<Command, CommandError> {
        match &self.0 {
            Some((_, seal)) => seal.parse(body, now),
            None => Command::parse(body, now),
        }
    }

    /// The origin of a message that went back as it came.
    pub(crate) fn first(&self, message: &SqsMessage) -> Option<Origin> {
        let (_, seal) = self.0.as_ref()?;
        let sealed = message.message_attributes.get(FIRST)?.string_value.as_deref()?;
        seal.parse_origin(sealed, message.body.as_deref()?)
    }

    /// A message as it came, under its origin. `None` if the longest body leaves no room for that.
    pub(crate) fn as_it_came(&self, message: &SqsMessage, origin: &Origin) -> Option<Message> {
        let (_, seal) = self.0.as_ref()?;
        let body = message.body.clone()?;
        let attributes = vec![(FIRST, seal.to_origin(origin, &body))];
        let group = message.attributes.get("MessageGroupId").cloned();
        let fits = fits(&body, &attributes);
        fits.then_some(Message { body, group, attributes, delay_seconds: None })
    }

    /// Sends messages [as they came](Self::as_it_came).
    ///
    /// # Errors
    /// [`SendError`], as for [`Self::send`].
    pub(crate) async fn send_back(
        &self,
        messages: &[Message],
        deadline: Deadline,
    ) -> Result<(), SendError> {
        match &self.0 {
            Some((sender, _)) => sender.send(messages, deadline).await,
            None => Ok(()),
        }
    }

    /// Sends commands.
    ///
    /// # Errors
    /// [`SendError`] says nothing about which of them were accepted; sending all of them again is
    /// right.
    pub(crate) async fn send(
        &self,
        commands: &[Command],
        deadline: Deadline,
    ) -> Result<(), SendError> {
        self.send_later(commands, None, deadline).await
    }

    /// Sends commands, delayed by `delay_seconds`.
    ///
    /// # Errors
    /// [`SendError`], as for [`Self::send`].
    pub(crate) async fn send_later(
        &self,
        commands: &[Command],
        delay_seconds: Option<u16>,
        deadline: Deadline,
    ) -> Result<(), SendError> {
        let Some((sender, seal)) = &self.0 else {
            return Err(SendError::not_built("nothing is handed on here"));
        };
        let message = |command: &Command| {
            let body = seal.to_body(command);
            // A message of many events can be longer than the longest sealed command that is read.
            if body.len() > MAX_INTERNAL_LENGTH {
                return Err(SendError::not_built("the sealed command is too long"));
            }
            let group = Some(command.group().to_string());
            Ok(Message { body, group, delay_seconds, ..Message::default() })
        };
        let messages = commands.iter().map(message).collect::<Result<Vec<_>, _>>()?;
        sender.send(&messages, deadline).await
    }
}
