//! Messages on their way in and out.

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

use super::attribute::Attributes;
use super::config::{self, ACCOUNT_ID};
use super::error::QueueError;
use super::receipt::ReceiptHandle;
use super::{digest, limits};

/// The id a message gets when it is sent, and keeps over all receives and queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(Uuid);

impl MessageId {
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4())
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A message that may be sent: what no queue would take cannot be built.
#[derive(Debug, Clone)]
pub struct NewMessage {
    pub(super) body: String,
    pub(super) delay: Duration,
    pub(super) group_id: Option<String>,
    pub(super) attributes: Attributes,
}

impl NewMessage {
    /// A message with a body of at least one character, none of them a control character.
    pub fn new(body: impl Into<String>) -> Result<Self, QueueError> {
        let body = body.into();
        limits::check_body(&body)?;
        let attributes = Attributes::default();
        Ok(Self { body, delay: Duration::ZERO, group_id: None, attributes })
    }

    /// Hides the message at first, for at most 15 minutes.
    pub fn delayed(self, delay: Duration) -> Result<Self, QueueError> {
        limits::check_delay(delay)?;
        Ok(Self { delay, ..self })
    }

    /// Names the tenant whose message this is (fair queues). Receivers are told the name. When messages have to wait,
    /// tenants with few messages in flight are served first.
    pub fn in_group(self, id: impl Into<String>) -> Result<Self, QueueError> {
        let id = id.into();
        limits::check_group_id(&id)?;
        Ok(Self { group_id: Some(id), ..self })
    }

    /// Puts attributes beside the body.
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        Self { attributes, ..self }
    }

    /// MD5 of the body, in hexadecimal.
    pub fn md5_of_body(&self) -> String {
        digest::of_body(&self.body)
    }

    /// SQS's MD5 of the attributes, if there are any.
    pub fn md5_of_attributes(&self) -> Option<String> {
        digest::of_attributes(&self.attributes)
    }

    pub(super) fn bytes(&self) -> usize {
        self.body.len() + self.attributes.bytes()
    }
}

/// A message as one receive hands it out.
#[derive(Debug, Clone)]
pub struct ReceivedMessage {
    /// The id given at sending.
    pub message_id: MessageId,
    /// What deletes the message, until it is received again.
    pub receipt_handle: ReceiptHandle,
    /// The body as it was sent.
    pub body: String,
    /// The attributes as they were sent.
    pub attributes: Attributes,
    /// The tenant, if the sender named one.
    pub group_id: Option<String>,
    /// When it was first enqueued, in unix milliseconds.
    pub sent_at: i64,
    /// How often this queue has handed it out, this time included.
    pub receive_count: u32,
    /// When this queue first handed it out, in unix milliseconds.
    pub first_received_at: i64,
    /// The name of the queue it was moved from, on a dead-letter queue.
    pub dead_letter_source: Option<String>,
}

impl ReceivedMessage {
    /// MD5 of the body, in hexadecimal.
    pub fn md5_of_body(&self) -> String {
        digest::of_body(&self.body)
    }

    /// SQS's system attributes, by their wire names: `Attributes` of a received message, and
    /// `attributes` of a record in a Lambda event.
    pub fn system_attributes(&self) -> impl Iterator<Item = (&'static str, String)> {
        let always = [
            ("SenderId", ACCOUNT_ID.to_owned()),
            ("SentTimestamp", self.sent_at.to_string()),
            ("ApproximateReceiveCount", self.receive_count.to_string()),
            ("ApproximateFirstReceiveTimestamp", self.first_received_at.to_string()),
        ];
        let group = self.group_id.clone().map(|id| ("MessageGroupId", id));
        let source = self.dead_letter_source.as_deref();
        let source = source.map(|name| ("DeadLetterQueueSourceArn", config::arn(name)));
        always.into_iter().chain(group).chain(source)
    }
}
