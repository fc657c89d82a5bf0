//! The dead-letter alerter: keeps every dead letter, and makes sure somebody hears of it.
//!
//! ```text
//! handle        a batch from the dead-letter queue in, the ids of the unfinished ones out
//!   letter      a message -> the letter that is kept
//!   metrics     one record a letter, by reason; the alarm counts those
//! ```
//!
//! A Lambda on a queue that returns success deletes what it was given. So each letter is stored
//! first; then it is logged as one JSON line and counted; only then is it acknowledged. If this
//! function dies in between, the message comes again and is stored again under the same key, and at
//! worst counted twice: an alarm too many, never a letter too few.

pub mod env;
mod letter;
mod metrics;

pub use metrics::metric_names;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::{BoxFuture, join_all};
use metrics::Arrivals;
use shared::command::Command;
use shared::log_subject;
use shared::platform::dead_letters::{DeadLetter, DeadLetters, LetterSeal, known_reason};
use shared::platform::dynamo::DynamoError;
use shared::platform::environment::Environment;
use shared::platform::queue::{BatchError, message_ids};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;
use shared::platform::runtime::metrics::Metrics;
use tracing::error;

/// What the alerter works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Alerter {
    pub letters: DeadLetters,
    /// What writer and projectors seal letters with.
    pub seal: LetterSeal,
    /// The queue that commands come from: what SQS moves from there is a letter.
    pub command_queue_arn: String,
    /// Where letters are counted.
    pub metrics: Metrics,
    pub clock: Clock,
}

impl Alerter {
    /// As its environment says.
    ///
    /// # Errors
    /// [`EnvError`] names the variable.
    pub fn of(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, metrics, clock, .. } = environment;
        Ok(Self {
            letters: DeadLetters::new(environment.table(env::DEAD_LETTERS_TABLE)?),
            seal: LetterSeal::new(&variables.secrets(env::INTERNAL_SECRETS)?),
            command_queue_arn: variables.required(env::QUEUE_ARN)?,
            metrics: metrics.clone(),
            clock: clock.clone(),
        })
    }

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

/// Under what a letter is kept if somebody has sent another body under its id: the message's own id, and
/// if that was taken too, one that is made of it. A message that comes again finds the same.
fn other_id(message_id: &str, tries: u32) -> String {
    match tries {
        0 => message_id.to_owned(),
        n => format!("{message_id}-{n}"),
    }
}
