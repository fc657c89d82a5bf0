//! The way to the dead-letter queue, for commands that no further delivery can help. They do not
//! wait for their five receives, and take their reason along.

use aws_lambda_events::event::sqs::SqsMessage;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::MessageAttributeValue;
use shared::dead_letter::{DETAIL, ORIGIN, REASON, RECEIVES, SENT, fits, is_id};
use shared::deadline::{Deadline, DeadlineExceeded};

use crate::Failure;

/// The dead-letter queue. The alerter reads it.
#[derive(Debug, Clone)]
pub struct DeadLetterQueue {
    /// The client.
    pub client: Client,
    /// The queue's URL.
    pub url: String,
}

/// It may not be on the queue; what it was made from must not be acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("it was not sent: {0}")]
pub struct SendError(String);

impl DeadLetterQueue {
    /// Sends a message there, with why it failed. Once it is accepted the original may go.
    ///
    /// # Errors
    /// [`SendError`]: it may or may not have been accepted.
    pub async fn send(
        &self,
        id: &str,
        message: &SqsMessage,
        receives: u32,
        failure: &Failure,
        deadline: Deadline,
    ) -> Result<(), SendError> {
        // A letter that was redriven keeps the id it had, so that it comes back as the same letter.
        let former = message.message_attributes.get(ORIGIN);
        let former = former.and_then(|value| value.string_value.as_deref());
        // Whoever sends commands can send that attribute too.
        let origin = former.filter(|former| is_id(former)).unwrap_or(id);
        let attribute = |name: &str| message.attributes.get(name).map_or("0", String::as_str);
        let attributes = [
            (REASON, failure.reason().to_owned()),
            (DETAIL, failure.in_full()),
            (ORIGIN, origin.to_owned()),
            (RECEIVES, receives.to_string()),
            (SENT, attribute("SentTimestamp").to_owned()),
        ];
        let body = message.body.as_deref().unwrap_or_default();
        // A body as long as a message can be travels alone; the alerter judges it by itself.
        let with_attributes = fits(body, &attributes);
        let mut send = self
            .client
            .send_message()
            .queue_url(&self.url)
            .message_body(body)
            .set_message_group_id(message.attributes.get("MessageGroupId").cloned());
        for (name, value) in attributes.into_iter().filter(|_| with_attributes) {
            send = send.message_attributes(name, string(value)?);
        }
        deadline.bound(send.send()).await??;
        Ok(())
    }
}

fn string(value: String) -> Result<MessageAttributeValue, SendError> {
    Ok(MessageAttributeValue::builder().data_type("String").string_value(value).build()?)
}

impl SendError {
    /// The queue named a reason.
    pub(crate) fn refused(code: &str) -> Self {
        Self(code.to_owned())
    }
}

impl From<BuildError> for SendError {
    fn from(error: BuildError) -> Self {
        Self(error.to_string())
    }
}

impl From<DeadlineExceeded> for SendError {
    fn from(_: DeadlineExceeded) -> Self {
        Self("the queue did not answer in time".to_owned())
    }
}

impl<E: ProvideErrorMetadata> From<SdkError<E>> for SendError {
    fn from(error: SdkError<E>) -> Self {
        Self(error.code().unwrap_or("the queue does not answer").to_owned())
    }
}
