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
use nagare_operator::progress;
use shared::command::Command;
use shared::follows::FollowChange;
use shared::register::Register;
use shared::values::{ActorId, Timestamp, ViewerId};

use super::Failure;
use super::csv_file::{BadLine, Line, RowError, Rows, Source};
use super::print::{counted, say, tell};

pub(super) const HEADER: [&str; 2] = ["follower", "followee"];

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file; `-` is standard input.
    file: PathBuf,
    /// Report bad lines and leave them out, instead of refusing the file.
    #[arg(long)]
    skip_bad: bool,
    /// When they were made, as an RFC 3339 instant; now, if it is not given. Later commands on an edge win.
    #[arg(long)]
    at: Option<Timestamp>,
}

impl Import {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let source = Source::of(&self.file)?;
        let total = self.check(&source)?;
        let at = self.at(&source)?;
        let remote = Remote::from_environment().await?;
        let (sender, drain) = (remote.sender()?, remote.drain()?);
        let bar = progress::bar(total, "follows sent");
        let edges = drain.not_too_far_ahead(commands(edges(&source, at)?));
        let sent = sender.send_all(edges, |accepted| bar.inc(accepted)).await?;
        bar.finish_and_clear();

        let bar = progress::bar(sent, "follows in effect");
        drain.wait(|left| bar.set_position(sent.saturating_sub(left))).await?;
        bar.finish_and_clear();
        say!("{} imported", counted(sent, "follow", "follows"))
    }

    /// The instant of all of them. One that the writer would refuse is found on the first.
    fn at(&self, source: &Source) -> Result<Timestamp, Failure> {
        let now = clock::clock().now();
        let at = self.at.unwrap_or(now);
        if let Some(first) = edges(source, at)?.next() {
            Command::parse(&first?.to_body(), now).map_err(|e| Failure::Usage(e.unredacted()))?;
        }
        Ok(at)
    }

    /// Reads the whole file without sending anything, and counts its edges.
    fn check(&self, source: &Source) -> Result<u64, Failure> {
        let (mut good, mut bad) = (0, 0);
        for row in source.rows(&HEADER)? {
            match edge(row) {
                Ok(_) => good += 1,
                Err(RowError::File(failure)) => return Err(failure),
                Err(RowError::Line(line)) => {
                    tell!("{source}: {line}");
                    bad += 1;
                }
            }
        }
        if bad > 0 && !self.skip_bad {
            let problem = "nothing was imported; correct what is named above, or pass --skip-bad";
            let bad = counted(bad, "bad line", "bad lines");
            return Err(Failure::Usage(format!("{source} has {bad}: {problem}")));
        }
        Ok(good)
    }
}

/// The file's edges as commands. Its bad lines were reported when it was checked.
fn edges(
    source: &Source,
    now: Timestamp,
) -> Result<impl Iterator<Item = Result<Command, Failure>> + use<>, Failure> {
    Ok(source.rows(&HEADER)?.filter_map(move |row| match edge(row) {
        Ok((follower_id, followee_id)) => {
            let state = Register { on: true, changed_at: now };
            Some(Ok(Command::Follow(FollowChange { follower_id, followee_id, state })))
        }
        Err(RowError::File(failure)) => Some(Err(failure)),
        Err(RowError::Line(_)) => None,
    }))
}

/// Reads edges row by row, as `nagare follows import` does. Rows that cannot be used do not end it.
///
/// # Errors
/// [`Failure::Usage`] if the input is not such a file at all.
pub fn follows_in(
    input: impl Read + Send + 'static,
) -> Result<impl Iterator<Item = Result<(ViewerId, ActorId), Failure>>, Failure> {
    let rows = Rows::of(input, "the input".to_owned(), &HEADER)?;
    Ok(rows.map(|row| Ok(edge(row)?)))
}

pub(super) fn edge(row: Result<Line, RowError>) -> Result<(ViewerId, ActorId), RowError> {
    let Line { number, fields } = row?;
    let bad = |column: usize, problem: &dyn std::fmt::Display| {
        let problem = format!("column {}: {problem}", HEADER[column]);
        RowError::Line(BadLine { number, problem })
    };
    let follower = ViewerId::new(&fields[0]).map_err(|e| bad(0, &e))?;
    Ok((follower, ActorId::new(&fields[1]).map_err(|e| bad(1, &e))?))
}
