//! Sends commands that no further delivery can help to the dead-letter queue. They do not wait for their five
//! receives, and take their reason along. The first [refusals](shared::history::refusals) of a subject on a day are kept as letters, and the
//! others are only counted.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::history::events::SentEvent;
use shared::history::refusals::{MOST_LETTERS, Refusals};
use shared::platform::dead_letters::{
    DETAIL, LetterSeal, ORIGIN, REASON, RECEIVES, SENT, cut, fits,
};
use shared::platform::ledger::Ledger;
use shared::platform::queue::{Message, SendError, Sender};

use crate::delivery::Delivery;
use crate::failure::Failure;

/// The dead-letter queue. The alerter reads it.
#[derive(Debug, Clone)]
pub struct DeadLetterQueue {
    sender: Sender,
    seal: LetterSeal,
    most_refusals: u64,
}

impl DeadLetterQueue {
    /// A queue to send to, and the seal for what goes there.
    pub fn new(sender: Sender, seal: LetterSeal) -> Self {
        Self { sender, seal, most_refusals: MOST_LETTERS }
    }

    /// The same queue with another bound of letters for each reason and subject on a UTC day, for tests.
    #[must_use]
    pub fn keeping(self, most_refusals: u64) -> Self {
        Self { most_refusals, ..self }
    }

    /// The same queue, with a retry count of its own.
    pub(crate) fn metered(&self) -> Self {
        Self { sender: self.sender.metered(), ..self.clone() }
    }

    /// Retried calls since [`Self::metered`].
    pub(crate) fn retries(&self) -> u64 {
        self.sender.retries()
    }

    /// Sends a message there, with why it failed. Once it is accepted, the original may be acknowledged.
    ///
    /// # Errors
    /// [`SendError`]: it may not be on the queue, so the original must not be acknowledged.
    pub(crate) async fn send(
        &self,
        message: &SqsMessage,
        delivery: &Delivery,
        failure: &Failure,
    ) -> Result<(), SendError> {
        let letter = letter(&self.seal, message, delivery, failure)?;
        self.sender.send(&[letter], delivery.hard_deadline).await
    }

    /// The refusals of which this queue takes the first.
    pub(crate) fn refusals(&self, ledger: &Ledger) -> Refusals {
        Refusals::new(ledger).keeping(self.most_refusals)
    }

    /// Sends events of one message there, each as a letter of its own with why it was refused.
    ///
    /// # Errors
    /// [`SendError`]: some may not be on the queue, so their message must not be acknowledged.
    pub(crate) async fn send_events(
        &self,
        delivery: &Delivery,
        group: &str,
        refused: &[&RefusedEvent<'_>],
    ) -> Result<(), SendError> {
        let letters = refused.iter().map(|it| letter_of(&self.seal, delivery, group, it));
        self.sender.send(&letters.collect::<Vec<_>>(), delivery.hard_deadline).await
    }
}

/// An event of several that is refused by itself.
#[derive(Debug)]
pub(crate) struct RefusedEvent<'a> {
    /// Its index among the events of its message.
    pub(crate) index: usize,
    pub(crate) event: &'a SentEvent,
    pub(crate) failure: Failure,
}

/// The dead letter of one event of a message. Its origin is made from the origin of the message and the index of the event, so
/// it is the same letter however often the message is delivered or handed on.
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

/// The dead letter of a message. One that was redriven, or went back as it came, keeps its id, so that it is the same letter.
fn letter(
    seal: &LetterSeal,
    message: &SqsMessage,
    delivery: &Delivery,
    failure: &Failure,
) -> Result<Message, SendError> {
    let evidence = [
        (ORIGIN, delivery.origin.to_string()),
        (RECEIVES, delivery.receives.to_string()),
        (SENT, delivery.sent_millis.clone()),
    ];
    // A letter without its body says nothing.
    let body =
        message.body.clone().ok_or_else(|| SendError::not_built("the message has no body"))?;
    let group = message.attributes.get("MessageGroupId").cloned();
    Ok(sealed(seal, body, group, failure, evidence))
}

/// A letter with its reason, its origin, and the seal on both.
fn sealed(
    seal: &LetterSeal,
    body: String,
    group: Option<String>,
    failure: &Failure,
    evidence: [(&'static str, String); 3],
) -> Message {
    let reason = [(REASON, failure.reason().to_owned()), (DETAIL, cut(failure.unredacted()))];
    let mut attributes = seal.sealed(&body, reason.into_iter().chain(evidence).collect());
    // A body of the greatest length travels without attributes, so its letter is unverified.
    if !fits(&body, &attributes) {
        attributes.clear();
    }
    Message { body, group, attributes, delay_seconds: None }
}
