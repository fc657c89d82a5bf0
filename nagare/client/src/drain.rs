//! Waiting until the queues are empty.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName as Name;
use futures::{Stream, StreamExt};
use shared::command::Command;
use shared::runtime::deadline::Deadline;
use shared::runtime::retry::Backoff;

use crate::failure::Failure;

/// How often the queues are asked.
const INTERVAL: Duration = Duration::from_millis(200);
/// SQS's numbers are approximate: a queue counts as empty after this many zeros in a row.
const ZEROS: u32 = 3;
/// Commands that may wait before more of a long input are sent, and how many are sent between two looks.
const MOST_WAITING: u64 = 20_000;
const LOOKED_AT_AFTER: usize = 5_000;
/// How long to wait for a queue that does not answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Watches the command queue and, if it is named, the dead-letter queue.
pub struct Drain {
    client: Client,
    commands: String,
    dead_letters: Option<String>,
}

impl Drain {
    pub fn new(client: Client, commands: String, dead_letters: Option<String>) -> Self {
        Self { client, commands, dead_letters }
    }

    /// Waits until both are empty. Calls `left` with the number of commands that remain.
    pub async fn wait(&self, left: impl Fn(u64)) -> Result<(), Failure> {
        let mut zeros = 0;
        while zeros < ZEROS {
            let messages = self.messages().await?;
            left(messages);
            zeros = if messages == 0 { zeros + 1 } else { 0 };
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }

    /// Holds commands back while 20,000 others wait in the queue. They would be applied no sooner, a local stack keeps them in
    /// memory, and commands that others send come behind them.
    pub fn not_too_far_ahead(
        &self,
        commands: impl Stream<Item = Result<Command, Failure>>,
    ) -> impl Stream<Item = Result<Command, Failure>> {
        commands.enumerate().then(async |(number, command)| {
            while number > 0
                && number % LOOKED_AT_AFTER == 0
                && self.count(&self.commands).await? > MOST_WAITING
            {
                tokio::time::sleep(INTERVAL).await;
            }
            command
        })
    }

    /// Messages in both queues. A command that gives up reaches the dead-letter queue before it leaves
    /// its own, so asking in this order misses none.
    pub async fn messages(&self) -> Result<u64, Failure> {
        let mut sum = self.count(&self.commands).await?;
        if let Some(url) = &self.dead_letters {
            sum += self.count(url).await?;
        }
        Ok(sum)
    }

    async fn count(&self, url: &str) -> Result<u64, Failure> {
        let (deadline, mut backoff) = (Deadline::after(PATIENCE), Backoff::default());
        loop {
            let call = self.client.get_queue_attributes().queue_url(url);
            let call = call.set_attribute_names(Some(vec![
                Name::ApproximateNumberOfMessages,
                Name::ApproximateNumberOfMessagesNotVisible,
                Name::ApproximateNumberOfMessagesDelayed,
            ]));
            if let Ok(answer) = call.send().await {
                let counts = answer.attributes.unwrap_or_default().into_values();
                return Ok(counts.filter_map(|count| count.parse::<u64>().ok()).sum());
            }
            let gone = |_| Failure::Unreachable(format!("the queue {url} does not answer"));
            backoff.wait(deadline).await.map_err(gone)?;
        }
    }
}
