//! `nagare-bench`: what the code that ships costs.
//!
//! ```text
//! fanout      the writer's own write path
//! handler     the whole of a fan-out, with followers read and progress recorded
//! plain_sdk   the same with the SDK alone, to compare it with
//! by_hand     the least that a client could take for it
//! read        the reader's own code
//! followers   the same, through all followers of an actor
//! likes       likes of one activity, beside m3's transaction
//! polls_battles votes of one poll and hits of one battle, beside the designs of a talk
//! room        messages of one room
//! edits       edits and deletes that come at once
//! events      events of a tenant, into the table of a period
//! capacity    the capacity of a table of events by the hour, over a load
//! kept        what readers have to read, and what they have kept
//! table       tables to write to and to read, in a process of their own
//! dataset     the activities and viewers that are read
//! report      what a run cost
//! ```
//!
//! What `likes`, `arena`, `room`, `edits` and `events` have in common:
//!
//! ```text
//! stage       where a design runs: tables and queues, behind a throttle and a meter
//!   meter     what calls consume, and how many are refused
//! deliveries  what is delivered twice
//! running     the code that ships, at work
//!   functions   as they are deployed
//!   folded      what is in its view so far
//!   lag         from fact to view
//! ```

mod by_hand;
mod capacity;
mod dataset;
mod deliveries;
mod edits;
mod events;
mod fanout;
mod folded;
mod followers;
mod functions;
mod handler;
mod kept;
mod lag;
mod likes;
mod meter;
mod plain_sdk;
mod polls_battles;
mod read;
mod report;
mod room;
mod running;
mod stage;
mod table;

use std::process::ExitCode;

use aws_sdk_dynamodb::Client;
use clap::{Parser, Subcommand};
use nagare::Failure;
use nagare_client::aws;
use nagare_client::tables::{TableNames, Tables};
use nagare_local::faults::{Faults, FaultsError};
use nagare_local::schema;
use shared::platform::runtime::env;

/// The actor whose followers are written to.
const ACTOR: &str = "bench";
/// What the code that ships is called in the output.
const NAGARE: &str = "nagare";

/// As in `nagare`, so that figures are those of what ships.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures what the code that ships costs.
#[derive(Debug, Parser)]
#[command(name = "nagare-bench", version)]
struct Program {
    #[command(subcommand)]
    bench: Bench,
}

#[tokio::main]
async fn main() -> ExitCode {
    nagare::exit_code(Program::parse().bench.run().await)
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Write one activity's entries into the timelines of generated followers.
    Fanout(fanout::Fanout),
    /// Apply one publish for the followers that a `nagare-bench table --follows N` has.
    Handler(handler::Handler),
    /// Write the same with the AWS SDK alone, as its documentation shows it.
    PlainSdk(plain_sdk::PlainSdk),
    /// Write the same with a client that does nothing else, over connections of its own.
    ByHand(by_hand::ByHand),
    /// Read pages of timelines of viewers who follow few or many.
    Read(read::Read),
    /// Walk through the followers that a `nagare-bench table --follows N` has, in pages of a hundred with their profiles.
    Followers(followers::Followers),
    /// Deliver likes of one activity, through the code that ships and as m3's transaction.
    Likes(likes::Likes),
    /// Deliver votes of one poll and hits of one battle, through the code that ships and as atomic counters.
    Arena(polls_battles::Arena),
    /// Deliver messages of one room through the code that ships, and read them.
    Room(room::Room),
    /// Deliver edits and deletes that come at once, through the code that ships.
    Edits(edits::Edits),
    /// Deliver events of a tenant's customers through the code that ships.
    Events(events::Events),
    /// Simulate provisioned capacity for the current table of events, over a load minute by minute.
    Capacity(capacity::CapacityBench),
    /// Replay pages over a graph and its posts: how many records a reader has to read.
    Kept(kept::Kept),
    /// Serve a table to write to, which counts entries and does not store them.
    Table(table::Table),
}

impl Bench {
    async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Fanout(fanout) => fanout.run().await,
            Self::Handler(handler) => handler.run().await,
            Self::PlainSdk(plain) => plain.run().await,
            Self::ByHand(by_hand) => by_hand.run().await,
            Self::Read(read) => read.run().await,
            Self::Followers(followers) => followers.run().await,
            Self::Likes(likes) => likes.run().await,
            Self::Arena(arena) => arena.run().await,
            Self::Room(room) => room.run().await,
            Self::Edits(edits) => edits.run().await,
            Self::Events(events) => events.run().await,
            Self::Capacity(capacity) => capacity.run(),
            Self::Kept(kept) => kept.run(),
            Self::Table(table) => table.run().await,
        }
    }
}

/// What the tables admit.
#[derive(Debug, Clone, Default)]
struct Setting {
    text: String,
    faults: Faults,
}

impl std::str::FromStr for Setting {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<Self, FaultsError> {
        Ok(Self { text: text.to_owned(), faults: text.parse()? })
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// How many commands there are, or who they are of.
fn number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1000000".to_owned())
}

/// How many calls may be in flight at once.
fn in_flight(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=4_096).contains(number));
    number.ok_or_else(|| "expected a number of calls from 1 to 4096".to_owned())
}

/// The id of a generated follower.
fn follower(number: u64) -> String {
    format!("bench-{number:09}")
}

/// Measures on one thread, as a function runs.
async fn on_one_thread<F>(measure: impl FnOnce() -> F + Send + 'static) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measured = tokio::task::spawn_blocking(move || runtime.block_on(measure()));
    measured.await.map_err(|e| Failure::Unreachable(e.to_string()))?
}

/// The tables at this endpoint, otherwise as the functions build them.
async fn tables_at(endpoint: &str, in_flight: usize) -> Result<Tables, Failure> {
    let timelines = env::optional(env::TIMELINES_TABLE);
    let timelines = timelines.unwrap_or_else(|| schema::names().timelines);
    let config = aws::config().await?;
    let config = aws_sdk_dynamodb::config::Builder::from(&config).endpoint_url(endpoint);
    let names = TableNames { timelines, ..schema::names() };
    Ok(Tables::with_in_flight(Client::from_conf(config.build()), &names, in_flight))
}
