//! The way to the dead-letter queue, for commands that no further delivery can help. They do not
//! wait for their five receives, and take their reason along.

use aws_lambda_events::event::sqs::SqsMessage;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{BuildError, ProvideErrorMetadata};
use aws_sdk_sqs::types::MessageAttributeValue;
use shared::Deadline;
use shared::dead_letter::{DETAIL, ORIGIN, REASON, RECEIVES, SENT, fits};

use crate::Failure;

/// The dead-letter queue. The alerter reads it.
#[derive(Debug, Clone)]
pub struct DeadLetterQueue {
    /// The client.
    pub client: Client,
    /// The queue's URL.
    pub url: String,
}

/// The dead letter may not be on the queue; its message must not be acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("the dead-letter queue did not take it: {0}")]
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
        let origin = former.and_then(|value| value.string_value.as_deref()).unwrap_or(id);
        let attribute = |name: &str| message.attributes.get(name).map_or("0", String::as_str);
        let attributes = [
            (REASON, failure.reason().to_owned()),
            (DETAIL, failure.to_string()),
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
        let sent = deadline.bound(send.send()).await;
        let sent = sent.map_err(|_| SendError("it did not answer in time".to_owned()))?;
        sent.map(drop).map_err(|e| SendError(e.code().unwrap_or("it does not answer").to_owned()))
    }
}

fn string(value: String) -> Result<MessageAttributeValue, SendError> {
    let value = MessageAttributeValue::builder().data_type("String").string_value(value).build();
    value.map_err(|e: BuildError| SendError(e.to_string()))
}
