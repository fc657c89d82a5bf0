//! `nagare follows import`: a file of edges as follow commands.
//!
//! The edges go over the queue like every other follow, so importing a file again, or over newer
//! follows, is safe. The whole file is read before the first edge is sent, so a bad line is found before
//! anything has happened.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use nagare_client::clock;
use nagare_client::remote::Remote;
use nagare_client::sender::commands;
use nagare_operator::completion::complete;
use nagare_operator::progress;
use shared::command::Command;
use shared::platform::message::{EARLIEST, MAX_FUTURE_MILLIS};
use shared::platform::register::Register;
use shared::platform::values::{ActorId, Timestamp, ViewerId};
use shared::social::follows::FollowChange;

use crate::Failure;
use crate::input::{Columns, Input, Lines, Row, RowError, Table, good, instant};
use crate::print::{counted, say};

pub(crate) const COLUMNS: Columns =
    Columns { required: &["follower", "followee"], optional: &["since", "at"] };

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file; `-` is standard input.
    file: PathBuf,
    /// Report bad lines and leave them out, instead of refusing the file.
    #[arg(long)]
    skip_bad: bool,
    /// When they were made, as an RFC 3339 instant; now, if it is not given. Later commands on an
    /// edge win. The file's own `since` or `at` comes first.
    #[arg(long)]
    at: Option<Timestamp>,
}

/// How the rows of a file become follows.
#[derive(Debug, Clone, Copy)]
struct FollowReading {
    /// The instant of follows without one.
    at: Timestamp,
    now: Timestamp,
}

impl Import {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let input = Input::of(&self.file)?;
        let now = clock::clock().now();
        let reading = FollowReading { at: self.at.unwrap_or(now), now };
        let (total, _) = input.check(reading.follows(&input)?, self.skip_bad)?;
        let remote = Remote::from_environment().await?;
        let bar = progress::bar(total, "follows in effect");
        let follows = commands(good(reading.follows(&input)?));
        let completed = complete(&remote, follows, |done| bar.inc(done)).await?;
        bar.finish_and_clear();
        let imported = completed.sent - completed.refused.len() as u64;
        say!("{} imported", counted(imported, "follow", "follows"))?;
        completed.conclude()
    }
}

impl FollowReading {
    /// The rows of a file as commands.
    fn follows(
        self,
        input: &Input,
    ) -> Result<impl Iterator<Item = Result<Command, RowError>> + use<>, Failure> {
        self.checked(self.at).map_err(|problem| Failure::Usage(format!("--at: {problem}")))?;
        Ok(input.table(COLUMNS)?.map(move |row| self.follow(&row?)))
    }

    fn follow(self, row: &Row) -> Result<Command, RowError> {
        let (follower_id, followee_id) = edge(row)?;
        let given = [2, 3].into_iter().find(|column| !row.field(*column).is_empty());
        let changed_at = match given {
            None => self.at,
            Some(column) => {
                let at = row.read(column, instant)?;
                self.checked(at).map_err(|problem| row.wrong(column, problem))?
            }
        };
        let state = Register { on: true, changed_at };
        Ok(Command::Follow(FollowChange { follower_id, followee_id, state }))
    }

    /// An instant that the writer takes, or why it does not.
    fn checked(self, at: Timestamp) -> Result<Timestamp, String> {
        if at < EARLIEST || at > self.now.plus_millis(MAX_FUTURE_MILLIS) {
            let now = self.now;
            return Err(format!(
                "expected an instant from {EARLIEST} to five minutes after now ({now}), got {at}"
            ));
        }
        Ok(at)
    }
}

/// Reads edges row by row, as `nagare follows import` does. Rows that cannot be used do not end it.
///
/// # Errors
/// [`Failure::Usage`] if the input is not such a file at all.
pub fn follows_in(
    input: impl Read + Send + 'static,
) -> Result<impl Iterator<Item = Result<(ViewerId, ActorId), Failure>>, Failure> {
    let rows = Table::open(Lines::open("the input".to_owned(), input)?, COLUMNS)?;
    Ok(rows.map(|row| row.and_then(|row| edge(&row)).map_err(|error| error.of(&"the input"))))
}

pub(crate) fn edge(row: &Row) -> Result<(ViewerId, ActorId), RowError> {
    Ok((row.read(0, ViewerId::new)?, row.read(1, ActorId::new)?))
}
