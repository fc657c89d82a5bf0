//! The operations on queues rather than on messages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fault::WireFault;
use super::{Nothing, Wire, required};
use crate::sqs::config;
use crate::sqs::error::QueueError;
use crate::sqs::handle::Queue;

/// Attributes that SQS knows and a local queue does not have: asking for them is no mistake.
const ABSENT: [&str; 9] = [
    "Policy",
    "RedriveAllowPolicy",
    "FifoQueue",
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "FifoThroughputLimit",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
];

/// A request about one queue and nothing else.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AboutQueue {
    queue_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetQueueAttributes {
    queue_url: Option<String>,
    #[serde(default)]
    attribute_names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct NamedQueue {
    queue_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListQueues {
    #[serde(default)]
    queue_name_prefix: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueAttributes {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueUrl {
    queue_url: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueUrls {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queue_urls: Vec<String>,
}

impl Wire {
    pub(super) fn get_queue_attributes(
        &self,
        request: GetQueueAttributes,
    ) -> Result<QueueAttributes, WireFault> {
        let queue = self.queue_at(request.queue_url.as_deref())?;
        let mut attributes = describe(&queue)?;
        let asked = request.attribute_names;
        let known = |name: &str| {
            name == "All"
                || name == "RedrivePolicy"
                || ABSENT.contains(&name)
                || attributes.contains_key(name)
        };
        if let Some(unknown) = asked.iter().find(|name| !known(name)) {
            return Err(QueueError::InvalidAttributeName(unknown.clone()).into());
        }
        attributes.retain(|name, _| asked.iter().any(|asked| asked == "All" || asked == name));
        Ok(QueueAttributes { attributes })
    }

    pub(super) fn get_queue_url(&self, request: NamedQueue) -> Result<QueueUrl, WireFault> {
        let name = required(request.queue_name, "QueueName")?;
        let queue = self.queues.queue(&name)?;
        Ok(QueueUrl { queue_url: self.queue_url(queue.name()) })
    }

    /// All in one answer: there are too few queues to need pages.
    pub(super) fn list_queues(&self, request: ListQueues) -> QueueUrls {
        let queues = self.queues.iter();
        let wanted = queues.filter(|queue| queue.name().starts_with(&request.queue_name_prefix));
        QueueUrls { queue_urls: wanted.map(|queue| self.queue_url(queue.name())).collect() }
    }

    pub(super) fn purge_queue(&self, request: AboutQueue) -> Result<Nothing, WireFault> {
        self.queue_at(request.queue_url.as_deref())?.purge()?;
        Ok(Nothing {})
    }
}

fn describe(queue: &Queue) -> Result<BTreeMap<&'static str, String>, QueueError> {
    let (config, counts) = (queue.config(), queue.counts()?);
    let mut attributes = BTreeMap::from([
        ("ApproximateNumberOfMessages", counts.visible.to_string()),
        ("ApproximateNumberOfMessagesDelayed", counts.delayed.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", counts.in_flight.to_string()),
        ("CreatedTimestamp", (queue.created_at() / 1_000).to_string()),
        ("DelaySeconds", "0".to_owned()),
        ("LastModifiedTimestamp", (queue.created_at() / 1_000).to_string()),
        ("MaximumMessageSize", config.max_message_bytes.to_string()),
        ("MessageRetentionPeriod", config.retention.as_secs().to_string()),
        ("QueueArn", config.arn()),
        ("ReceiveMessageWaitTimeSeconds", "0".to_owned()),
        ("VisibilityTimeout", config.visibility_timeout.as_secs().to_string()),
    ]);
    if let Some(redrive) = &config.redrive {
        let target = config::arn(&redrive.dead_letter_queue);
        let policy =
            json!({ "deadLetterTargetArn": target, "maxReceiveCount": redrive.max_receives });
        attributes.insert("RedrivePolicy", policy.to_string());
    }
    Ok(attributes)
}
