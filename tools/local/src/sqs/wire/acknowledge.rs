//! `DeleteMessage` and `ChangeMessageVisibility`, one by one and in batches.

use serde::Deserialize;

use super::batch::{BatchReply, Done};
use super::fault::Fault;
use super::{Nothing, Wire, required, seconds};
use crate::sqs::error::QueueError;
use crate::sqs::handle::Queue;
use crate::sqs::limits;
use crate::sqs::receipt::ReceiptHandle;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Acknowledge {
    queue_url: Option<String>,
    #[serde(flatten)]
    receipt: Receipt,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AcknowledgeBatch {
    queue_url: Option<String>,
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    id: String,
    #[serde(flatten)]
    receipt: Receipt,
}

/// A message in flight and, where it is to stay in flight, for how long.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Receipt {
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

impl Wire {
    pub(super) fn delete_message(&self, request: Acknowledge) -> Result<Nothing, Fault> {
        let queue = self.queue_at(request.queue_url.as_deref())?;
        request.receipt.delete(&queue)?;
        Ok(Nothing {})
    }

    pub(super) fn change_visibility(&self, request: Acknowledge) -> Result<Nothing, Fault> {
        let queue = self.queue_at(request.queue_url.as_deref())?;
        request.receipt.change_visibility(&queue)?;
        Ok(Nothing {})
    }

    /// The handles that can be read are deleted together, in one transaction.
    pub(super) fn delete_message_batch(
        &self,
        request: AcknowledgeBatch,
    ) -> Result<BatchReply<Done>, Fault> {
        let queue = self.queue_at(request.queue_url.as_deref())?;
        let mut reply = BatchReply::new();
        let mut handles = Vec::new();
        for Entry { id, receipt } in request.checked_entries()? {
            match receipt.handle(&queue) {
                Ok(handle) => {
                    handles.push(handle);
                    reply.succeed(Done { id });
                }
                Err(error) => reply.fail(id, error),
            }
        }
        queue.delete_batch(&handles)?;
        Ok(reply)
    }

    pub(super) fn change_visibility_batch(
        &self,
        request: AcknowledgeBatch,
    ) -> Result<BatchReply<Done>, Fault> {
        let queue = self.queue_at(request.queue_url.as_deref())?;
        let mut reply = BatchReply::new();
        for Entry { id, receipt } in request.checked_entries()? {
            match receipt.change_visibility(&queue) {
                Ok(()) => reply.succeed(Done { id }),
                Err(error) => reply.fail(id, error),
            }
        }
        Ok(reply)
    }
}

impl AcknowledgeBatch {
    fn checked_entries(self) -> Result<Vec<Entry>, QueueError> {
        limits::check_batch_ids(self.entries.iter().map(|entry| entry.id.as_str()))?;
        Ok(self.entries)
    }
}

impl Receipt {
    fn handle(&self, queue: &Queue) -> Result<ReceiptHandle, QueueError> {
        queue.receipt_handle(required(self.receipt_handle.as_deref(), "ReceiptHandle")?)
    }

    fn delete(&self, queue: &Queue) -> Result<(), QueueError> {
        queue.delete_batch(&[self.handle(queue)?])
    }

    fn change_visibility(&self, queue: &Queue) -> Result<(), QueueError> {
        let handle = self.handle(queue)?;
        let timeout = required(self.visibility_timeout, "VisibilityTimeout")?;
        queue.change_visibility(&handle, seconds("VisibilityTimeout", timeout)?)
    }
}
