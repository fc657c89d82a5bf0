//! The way to the dead-letter queue, for commands that no further delivery can help. They do not
//! wait for their five receives, and take their reason along.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::dead_letters::{DETAIL, ORIGIN, REASON, RECEIVES, SENT, cut, fits};
use shared::queue::{Message, SendError, Sender};
use shared::runtime::deadline::Deadline;
use shared::values::is_message_id;

use crate::Failure;

/// The dead-letter queue. The alerter reads it.
#[derive(Debug, Clone)]
pub struct DeadLetterQueue(pub Sender);

impl DeadLetterQueue {
    /// Sends a message there, with why it failed. Once it is accepted the original may go.
    ///
    /// # Errors
    /// [`SendError`]: it may not be on the queue; what it was made from must not be acknowledged.
    pub(crate) async fn send(
        &self,
        id: &str,
        message: &SqsMessage,
        receives: u32,
        failure: &Failure,
        deadline: Deadline,
    ) -> Result<(), SendError> {
        self.0.send(&[letter(id, message, receives, failure)?], deadline).await
    }
}

/// The dead letter that a message becomes.
fn letter(
    id: &str,
    message: &SqsMessage,
    receives: u32,
    failure: &Failure,
) -> Result<Message, SendError> {
    // A letter that was redriven keeps the id it had, so that it comes back as the same letter.
    let former = message.message_attributes.get(ORIGIN);
    let former = former.and_then(|value| value.string_value.as_deref());
    // Whoever sends commands can send that attribute too.
    let origin = former.filter(|former| is_message_id(former)).unwrap_or(id);
    let attribute = |name: &str| message.attributes.get(name).map_or("0", String::as_str);
    let mut attributes = vec![
        (REASON, failure.reason().to_owned()),
        (DETAIL, cut(failure.unredacted())),
        (ORIGIN, origin.to_owned()),
        (RECEIVES, receives.to_string()),
        (SENT, attribute("SentTimestamp").to_owned()),
    ];
    // A letter without its body says nothing.
    let body =
        message.body.clone().ok_or_else(|| SendError::not_built("the message has no body"))?;
    // A body as long as a message can be travels alone; the alerter judges it by itself.
    if !fits(&body, &attributes) {
        attributes.clear();
    }
    let group = message.attributes.get("MessageGroupId").cloned();
    Ok(Message { body, group, attributes, delay_seconds: None })
}
