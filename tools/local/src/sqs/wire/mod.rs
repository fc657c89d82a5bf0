//! The SQS wire protocol, AWS JSON 1.0: an operation's name in `x-amz-target`, JSON in and out.
//!
//! HTTP itself is the caller's: it passes the target and the body on, and answers with the status,
//! the body as `application/x-amz-json-1.0` and, for errors, the header `x-amzn-query-error`.

mod about;
mod fault;
mod send;

use std::time::Duration;

use nagare_telemetry::numbers::{Numbers, QUEUE_REQUESTS};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::config::ACCOUNT_ID;
use super::error::QueueError;
use super::handle::Queue;
use super::limits::invalid_value;
use super::queues::Queues;
use fault::WireFault;

/// The protocol in front of a set of queues.
#[derive(Clone)]
pub struct Wire {
    queues: Queues,
    endpoint: String,
    /// Where requests are counted.
    numbers: Option<Numbers>,
}

/// What to answer over HTTP.
#[derive(Debug, Clone)]
pub struct WireResponse {
    /// 200, 400 or 500.
    pub status: u16,
    /// JSON.
    pub body: String,
    /// For the header `x-amzn-query-error`, from which SDKs take an error's code.
    pub error_type: Option<String>,
}

impl Wire {
    /// `endpoint_url` is what clients reach the queues under; queue URLs start with it.
    pub fn new(queues: Queues, endpoint_url: impl Into<String>) -> Self {
        let endpoint = endpoint_url.into().trim_end_matches('/').to_owned();
        Self { queues, endpoint, numbers: None }
    }

    /// The same, with requests counted.
    #[must_use]
    pub fn counted(self, numbers: Numbers) -> Self {
        Self { numbers: Some(numbers), ..self }
    }

    pub fn queue_url(&self, name: &str) -> String {
        format!("{}/{ACCOUNT_ID}/{name}", self.endpoint)
    }

    /// Answers one request. `target` is the header `x-amz-target`, as in `AmazonSQS.SendMessage`.
    pub fn call(&self, target: &str, body: &[u8]) -> WireResponse {
        if let Some(numbers) = &self.numbers {
            numbers.add(QUEUE_REQUESTS, "clients", 1.0);
        }
        match self.answer(target, body) {
            Ok(body) => WireResponse { status: 200, body, error_type: None },
            Err(fault) => fault.into_response(),
        }
    }

    fn answer(&self, target: &str, body: &[u8]) -> Result<String, WireFault> {
        match target.strip_prefix("AmazonSQS.").unwrap_or_default() {
            "SendMessage" => reply(&self.send_message(parse(body)?)?),
            "SendMessageBatch" => reply(&self.send_message_batch(parse(body)?)?),
            "GetQueueAttributes" => reply(&self.get_queue_attributes(parse(body)?)?),
            "GetQueueUrl" => reply(&self.get_queue_url(parse(body)?)?),
            "ListQueues" => reply(&self.list_queues(parse(body)?)),
            "PurgeQueue" => reply(&self.purge_queue(parse(body)?)?),
            _ => Err(WireFault::unknown_operation(target)),
        }
    }

    /// The queue a request names. Any host will do: a client may reach this one under several.
    fn queue_at(&self, url: Option<&str>) -> Result<Queue, QueueError> {
        let url = required(url, "QueueUrl")?;
        let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        self.queues.queue(name)
    }
}

/// The answer of operations that have nothing to say.
#[derive(Serialize)]
struct Nothing {}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, WireFault> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| WireFault::not_understood(&error))
}

fn reply(answer: &impl Serialize) -> Result<String, WireFault> {
    serde_json::to_string(answer).map_err(|error| QueueError::Corrupt(error.to_string()).into())
}

/// A number of seconds as the wire has it. The upper limit is the queue's to check.
fn seconds(name: &str, value: i64) -> Result<Duration, QueueError> {
    let seconds = u64::try_from(value)
        .map_err(|_| invalid_value(name, &value.to_string(), "Must not be negative."))?;
    Ok(Duration::from_secs(seconds))
}

fn required<T>(value: Option<T>, name: &'static str) -> Result<T, QueueError> {
    value.ok_or(QueueError::MissingParameter(name))
}
