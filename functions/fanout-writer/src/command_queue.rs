//! The queue that commands come from, which the rest of what is long goes back to.

use shared::command::{Command, InternalSeal, MAX_INTERNAL_LENGTH};
use shared::message::CommandError;
use shared::queue::{Message, SendError, Sender};
use shared::runtime::deadline::Deadline;
use shared::values::Timestamp;

/// The queue that commands come from: segments of large fan-outs, and the rest of what takes longer than
/// one invocation, go back to it. So whoever waits for it to drain waits for them too. They are sealed:
/// nobody else can send such commands.
#[derive(Debug, Clone)]
pub struct CommandQueue(Option<(Sender, InternalSeal)>);

impl CommandQueue {
    /// A queue to send to, and what to seal with what goes there.
    #[must_use]
    pub fn new(sender: Sender, seal: InternalSeal) -> Self {
        Self(Some((sender, seal)))
    }

    /// No queue, for those who hand nothing on: whatever is sent is refused, and no internal command is
    /// read.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// The same queue for another piece of work, whose retries are counted by themselves.
    pub(crate) fn metered(&self) -> Self {
        Self(self.0.as_ref().map(|(sender, seal)| (sender.metered(), seal.clone())))
    }

    /// How many calls were made again since it was metered.
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

    /// Sends commands, and has the queue hold them back for `delay_seconds`.
    ///
    /// # Errors
    /// [`SendError`], as for those that are delivered at once.
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
            // A message of many events can be longer than what is read of a sealed command.
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
