//! `nagare bench table`: a DynamoDB endpoint to write against, in a process of its own, so that the
//! CPU that a writer measures is the writer's alone.
//!
//! ```text
//! endpoint   HTTP: batches of entries end here, everything else is answered by the embedded tables
//!   batch      a batch of entries, read without copying it
//!   capacity   how much the table takes, and how that changes
//!   count      what came and when
//! followers  whom a fan-out is for, made up when they are read
//! load       what is in the tables before anybody comes
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
use shared::runtime::clock::Clock;
use shared::runtime::env;

use super::super::print::say;
use super::super::{Failure, up};
use super::dataset::{Dataset, many_activities, many_follows};
use super::report::Meter;
use crate::cli::print::print_json;
use crate::local::connector::ACCESS_KEY;
use crate::local::engine::Engine;
use crate::local::sqs::REGION;
use crate::local::{listen, schema, url};
use capacity::{Schedule, rate};
use count::Count;
use endpoint::Endpoint;
use followers::Followers;

/// What the last line begins with that is printed before the table can be reached.
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
    /// Milliseconds that every answer takes longer.
    #[arg(long, default_value_t = 0)]
    latency: u64,
    /// Let the actor `bench` have so many followers.
    #[arg(long, default_value_t = 0)]
    follows: u64,
    /// For each number, put a viewer `viewer-NUMBER` into the tables first who follows so many actors,
    /// with a timeline of all that they published.
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
            Followers::new(self.follows)?,
            self.schedule.or(self.writes.map(Schedule::constant)),
            Count::new(self.distinct, self.trace),
            Duration::from_millis(self.latency),
        );
        let meter = Meter::start()?;
        let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
        tokio::select! {
            failed = axum::serve(listener, endpoint.router()).into_future() => failed?,
            stopped = up::stopped() => stopped?,
        }
        print_json(&endpoint.summary(meter.cpu_seconds()?))?;
        Ok(())
    }
}

/// What a shell has to export for a writer to find the table.
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
