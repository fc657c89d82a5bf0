//! The way to the dead-letter queue, for commands that no further delivery can help. They do not
//! wait for their five receives, and take their reason along.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::dead_letters::{DETAIL, LetterSeal, ORIGIN, REASON, RECEIVES, SENT, cut, fits};
use shared::events::SentEvent;
use shared::queue::{Message, SendError, Sender};
use shared::runtime::deadline::Deadline;
use shared::values::is_message_id;

use crate::delivery::sent_millis;
use crate::{Delivery, Failure};

/// The dead-letter queue. The alerter reads it.
#[derive(Debug, Clone)]
pub struct DeadLetterQueue {
    sender: Sender,
    seal: LetterSeal,
}

impl DeadLetterQueue {
    /// A queue to send to, and what to seal with what goes there.
    #[must_use]
    pub fn new(sender: Sender, seal: LetterSeal) -> Self {
        Self { sender, seal }
    }

    /// The same queue for another piece of work, whose retries are counted by themselves.
    pub(crate) fn metered(&self) -> Self {
        Self { sender: self.sender.metered(), seal: self.seal.clone() }
    }

    /// How many calls were made again since it was metered.
    pub(crate) fn retries(&self) -> u64 {
        self.sender.retries()
    }

    /// Sends a message there, with why it failed. Once it is accepted the original may go.
    ///
    /// # Errors
    /// [`SendError`]: it may not be on the queue; what it was made from must not be acknowledged.
    pub(crate) async fn send(
        &self,
        id: &str,
        message: &SqsMessage,
        receives: u32,
        failure: &Failure,
        deadline: Deadline,
    ) -> Result<(), SendError> {
        let letter = letter(&self.seal, id, message, receives, failure)?;
        self.sender.send(&[letter], deadline).await
    }

    /// Sends events there that came with others, each as a letter of its own, with why it was refused.
    ///
    /// # Errors
    /// [`SendError`]: any of them may not be on the queue; what they came with must not be acknowledged.
    pub(crate) async fn send_events(
        &self,
        delivery: &Delivery,
        group: &str,
        refused: &[RefusedEvent<'_>],
    ) -> Result<(), SendError> {
        let letters = refused.iter().map(|it| letter_of(&self.seal, delivery, group, it));
        self.sender.send(&letters.collect::<Vec<_>>(), delivery.hard_deadline).await
    }
}

/// An event of several that becomes a dead letter of its own.
#[derive(Debug)]
pub(crate) struct RefusedEvent<'a> {
    /// The place that it has among them.
    pub(crate) index: usize,
    /// The event, as it was sent.
    pub(crate) event: &'a SentEvent,
    /// Why.
    pub(crate) failure: Failure,
}

/// The dead letter that an event of several becomes. Its origin is made of that of the message that they came with, and of its
/// place among them: however often that message comes, or is handed on, it is the same letter.
fn letter_of(
    seal: &LetterSeal,
    delivery: &Delivery,
    group: &str,
    refused: &RefusedEvent,
) -> Message {
    let RefusedEvent { index, event, failure } = refused;
    let evidence = [
        (ORIGIN, format!("{}-{index}", delivery.origin)),
        (RECEIVES, delivery.receives.to_string()),
        (SENT, delivery.sent_millis.clone()),
    ];
    sealed(seal, event.body(), Some(group.to_owned()), failure, evidence)
}

/// The dead letter that a message becomes.
fn letter(
    seal: &LetterSeal,
    id: &str,
    message: &SqsMessage,
    receives: u32,
    failure: &Failure,
) -> Result<Message, SendError> {
    // A letter that was redriven keeps the id it had, so that it comes back as the same letter.
    let former = message.message_attributes.get(ORIGIN);
    let former = former.and_then(|value| value.string_value.as_deref());
    // Whoever sends commands can send that attribute too.
    let origin = former.filter(|former| is_message_id(former)).unwrap_or(id);
    let evidence = [
        (ORIGIN, origin.to_owned()),
        (RECEIVES, receives.to_string()),
        (SENT, sent_millis(message).to_owned()),
    ];
    // A letter without its body says nothing.
    let body =
        message.body.clone().ok_or_else(|| SendError::not_built("the message has no body"))?;
    let group = message.attributes.get("MessageGroupId").cloned();
    Ok(sealed(seal, body, group, failure, evidence))
}

/// A letter with why it is one, where it came from, and the seal on both.
fn sealed(
    seal: &LetterSeal,
    body: String,
    group: Option<String>,
    failure: &Failure,
    evidence: [(&'static str, String); 3],
) -> Message {
    let reason = [(REASON, failure.reason().to_owned()), (DETAIL, cut(failure.unredacted()))];
    let mut attributes = seal.sealed(&body, reason.into_iter().chain(evidence).collect());
    // A body as long as a message can be travels alone, and its letter is an unverified one.
    if !fits(&body, &attributes) {
        attributes.clear();
    }
    Message { body, group, attributes, delay_seconds: None }
}
