//! Lambda's side of a stream: it invokes the handler with batches of records, and goes on behind what the handler
//! has worked off.
//!
//! The embedded tables have one shard. Where it has come to is not stored: records that were worked off are
//! deleted, and those that are still there when a stack starts are delivered, maybe again.

use std::time::Duration;

use projector::{EventError, StreamEvent, StreamResponse};
use serde::Serialize;
use serde_json::value::RawValue;
use shared::runtime::deadline::Deadline;
use tokio::sync::watch;
use tracing::{error, warn};

use super::engine::stream::StreamRecord;
use super::engine::{Engine, EngineError};
use super::faults::Deliveries;

/// Records in a batch, as the template sets it.
pub const BATCH: usize = 1_000;
/// The only shard.
const SHARD: &str = "shardId-local";
/// How long a batch that failed is left alone at first; it doubles each time, up to [`LONGEST`].
const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);
/// How long to wait for a sign that there are records, before looking anyway.
const LOOK: Duration = Duration::from_secs(5);

/// How the stream is read.
#[derive(Debug, Clone)]
pub struct StreamSource {
    /// How long one invocation may take.
    pub timeout: Duration,
    /// What goes wrong on purpose.
    pub faults: Deliveries,
}

/// What of a batch is to be delivered again.
enum Left {
    Nothing,
    /// This record and all that follow.
    From(i64),
}

impl StreamSource {
    /// Reads until `stop` is set.
    pub async fn run<H, F>(self, engine: Engine, handler: H, mut stop: watch::Receiver<bool>)
    where
        H: Fn(StreamEvent, Deadline) -> F + Send + Sync + 'static,
        F: Future<Output = Result<StreamResponse, EventError>> + Send + 'static,
    {
        let (mut behind, mut failures) = (0, 0_u32);
        loop {
            match self.next(&engine, &handler, &mut behind).await {
                Ok(Left::Nothing) => failures = 0,
                Ok(Left::From(_)) => failures += 1,
                Err(failure) => {
                    error!("the stream could not be read: {failure}");
                    failures += 1;
                }
            }
            tokio::select! {
                biased;
                _ = stop.wait_for(|stopping| *stopping) => return,
                () = pause(&engine, failures) => {}
            }
        }
    }

    /// Delivers batches until none is left or one fails.
    async fn next<H, F>(
        &self,
        engine: &Engine,
        handler: &H,
        behind: &mut i64,
    ) -> Result<Left, EngineError>
    where
        H: Fn(StreamEvent, Deadline) -> F,
        F: Future<Output = Result<StreamResponse, EventError>> + Send + 'static,
    {
        loop {
            let records = engine.stream_behind(*behind, self.faults.cut(BATCH))?;
            let Some(last) = records.last() else { return Ok(Left::Nothing) };
            match self.deliver(&records, handler).await {
                Left::Nothing => {
                    *behind = last.number;
                    engine.forget_stream_up_to(*behind)?;
                }
                Left::From(number) => {
                    *behind = number - 1;
                    engine.forget_stream_up_to(*behind)?;
                    return Ok(Left::From(number));
                }
            }
        }
    }

    async fn deliver<H, F>(&self, records: &[StreamRecord], handler: &H) -> Left
    where
        H: Fn(StreamEvent, Deadline) -> F,
        F: Future<Output = Result<StreamResponse, EventError>> + Send + 'static,
    {
        let whole = Left::From(records[0].number);
        let event = match event(SHARD, records) {
            Ok(event) => event,
            Err(failure) => {
                error!("a record of the stream: {failure}");
                return whole;
            }
        };
        if let Some(delay) = self.faults.delay() {
            tokio::time::sleep(delay).await;
        }
        if self.faults.duplicates() {
            // As of an invocation that was given up and goes on anyway.
            tokio::spawn(handler(event.clone(), Deadline::after(self.timeout)));
        }
        let work = handler(event, Deadline::after(self.timeout));
        // A task of its own, so that a handler that panics fails its batch and nothing else.
        let answer = tokio::time::timeout(self.timeout, tokio::spawn(work)).await;
        let why: &dyn std::fmt::Display = match &answer {
            Ok(Ok(Ok(response))) => {
                let Some(failed) = response.batch_item_failures.first() else {
                    return if self.faults.loses_delete() { whole } else { Left::Nothing };
                };
                let number = failed.item_identifier.parse();
                let known = |number: &i64| records.iter().any(|record| record.number == *number);
                match number.ok().filter(known) {
                    Some(number) => return Left::From(number),
                    None => &"the answer names a record that is not in the batch",
                }
            }
            Ok(Ok(Err(failure))) => failure,
            Ok(Err(panic)) => panic,
            Err(_) => &"the function timed out",
        };
        warn!(records = records.len(), "the whole batch failed: {why}");
        whole
    }
}

/// Waits for records, or after N failures in a row for a while.
async fn pause(engine: &Engine, failures: u32) {
    match failures {
        0 => drop(tokio::time::timeout(LOOK, engine.stream_changed()).await),
        n => tokio::time::sleep(SHORTEST.saturating_mul(1 << (n - 1).min(10)).min(LONGEST)).await,
    }
}

/// The event that Lambda makes of records of a shard.
///
/// # Errors
/// A row has attributes that facts do not have.
pub fn event(shard: &str, records: &[StreamRecord]) -> serde_json::Result<StreamEvent> {
    let records = records.iter().map(|record| Record {
        dynamodb: Dynamodb {
            keys: &record.keys,
            old_image: record.before.as_deref(),
            new_image: record.after.as_deref(),
            sequence_number: record.number.to_string(),
            approximate_creation_date_time: record.at,
        },
    });
    let event = Event { records: records.collect(), shard_id: shard };
    serde_json::from_str(&serde_json::to_string(&event)?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(rename = "Records")]
    records: Vec<Record<'a>>,
    shard_id: &'a str,
}

#[derive(Serialize)]
struct Record<'a> {
    dynamodb: Dynamodb<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Dynamodb<'a> {
    keys: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_image: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_image: Option<&'a RawValue>,
    sequence_number: String,
    approximate_creation_date_time: i64,
}
