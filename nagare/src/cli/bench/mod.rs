//! `nagare bench`: what the code that ships costs.
//!
//! ```text
//! fanout      the writer's own write path
//! plain_sdk   the same with the SDK alone, to compare it with
//! read        the reader's own code
//! table       tables to write to and to read, in a process of their own
//! dataset     what is read
//! report      what a run took
//! ```

mod dataset;
mod fanout;
mod plain_sdk;
mod read;
mod report;
mod table;

use clap::Subcommand;

use super::Failure;

#[derive(Debug, Subcommand)]
pub(super) enum Bench {
    /// Write one activity's entries into the timelines of generated followers.
    Fanout(fanout::Fanout),
    /// Write the same with the AWS SDK alone, as its documentation shows it.
    PlainSdk(plain_sdk::PlainSdk),
    /// Read pages of timelines of viewers who follow few or many.
    Read(read::Read),
    /// Serve a table to write to, which counts entries and does not store them.
    Table(table::Table),
}

impl Bench {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Fanout(fanout) => fanout.run().await,
            Self::PlainSdk(plain) => plain.run().await,
            Self::Read(read) => read.run().await,
            Self::Table(table) => table.run().await,
        }
    }
}

/// How many calls may be under way at once.
fn in_flight(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=4_096).contains(number));
    number.ok_or_else(|| "expected a number of calls from 1 to 4096".to_owned())
}

/// The id of a generated follower.
fn follower(number: u64) -> String {
    format!("bench-{number:09}")
}
