//! Lambda's side of a stream: it invokes the handler with batches of records, and continues after the last record that the handler
//! has worked off.
//!
//! A batch that fails as a whole is cut in half, down to the record that is the cause. Records that fail too often, or until they are
//! too old, are [given up](super::stream_dead_letter), and the shard goes on.
//!
//! The embedded tables have one shard. The position in it is not stored: records that were worked off are deleted, and those that are
//! left when a stack starts are delivered, maybe for a second time.

use std::collections::BTreeMap;
use std::time::Duration;

use function_stream::{EventError, StreamEvent, StreamResponse};
use serde::Serialize;
use serde_json::value::RawValue;
use shared::platform::projection::{Sequence, redriven};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use tokio::sync::watch;
use tracing::{error, warn};

use super::engine::stream::StreamRecord;
use super::engine::{Engine, EngineError};
use super::faults::Deliveries;
use super::schema;
use super::sqs::REGION;
use super::stream_dead_letter::GivingUp;

/// The most records in a batch, as the template sets it.
pub const BATCH: usize = 1_000;
/// The most bytes of rows in a batch: a function is invoked with 6 MB, in which records have more than their rows.
const BATCH_BYTES: usize = 5_000_000;
/// The only shard.
const SHARD: &str = "shardId-local";
/// The pause after a batch that failed. It doubles with each failure, up to [`LONGEST`].
const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);
/// The pause between two batches: Lambda polls each shard four times a second. What comes meanwhile is one batch.
const POLL: Duration = Duration::from_millis(250);
/// How long to wait for a notification of new records, before looking anyway.
const LOOK: Duration = Duration::from_secs(5);

/// How the stream is read.
#[derive(Debug, Clone)]
pub struct StreamSource {
    /// How long one invocation may take.
    pub timeout: Duration,
    /// What goes wrong on purpose.
    pub faults: Deliveries,
    /// When a batch is given up.
    pub giving_up: GivingUp,
}

/// What part of a batch has to be delivered again.
enum Redelivery {
    Nothing,
    /// This record and all that follow.
    From(i64),
    /// All, since the function failed.
    Whole,
}

/// The position in the shard.
#[derive(Debug)]
struct Progress {
    /// The number of the last record that was worked off.
    behind: i64,
    /// The most records in the next batch.
    size: usize,
    /// How often the next batch has failed. Cutting a batch does not count as a failure.
    failures: u32,
}

impl Default for Progress {
    fn default() -> Self {
        Self { behind: 0, size: BATCH, failures: 0 }
    }
}

impl Progress {
    /// Notes that the records up to this one are worked off.
    fn go_on(&mut self, stream: &Stream, number: i64) -> Result<(), EngineError> {
        *self = Self { behind: number, ..Self::default() };
        stream.engine.work_off(&stream.table, number)
    }
}

/// True if the batch may have been cut by its bytes.
fn is_heavy(records: &[StreamRecord]) -> bool {
    records.iter().map(StreamRecord::bytes).sum::<usize>() > BATCH_BYTES / 2
}

/// The stream of a table.
#[derive(Clone)]
struct Stream {
    engine: Engine,
    table: String,
}

impl Stream {
    fn behind(&self, number: i64, at_most: usize) -> Result<Vec<StreamRecord>, EngineError> {
        self.engine.stream_batch(&self.table, number, (at_most, BATCH_BYTES))
    }
}

impl StreamSource {
    /// Reads until `stop` is set.
    pub async fn run<H, F>(self, engine: Engine, handler: H, mut stop: watch::Receiver<bool>)
    where
        H: Fn(StreamEvent, Deadline) -> F + Send + Sync + 'static,
        F: Future<Output = Result<StreamResponse, EventError>> + Send + 'static,
    {
        let mut progress = Progress::default();
        let stream = Stream { engine: engine.clone(), table: schema::names().facts };
        loop {
            let read = self.next(&stream, &handler, &mut progress).await;
            if let Err(failure) = &read {
                error!("the stream could not be read: {failure}");
            }
            let failures = progress.failures.max(u32::from(read.is_err()));
            tokio::select! {
                biased;
                _ = stop.wait_for(|stopping| *stopping) => return,
                () = pause(engine.stream_changed(), failures) => {}
            }
        }
    }

    /// Reads the streams of all tables of events until `stop` is set. Tables may come and go meanwhile. A stream whose batch fails does
    /// not hold up the others.
    pub async fn run_events<H, F>(self, engine: Engine, handler: H, mut stop: watch::Receiver<bool>)
    where
        H: Fn(StreamEvent, Deadline) -> F + Send + Sync + 'static,
        F: Future<Output = Result<StreamResponse, EventError>> + Send + 'static,
    {
        let mut progress = BTreeMap::<String, Progress>::new();
        loop {
            let left = engine.streams_left().unwrap_or_else(|failure| {
                error!("streams of events could not be listed: {failure}");
                Vec::new()
            });
            progress.retain(|table, _| left.contains(table));
            let mut failures = 0;
            for table in left {
                let of_table = progress.entry(table.clone()).or_default();
                let stream = Stream { engine: engine.clone(), table };
                let read = self.next(&stream, &handler, of_table).await;
                if let Err(failure) = &read {
                    error!("a stream of events could not be read: {failure}");
                }
                failures = failures.max(of_table.failures).max(u32::from(read.is_err()));
            }
            tokio::select! {
                biased;
                _ = stop.wait_for(|stopping| *stopping) => return,
                () = pause(engine.events_changed(), failures) => {}
            }
        }
    }

    /// Delivers batches until one is not full, or fails.
    async fn next<H, F>(
        &self,
        stream: &Stream,
        handler: &H,
        progress: &mut Progress,
    ) -> Result<(), EngineError>
    where
        H: Fn(StreamEvent, Deadline) -> F,
        F: Future<Output = Result<StreamResponse, EventError>> + Send + 'static,
    {
        loop {
            let records = stream.behind(progress.behind, self.faults.cut(progress.size))?;
            let (Some(first), Some(last)) = (records.first(), records.last()) else {
                return Ok(());
            };
            match self.deliver(stream, &records, handler).await {
                Redelivery::Nothing => {
                    let is_full = records.len() >= progress.size || is_heavy(&records);
                    progress.go_on(stream, last.number)?;
                    if !is_full {
                        return Ok(());
                    }
                }
                Redelivery::Whole if records.len() > 1 => progress.size = records.len().div_ceil(2),
                Redelivery::From(number) if number > first.number => {
                    progress.go_on(stream, number - 1)?;
                    progress.failures = 1;
                    return Ok(());
                }
                Redelivery::Whole | Redelivery::From(_) => {
                    progress.failures += 1;
                    return self.give_up(stream, &records, progress).await;
                }
            }
        }
    }

    /// Gives up records that have failed too often or are too old, once the message about them is sent.
    async fn give_up(
        &self,
        stream: &Stream,
        records: &[StreamRecord],
        progress: &mut Progress,
    ) -> Result<(), EngineError> {
        let now = Clock::system().now();
        let (count, why) = self.giving_up.given_up(records, progress.failures, now);
        let given_up = &records[..count];
        let Some(last) = given_up.last() else { return Ok(()) };
        match self.giving_up.send(SHARD, given_up, why, now).await {
            Ok(()) => {
                error!(records = count, "given up: {why}");
                progress.go_on(stream, last.number)
            }
            Err(failure) => {
                error!("what was given up could not be said: {failure}");
                Ok(())
            }
        }
    }

    async fn deliver<H, F>(
        &self,
        stream: &Stream,
        records: &[StreamRecord],
        handler: &H,
    ) -> Redelivery
    where
        H: Fn(StreamEvent, Deadline) -> F,
        F: Future<Output = Result<StreamResponse, EventError>> + Send + 'static,
    {
        let event = match event_of(&stream.table, SHARD, records) {
            Ok(event) => event,
            Err(failure) => {
                error!("a record of the stream: {failure}");
                return Redelivery::Whole;
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
                    return match self.faults.loses_delete() {
                        true => Redelivery::From(records[0].number),
                        false => Redelivery::Nothing,
                    };
                };
                let number = failed.item_identifier.parse();
                let known = |number: &i64| records.iter().any(|record| record.number == *number);
                match number.ok().filter(known) {
                    Some(number) => return Redelivery::From(number),
                    None => &"the answer names a record that is not in the batch",
                }
            }
            Ok(Ok(Err(failure))) => failure,
            Ok(Err(panic)) => panic,
            Err(_) => &"the function timed out",
        };
        warn!(records = records.len(), "the whole batch failed: {why}");
        Redelivery::Whole
    }
}

/// Waits for records. After failures in a row, waits for a while.
async fn pause(changed: impl Future<Output = ()>, failures: u32) {
    match failures {
        0 => {
            tokio::time::sleep(POLL).await;
            drop(tokio::time::timeout(LOOK, changed).await);
        }
        n => tokio::time::sleep(SHORTEST.saturating_mul(1 << (n - 1).min(10)).min(LONGEST)).await,
    }
}

/// Gives a batch of the facts to two functions: all of it to the projector, and to that of history what the filter of its mapping
/// delivers. On AWS each has a position of its own; here the answer names the earlier of the records that they name.
///
/// # Errors
/// [`EventError`] of either.
pub async fn to_both_projectors(
    project: impl AsyncFnOnce(StreamEvent) -> Result<StreamResponse, EventError>,
    project_history: impl AsyncFnOnce(StreamEvent) -> Result<StreamResponse, EventError>,
    event: StreamEvent,
) -> Result<StreamResponse, EventError> {
    let brought_back = event.records.iter().filter(|it| it.begins_with(redriven::PREFIX));
    let (records, shard_id) = (brought_back.cloned().collect(), event.shard_id.clone());
    let brought_back = StreamEvent { records, shard_id };
    let response = project(event).await?;
    if brought_back.records.is_empty() {
        return Ok(response);
    }
    let of_history = project_history(brought_back).await?;
    let failed = [response.batch_item_failures, of_history.batch_item_failures].concat();
    let first = failed.into_iter().min_by_key(|it| it.item_identifier.parse::<Sequence>().ok());
    Ok(StreamResponse { batch_item_failures: first.into_iter().collect(), ..response })
}

/// The event that Lambda makes of records of a shard.
///
/// # Errors
/// A row has attributes that facts do not have.
pub fn event(shard: &str, records: &[StreamRecord]) -> serde_json::Result<StreamEvent> {
    batch(None, shard, records)
}

/// The event that Lambda makes of records of a shard of a table.
///
/// # Errors
/// A row has attributes that no table here has.
pub fn event_of(
    table: &str,
    shard: &str,
    records: &[StreamRecord],
) -> serde_json::Result<StreamEvent> {
    let stream = format!("arn:aws:dynamodb:{REGION}:000000000000:table/{table}/stream/local");
    batch(Some(&stream), shard, records)
}

fn batch(
    stream: Option<&str>,
    shard: &str,
    records: &[StreamRecord],
) -> serde_json::Result<StreamEvent> {
    let records = records.iter().map(|record| Record {
        stream,
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
    #[serde(rename = "eventSourceARN", skip_serializing_if = "Option::is_none")]
    stream: Option<&'a str>,
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
