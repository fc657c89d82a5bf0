//! `SendMessage` and `SendMessageBatch`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fault::WireFault;
use super::{Wire, required, seconds};
use crate::sqs::attribute::{Attributes, RawAttribute};
use crate::sqs::error::QueueError;
use crate::sqs::limits;
use crate::sqs::message::{MessageId, NewMessage};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SendMessage {
    queue_url: Option<String>,
    #[serde(flatten)]
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SendMessageBatch {
    queue_url: Option<String>,
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    id: String,
    #[serde(flatten)]
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Message {
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    message_group_id: Option<String>,
    #[serde(default)]
    message_attributes: BTreeMap<String, RawAttribute>,
}

/// A message that was sent, with the digests an SDK checks.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Sent {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    md5_of_body: String,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    md5_of_attributes: Option<String>,
}

/// The answer to a batch, whose entries succeed or fail on their own. SDKs take a missing list for an empty one.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchReply {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    successful: Vec<Sent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failure>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    id: String,
    sender_fault: bool,
    code: String,
    message: String,
}

impl Wire {
    pub(super) fn send_message(&self, request: SendMessage) -> Result<Sent, WireFault> {
        let queue = self.queue_at(request.queue_url.as_deref())?;
        let message = request.message.parse()?;
        let sent = Sent::new(None, &message);
        Ok(sent.under(queue.send(message)?))
    }

    pub(super) fn send_message_batch(
        &self,
        request: SendMessageBatch,
    ) -> Result<BatchReply, WireFault> {
        let queue = self.queue_at(request.queue_url.as_deref())?;
        limits::check_batch_ids(request.entries.iter().map(|entry| entry.id.as_str()))?;
        let mut reply = BatchReply::default();
        let (mut messages, mut answers) = (Vec::new(), Vec::new());
        for Entry { id, message } in request.entries {
            match message.parse() {
                Ok(message) => {
                    answers.push(Sent::new(Some(id), &message));
                    messages.push(message);
                }
                Err(error) => reply.failed.push(Failure::new(id, error.into())),
            }
        }
        if !messages.is_empty() {
            let ids = queue.send_batch(&messages)?;
            let sent = answers.into_iter().zip(ids).map(|(sent, id)| sent.under(id));
            reply.successful.extend(sent);
        }
        Ok(reply)
    }
}

impl Message {
    fn parse(self) -> Result<NewMessage, QueueError> {
        let body = required(self.message_body, "MessageBody")?;
        let delay = seconds("DelaySeconds", self.delay_seconds.unwrap_or(0))?;
        let attributes = Attributes::from_raw(self.message_attributes)?;
        let message = NewMessage::new(body)?.delayed(delay)?.with_attributes(attributes);
        match self.message_group_id {
            Some(id) => message.in_group(id),
            None => Ok(message),
        }
    }
}

impl Sent {
    fn new(id: Option<String>, message: &NewMessage) -> Self {
        Self {
            id,
            message_id: String::new(),
            md5_of_body: message.md5_of_body(),
            md5_of_attributes: message.md5_of_attributes(),
        }
    }

    fn under(self, message_id: MessageId) -> Self {
        Self { message_id: message_id.to_string(), ..self }
    }
}

impl Failure {
    fn new(id: String, fault: WireFault) -> Self {
        let (sender_fault, code) = (fault.is_senders, fault.code().to_owned());
        Self { id, sender_fault, code, message: fault.message }
    }
}
