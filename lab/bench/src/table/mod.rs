//! `nagare-bench table`: a DynamoDB endpoint to write against, in a process of its own, so that a writer
//! measures only its own CPU time.
//!
//! ```text
//! endpoint   HTTP: batches of entries end here, everything else is answered by the embedded tables
//!   batch      a batch of entries, read without copying it
//!   capacity   how much the table admits, and how that changes
//!   count      what arrived, and when
//! followers  the followers that a fan-out reads, generated on request
//! load       what is in the tables from the start
//! ```
//!
//! Entries are counted and not stored: storing them would cost many times what sending them does.

mod batch;
mod capacity;
mod count;
mod endpoint;
mod followers;
mod load;
#[cfg(test)]
mod tests;

use std::time::Duration;

use axum::serve::ListenerExt;
use clap::Args;
use nagare::print::print_json;
use nagare::print::say;
use nagare::{Failure, stopped};
use nagare_client::local_stack::ACCESS_KEY;
use nagare_client::local_stack::REGION;
use nagare_gateway::ports::{listen, url};
use nagare_local::engine::Engine;
use nagare_local::schema;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;

use super::dataset::{Dataset, many_activities, many_follows};
use super::report::Measurement;
use capacity::{Schedule, rate};
use count::Count;
use endpoint::Endpoint;
use followers::FollowersPartition;

/// The beginning of the last line that is printed before the endpoint serves.
pub(super) const READY: &str = "# Ready.";

#[derive(Debug, Args)]
pub(crate) struct Table {
    /// The port on 127.0.0.1. 0: any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Entries a second that the table takes, with a burst of one second; without it, all.
    #[arg(long, value_parser = rate, conflicts_with = "schedule")]
    writes: Option<f64>,
    /// The same, changing: seconds since the first write, and the entries a second from then on,
    /// such as `0=40000,2=4000,6=40000`.
    #[arg(long)]
    schedule: Option<Schedule>,
    /// Milliseconds that every answer is delayed.
    #[arg(long, default_value_t = 0)]
    latency: u64,
    /// Give the actor `bench` this many followers.
    #[arg(long, default_value_t = 0)]
    follows: u64,
    /// For each number, first put a viewer `viewer-NUMBER` into the tables, who follows that many actors
    /// and has a timeline of all that they published.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = many_follows)]
    timelines: Vec<u64>,
    /// How many activities of 50,000 actors there are for that.
    #[arg(long, default_value_t = 1_000_000, value_parser = many_activities)]
    activities: u64,
    /// Remember every key, to count the distinct ones.
    #[arg(long)]
    distinct: bool,
    /// Report what was accepted in every 100 ms.
    #[arg(long)]
    trace: bool,
}

impl Table {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let engine = Engine::in_memory().map_err(|e| Failure::Unreachable(e.to_string()))?;
        if !self.timelines.is_empty() {
            let data = Dataset { activities: self.activities, now: Clock::system().now() };
            load::timelines(&engine, data, &self.timelines)?;
        }
        let listener = listen(self.port).await?;
        for (name, value) in environment(url(&listener)) {
            say!("export {name}='{value}'")?;
        }
        say!("{READY} Ctrl-C ends it and prints one JSON line.")?;
        let endpoint = Endpoint::new(
            engine,
            FollowersPartition::new(self.follows)?,
            self.schedule.or(self.writes.map(Schedule::constant)),
            Count::new(self.distinct, self.trace),
            Duration::from_millis(self.latency),
        );
        let measurement = Measurement::start()?;
        let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
        tokio::select! {
            failed = axum::serve(listener, endpoint.router()).into_future() => failed?,
            ended = stopped() => ended?,
        }
        print_json(&endpoint.summary(measurement.cpu_seconds()?))?;
        Ok(())
    }
}

/// The variables that a shell has to export for a writer to find the table.
fn environment(url: String) -> [(&'static str, String); 8] {
    let tables = schema::names();
    [
        ("AWS_ENDPOINT_URL_DYNAMODB", url),
        (env::TIMELINES_TABLE, tables.timelines),
        (env::LEDGER_TABLE, tables.ledger),
        (env::DEAD_LETTERS_TABLE, tables.dead_letters),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", ACCESS_KEY.to_owned()),
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_DEFAULT_REGION", REGION.to_owned()),
    ]
}
