//! What is on the queues of a world, and the dead letters that were kept.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use futures::TryStreamExt;
use nagare_local::sqs::ReceivedMessage;
use nagare_local::sqs_event;
use shared::platform::dead_letters::DeadLetter;

use crate::{COMMANDS, DEAD_LETTERS, World};

impl World {
    /// What is on the dead-letter queue.
    pub async fn dead_letters(&self) -> Vec<ReceivedMessage> {
        let queue = self.queues.queue(DEAD_LETTERS).unwrap();
        queue.receive(10, None, Duration::ZERO).await.unwrap()
    }

    /// Takes what is on the dead-letter queue, as the alerter is given it.
    pub async fn take_dead_letters(&self) -> Vec<SqsMessage> {
        self.take(DEAD_LETTERS).await
    }

    /// The dead letters that are kept, without their bodies.
    pub async fn kept_letters(&self) -> Vec<DeadLetter> {
        self.tables.dead_letters.all().try_collect().await.unwrap()
    }

    /// Takes what is on the queue of commands, as the writer is given it.
    pub async fn take_commands(&self) -> Vec<SqsMessage> {
        self.take(COMMANDS).await
    }

    async fn take(&self, name: &str) -> Vec<SqsMessage> {
        let (queue, mut taken) = (self.queues.queue(name).unwrap(), Vec::new());
        loop {
            let received = queue.receive(10, None, Duration::ZERO).await.unwrap();
            if received.is_empty() {
                return taken;
            }
            let handles: Vec<_> = received.iter().map(|message| message.receipt_handle).collect();
            queue.delete_batch(&handles).unwrap();
            taken.extend(sqs_event::event(&queue, &received).records);
        }
    }
}
