//! `ReceiveMessage`, and which of a message's attributes it asks for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::{Wire, seconds};
use crate::sqs::attribute::RawAttribute;
use crate::sqs::digest;
use crate::sqs::error::QueueError;
use crate::sqs::limits::invalid_value;
use crate::sqs::message::ReceivedMessage;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiveMessage {
    queue_url: Option<String>,
    max_number_of_messages: Option<i64>,
    visibility_timeout: Option<i64>,
    wait_time_seconds: Option<i64>,
    /// The older name of `MessageSystemAttributeNames`.
    #[serde(default)]
    attribute_names: Names,
    #[serde(default)]
    message_system_attribute_names: Names,
    #[serde(default)]
    message_attribute_names: Names,
}

/// The attributes a request asks for: by name, `prefix.*`, or all of them.
#[derive(Default, Deserialize)]
#[serde(transparent)]
struct Names(Vec<String>);

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Received {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Message {
    message_id: String,
    receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    md5_of_body: String,
    body: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'static str, String>,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    md5_of_attributes: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    message_attributes: BTreeMap<String, RawAttribute>,
}

impl Wire {
    pub(super) async fn receive_message(&self, request: ReceiveMessage) -> Result<Received, Fault> {
        let queue = self.queue_at(request.queue_url.as_deref())?;
        let max = at_least_one(request.max_number_of_messages.unwrap_or(1))?;
        let visibility = request.visibility_timeout;
        let visibility = visibility.map(|s| seconds("VisibilityTimeout", s)).transpose()?;
        let wait = seconds("WaitTimeSeconds", request.wait_time_seconds.unwrap_or(0))?;
        let messages = queue.receive(max, visibility, wait).await?;
        let messages = messages.into_iter().map(|message| request.present(message)).collect();
        Ok(Received { messages })
    }
}

impl ReceiveMessage {
    fn present(&self, message: ReceivedMessage) -> Message {
        let asked = |name: &str| {
            self.attribute_names.include(name) || self.message_system_attribute_names.include(name)
        };
        let attributes = message.system_attributes().filter(|(name, _)| asked(name)).collect();
        let sent = message.attributes.clone();
        let wanted = sent.filtered(|name| self.message_attribute_names.include(name));
        Message {
            message_id: message.message_id.to_string(),
            receipt_handle: message.receipt_handle.to_string(),
            md5_of_body: message.md5_of_body(),
            body: message.body,
            attributes,
            // Over what is given back, because that is what the receiver can check.
            md5_of_attributes: digest::of_attributes(&wanted),
            message_attributes: wanted.into_raw(),
        }
    }
}

impl Names {
    fn include(&self, name: &str) -> bool {
        self.0.iter().any(|asked| match asked.strip_suffix(".*") {
            Some(prefix) => name.starts_with(prefix),
            None => asked == "All" || asked == name,
        })
    }
}

/// The upper limit is the queue's to check.
fn at_least_one(max: i64) -> Result<usize, QueueError> {
    usize::try_from(max).map_err(|_| {
        let reason = "Must be between 1 and 10, if provided.";
        invalid_value("MaxNumberOfMessages", &max.to_string(), reason)
    })
}
