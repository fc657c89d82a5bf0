//! What the tests share: one of each function over one engine, and short names for frequent calls. Each
//! test binary is a folder beside this one.
//!
//! The tables are the embedded ones, or with `NAGARE_TEST_ENDPOINT` those of a DynamoDB Local there
//! (`docs/TESTING.md` says how).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

mod bucket;
pub mod cloud_watch;
mod dynamodb_local;
mod events;
pub mod observed;
mod operator;
mod periods;
pub mod properties;
mod queues;
mod requests;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use dlq_alerter::Alerter;
use event_intake::Intake;
use fanout_writer::{CommandQueue, Shares, Writer};
use function_stream::{EventError, StreamEvent, StreamResponse};
use nagare_client::sender::Sender;
use nagare_client::tables::{TableNames, Tables};
use nagare_local::bus::{self as local_bus, LocalBus};
use nagare_local::connector::{self, InProcess};
use nagare_local::engine::Engine;
use nagare_local::lambda;
use nagare_local::schema;
use nagare_local::sqs::{QueueConfig, Queues, Wire};
use nagare_local::stream_source;
use period_keeper::Keeper;
use projector::Projector;
use serde_json::Value;
use shared::command::InternalSeal;
use shared::platform::crypto::seal::Secrets;
use shared::platform::dead_letters::LetterSeal;
use shared::platform::dynamo::{Dynamo, Limits};
use shared::platform::environment::Environment;
use shared::platform::queue;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::{self, Variables};
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::lease::Leases;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::signed::Services;
use shared::platform::values::Timestamp;
use shared::social::activities::ChangeLog;
use shared::social::likes::LikeCountCache;
use timeline_reader::Reader;

pub use bucket::Bucket;
pub use events::{
    api_event, delete, event, follow, message, moved, publish, soon, unfinished, unfinished_ids,
    unfollow,
};
use observed::Observed;
pub use requests::{assert_single, received, respond};

/// What the clock of a new world shows.
pub const NOW: &str = "2026-11-20T12:00:00.000Z";
/// The queue that every world's commands come from.
pub const COMMAND_QUEUE_ARN: &str = "arn:aws:sqs:us-local-1:000000000000:commands";
/// How the names of the tables of events begin.
pub const EVENTS_TABLE_PREFIX: &str = "nagare-events-";
pub const COMMANDS: &str = "commands";
const DEAD_LETTERS: &str = "dead";

/// The functions and what they work on.
pub struct World {
    pub writer: Writer,
    pub reader: Reader,
    pub history_reader: history_reader::Reader,
    pub intake: Intake,
    pub alerter: Alerter,
    pub projector: Projector,
    pub history_projector: history_projector::Projector,
    pub keeper: Keeper,
    pub bucket: Bucket,
    pub tables: Tables,
    pub clock: Clock,
    pub engine: Engine,
    /// What the functions counted.
    pub metrics: Output,
    /// Sends to the queue of commands, which only [`World::take_commands`] empties.
    pub sender: Sender,
    /// What the functions have told others, in a world that tells.
    pub bus: LocalBus,
    to_commands: queue::Sender,
    queues: Queues,
}

/// What the writer of every world seals with.
#[must_use]
pub fn internal_seal() -> InternalSeal {
    InternalSeal::new(&secrets(8))
}

/// What the functions of every world seal dead letters with.
#[must_use]
pub fn letter_seal() -> LetterSeal {
    LetterSeal::new(&secrets(8))
}

/// The variables of the functions of a world.
fn variables(
    names: &TableNames,
    wire: &Wire,
    is_telling: bool,
) -> impl Iterator<Item = (&'static str, String)> {
    let secret = |byte: u8| char::from(byte).to_string().repeat(32);
    let bus = is_telling.then(|| (env::EVENT_BUS_NAME, local_bus::NAME.to_owned()));
    let names = TableNames { events: EVENTS_TABLE_PREFIX.to_owned(), ..names.clone() };
    let all = [
        (env::QUEUE_URL, wire.queue_url(COMMANDS)),
        (env::QUEUE_ARN, COMMAND_QUEUE_ARN.to_owned()),
        (env::DEAD_LETTER_QUEUE_URL, wire.queue_url(DEAD_LETTERS)),
        (env::CURSOR_SECRETS[0], secret(7)),
        (env::INTERNAL_SECRETS[0], secret(8)),
        (env::AUTHORIZATION, "open".to_owned()),
        (env::ARCHIVE_BUCKET, bucket::NAME.to_owned()),
        (env::S3_ENDPOINT, bucket::ENDPOINT.to_owned()),
        (env::LAMBDA_ENDPOINT, lambda::ENDPOINT.to_owned()),
        (env::EVENTBRIDGE_ENDPOINT, local_bus::ENDPOINT.to_owned()),
        (env::STREAM_MAPPING, lambda::mapping_request()),
    ];
    names.variables().into_iter().chain(all).chain(bus)
}

/// Secrets that consist of one byte.
#[must_use]
pub fn secrets(byte: u8) -> Secrets {
    Secrets::new(&[byte; 32]).unwrap()
}

/// What a body says, without the envelope that the writer may have put around it.
#[must_use]
pub fn said(body: &str) -> Value {
    let mut said: Value = serde_json::from_str(body).unwrap();
    match said["type"] == "internal" {
        true => said["command"].take(),
        false => said,
    }
}

/// The rows of a barrier: the embedded stream has one shard, and tests that make several make few.
const BARRIER_ROWS: u64 = 64;

/// What was written to standard output.
#[derive(Clone, Default)]
pub struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output {
    /// The lines, each a JSON object.
    pub fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap();
        let lines = std::str::from_utf8(&bytes).unwrap().lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// A world in which nothing has happened.
    #[must_use]
    pub fn new() -> Self {
        Self::with_tables(&schema::names())
    }

    /// A world whose functions use these table names; the engine has the true ones.
    #[must_use]
    pub fn with_tables(names: &TableNames) -> Self {
        Self::built(names, &Limits::DYNAMODB, false, |inside| inside)
    }

    /// A world whose functions reach the tables and queues through what `wrap` makes of the direct
    /// connector: the edge at which tests watch, delay and fail calls.
    #[must_use]
    pub fn behind(wrap: impl FnOnce(SharedHttpConnector) -> SharedHttpConnector) -> Self {
        Self::within(&Limits::DYNAMODB, wrap)
    }

    /// The same, with tables that take less than DynamoDB's, and functions that are told so.
    #[must_use]
    pub fn within(
        limits: &Limits,
        wrap: impl FnOnce(SharedHttpConnector) -> SharedHttpConnector,
    ) -> Self {
        Self::built(&schema::names(), limits, false, wrap)
    }

    /// The same, with functions that tell a bus of what happened.
    #[must_use]
    pub fn with_bus(wrap: impl FnOnce(SharedHttpConnector) -> SharedHttpConnector) -> Self {
        Self::with_bus_within(&Limits::DYNAMODB, wrap)
    }

    /// The same, with tables that take less than DynamoDB's.
    #[must_use]
    pub fn with_bus_within(
        limits: &Limits,
        wrap: impl FnOnce(SharedHttpConnector) -> SharedHttpConnector,
    ) -> Self {
        Self::built(&schema::names(), limits, true, wrap)
    }

    fn built(
        names: &TableNames,
        limits: &Limits,
        is_telling: bool,
        wrap: impl FnOnce(SharedHttpConnector) -> SharedHttpConnector,
    ) -> Self {
        let clock = Clock::manual(NOW.parse().unwrap());
        let time = clock.clone();
        let time = Arc::new(move || time.now().unix_millis());
        let queues =
            Queues::in_memory([COMMANDS, DEAD_LETTERS].map(QueueConfig::new).into(), time).unwrap();
        let wire = Wire::new(queues.clone(), "http://queue");
        let engine = Engine::in_memory().unwrap();
        let engine = match *limits == Limits::DYNAMODB {
            true => engine,
            false => engine.with_limits(*limits).unwrap(),
        };
        let bus = LocalBus::new(&clock);
        let inside = InProcess::new(engine.clone(), wire.clone()).with_bus(bus.clone());
        let (inside, bucket) = (dynamodb_local::unless_embedded(inside), Bucket::default());
        let inside = bucket::BucketConnector { bucket: bucket.clone(), inside };
        let inside = wrap(SharedHttpConnector::new(inside));
        // They end with deadlines, which follow the time of the runtime.
        let leases = Leases::by(Clock::starting_at(clock.now()));
        let over = |connector| {
            let dynamo = Dynamo::new(connector::dynamodb(connector)).with_limits(*limits);
            dynamo.with_leases(leases.clone())
        };
        let mut tables = Tables::with_dynamo(over(inside.clone()), names);
        tables.facts = tables.facts.with_barriers_of(BARRIER_ROWS);
        let output = Output::default();
        let variables = Variables::given(variables(names, &wire, is_telling));
        let of = |function| {
            let observed = Observed::of(function, &inside);
            Environment {
                variables: variables.clone(),
                dynamo: over(observed.clone()),
                sqs: connector::sqs(observed.clone()),
                services: Services::behind(observed, "key", "us-east-1"),
                metrics: Metrics::to(output.clone(), "test"),
                clock: clock.clone(),
            }
        };
        let writers = of("fanout-writer");
        let mut reader = Reader::from_env(&of("timeline-reader")).unwrap();
        // Tests read what was folded just now.
        reader.counts = Arc::new(LikeCountCache::keeping_for(Duration::ZERO));
        // Whatever a page takes: one thing happens after the other, unless a test says so.
        reader.hold = Hold::new(Duration::MAX);
        Self {
            writer: Writer {
                change_log: ChangeLog::default(),
                hold: Hold::NONE,
                shares: Shares::unbounded(),
                ..Writer::from_env(&writers).unwrap()
            },
            reader,
            history_reader: history_reader::Reader::from_env(&of("history-reader")).unwrap(),
            intake: Intake::from_env(&of("event-intake")).unwrap(),
            alerter: Alerter::from_env(&of("dlq-alerter")).unwrap(),
            projector: Projector::from_env(&of("projector")).unwrap(),
            history_projector: history_projector::Projector::from_env(&of("history-projector"))
                .unwrap(),
            keeper: Keeper::from_env(&of("period-keeper")).unwrap(),
            sender: Sender::new(connector::sqs(inside), wire.queue_url(COMMANDS)),
            to_commands: writers.sender(env::QUEUE_URL).unwrap(),
            bucket,
            tables,
            clock,
            engine,
            metrics: output,
            bus,
            queues,
        }
    }

    /// Gives the writer another seal.
    pub fn sealing_with(&mut self, seal: InternalSeal) {
        self.writer.commands = CommandQueue::new(self.to_commands.clone(), seal);
    }

    /// Gives the writer a batch of bodies, all received for the n-th time. Returns the indexes of those
    /// that have to come again.
    pub async fn write(&self, bodies: &[&str], receives: u32) -> Vec<usize> {
        let records = bodies.iter().enumerate();
        let records = records.map(|(index, body)| message(&index.to_string(), body, receives));
        let response = self.writer.handle(event(records), soon()).await.unwrap();
        unfinished(&response)
    }

    /// Gives the writer commands, one batch each, and expects all of them to be done.
    pub async fn done(&self, commands: &[Value]) {
        for command in commands {
            let body = command.to_string();
            assert_eq!(self.write(&[&body], 1).await, [0_usize; 0], "{body}");
        }
    }

    /// Folds all changes of facts into views. What was folded before from this shard is passed.
    pub async fn project(&self, shard: &str) {
        for records in self.engine.stream_behind(0, usize::MAX).unwrap().chunks(100) {
            let batch = stream_source::event(shard, records).unwrap();
            let response = self.fold(batch, soon()).await.unwrap();
            assert_eq!(response.batch_item_failures, []);
        }
    }

    /// Gives a batch to the projectors that Lambda gives it to: one of events to that of history, and one of facts to both.
    ///
    /// # Errors
    /// [`EventError`]
    pub async fn fold(
        &self,
        event: StreamEvent,
        deadline: Deadline,
    ) -> Result<StreamResponse, EventError> {
        let of_events = format!(":table/{EVENTS_TABLE_PREFIX}");
        let streams = event.records.iter().filter_map(|record| record.stream.as_deref());
        if streams.into_iter().any(|stream| stream.contains(&of_events)) {
            return self.history_projector.handle(event, deadline).await;
        }
        let project = async |event| self.projector.handle(event, deadline).await;
        let project_history = async |event| self.history_projector.handle(event, deadline).await;
        stream_source::to_both_projectors(project, project_history, event).await
    }

    /// How many entries there are.
    pub async fn entry_count(&self) -> u64 {
        let table = self.tables.timelines.table();
        let describe = || table.client().describe_table().table_name(table.name()).send();
        let description = table.attempt(describe).await.unwrap().table.unwrap();
        u64::try_from(description.item_count.unwrap()).unwrap()
    }

    pub fn set_clock(&self, text: &str) {
        self.clock.set(text.parse::<Timestamp>().unwrap());
    }
}
