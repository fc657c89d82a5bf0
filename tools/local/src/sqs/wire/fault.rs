//! Errors as SDKs expect them.

use serde_json::json;

use super::WireResponse;
use crate::sqs::error::QueueError;

/// An error under its two names: the one of the JSON protocol, and the one it had in the older
/// query protocol, which SDKs still show as the code.
pub(super) struct WireFault {
    pub(super) is_senders: bool,
    pub(super) message: String,
    name: &'static str,
    query_code: String,
}

impl WireFault {
    pub(super) fn unknown_operation(target: &str) -> Self {
        let sentence = format!(
            "The local stack does not serve {target:?}. It takes messages (SendMessage, SendMessageBatch), lists queues and counts their \
             messages (ListQueues, GetQueueUrl, GetQueueAttributes), and empties them (PurgeQueue); its functions receive the messages."
        );
        Self::protocol("UnknownOperationException", sentence)
    }

    pub(super) fn not_understood(error: &serde_json::Error) -> Self {
        Self::protocol("SerializationException", error.to_string())
    }

    fn protocol(name: &'static str, message: String) -> Self {
        Self { is_senders: true, message, name, query_code: name.to_owned() }
    }

    pub(super) fn code(&self) -> &str {
        &self.query_code
    }

    pub(super) fn into_response(self) -> WireResponse {
        let (status, side) = if self.is_senders { (400, "Sender") } else { (500, "Receiver") };
        let kind = format!("com.amazonaws.sqs#{}", self.name);
        let body = json!({"__type": kind, "message": self.message});
        WireResponse {
            status,
            body: body.to_string(),
            error_type: Some(format!("{};{side}", self.query_code)),
        }
    }
}

impl From<QueueError> for WireFault {
    fn from(error: QueueError) -> Self {
        if !error.is_callers_mistake() {
            tracing::error!("a call of the queue failed: {}", error.unredacted());
        }
        Self {
            is_senders: error.is_callers_mistake(),
            // The sentence alone: what broke inside storage is not for clients.
            message: error.to_string(),
            name: error.code(),
            query_code: query_code(&error),
        }
    }
}

/// Most modelled errors had a prefix in the query protocol, and one had another name.
fn query_code(error: &QueueError) -> String {
    use QueueError as E;
    match error {
        E::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue".to_owned(),
        E::EmptyBatchRequest
        | E::TooManyEntriesInBatchRequest(_)
        | E::BatchEntryIdsNotDistinct(_)
        | E::InvalidBatchEntryId
        | E::BatchRequestTooLong(_) => format!("AWS.SimpleQueueService.{}", error.code()),
        _ => error.code().to_owned(),
    }
}
