//! How many messages a queue has, approximately: SQS counts them now and then.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName as Name;
use serde::Serialize;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry::Backoff;

use crate::call_timeout::call_timeout;
use crate::failure::Failure;

/// The messages of a queue, by what can be done with them.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct QueueCounts {
    /// Can be received now.
    pub visible: u64,
    /// Received, and neither deleted nor visible again.
    pub in_flight: u64,
    /// Sent with a delay that is not over.
    pub delayed: u64,
}

impl QueueCounts {
    /// Asks a queue.
    ///
    /// # Errors
    /// [`Failure::Unreachable`] if it does not answer.
    pub async fn read(client: &Client, url: &str) -> Result<Self, Failure> {
        let names = [
            Name::ApproximateNumberOfMessages,
            Name::ApproximateNumberOfMessagesNotVisible,
            Name::ApproximateNumberOfMessagesDelayed,
        ];
        let (deadline, mut backoff) = (Deadline::after(call_timeout()), Backoff::default());
        loop {
            let call = client.get_queue_attributes().queue_url(url);
            let call = call.set_attribute_names(Some(names.to_vec())).send();
            let error = match deadline.bound(Box::pin(call)).await {
                Ok(Ok(answer)) => {
                    let [visible, in_flight, delayed] = names.map(|name| {
                        let count = answer.attributes().and_then(|counts| counts.get(&name));
                        count.and_then(|count| count.parse().ok()).unwrap_or_default()
                    });
                    return Ok(Self { visible, in_flight, delayed });
                }
                Ok(Err(error)) => error.into_service_error().to_string(),
                Err(exceeded) => exceeded.to_string(),
            };
            let silent = |_| Failure::Unreachable(format!("the queue {url} ({error})"));
            backoff.wait(deadline).await.map_err(silent)?;
        }
    }

    /// All of them.
    pub fn all(self) -> u64 {
        self.visible + self.in_flight + self.delayed
    }
}
