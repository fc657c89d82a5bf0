//! A batch of dead letters in, the ids of the unfinished ones out.

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::{BoxFuture, join_all};
use shared::command::Command;
use shared::log_subject;
use shared::platform::dead_letters::{DeadLetter, DeadLetters, known_reason};
use shared::platform::dynamo::DynamoError;
use shared::platform::queue::{BatchError, message_ids};
use shared::platform::runtime::deadline::Deadline;
use tracing::error;

use crate::alerter::Alerter;
use crate::letter;
use crate::metrics::Arrivals;

impl Alerter {
    /// Keeps a batch of dead letters. The answer names those that have to be delivered again.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    ///
    /// # Errors
    /// [`BatchError`]: nothing was kept.
    pub fn handle(
        &self,
        event: SqsEvent,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<SqsBatchResponse, BatchError>> {
        Box::pin(async move {
            let ids =
                message_ids(event.records.iter().map(|message| message.message_id.as_deref()))?;
            let messages = ids.iter().zip(&event.records);
            let letters = self.letters.until(deadline);
            let kept = join_all(messages.map(|(id, m)| self.keep(&letters, id, m))).await;
            let mut response = SqsBatchResponse::default();
            for (id, result) in ids.into_iter().zip(kept) {
                if let Err(failure) = result {
                    error!(message_id = id, reason = failure.reason(), "not kept: {failure}");
                    let mut item = BatchItemFailure::default();
                    item.item_identifier = id;
                    response.batch_item_failures.push(item);
                }
            }
            Ok(response)
        })
    }

    /// Stores one letter, then logs and counts it.
    async fn keep(
        &self,
        letters: &DeadLetters,
        id: &str,
        message: &SqsMessage,
    ) -> Result<(), DynamoError> {
        let mut letter = letter::read(self, id, message);
        let mut tries = 0_u32;
        while !letters.put(&letter).await? {
            letter.id = other_id(id, tries);
            tries += 1;
        }
        self.report(&letter);
        Ok(())
    }

    /// Logs and counts a letter that is kept. The reason is one of our own words: the
    /// sentence may quote what was sent, and is kept with the letter.
    fn report(&self, letter: &DeadLetter) {
        let (now, reason) = (self.clock.now(), known_reason(&letter.reason));
        let command = Command::parse_unverified(&letter.body, now).ok();
        let subject = command.as_ref().map(Command::subject).unwrap_or_default();
        log_subject!(
            error,
            subject,
            dead_letter = letter.id,
            message_id = letter.message_id,
            command = command.as_ref().map(Command::type_name),
            reason,
            verified = letter.is_verified(),
            receives = letter.receive_count,
            sent_at = %letter.sent_at,
            "dead letter"
        );
        self.metrics.record(&Arrivals::one(letter), now);
    }
}

/// The id of a letter whose own id somebody has used for another body: the message's id, or one that is
/// made of it if that is taken too. A message that comes again finds the same id.
fn other_id(message_id: &str, tries: u32) -> String {
    match tries {
        0 => message_id.to_owned(),
        n => format!("{message_id}-{n}"),
    }
}
