//! `nagare follows import`: a file of edges as follow commands.
//!
//! The edges go over the queue like every other follow, so importing a file again, or over follows
//! that are newer, is safe. A file is read through before the first edge is sent: a bad line is
//! found before anything has happened. Standard input cannot be read twice and is checked as it is
//! sent.

use std::path::PathBuf;

use clap::Args;
use shared::command::{Command, FollowChange};
use shared::follow::FollowState;
use shared::{ActorId, Clock, Timestamp, ViewerId};

use super::csv_file::{BadLine, Line, RowError, Source};
use super::remote::Remote;
use super::sender::commands;
use super::{Failure, progress};

const HEADER: [&str; 2] = ["follower", "followee"];

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file; `-` is standard input.
    file: PathBuf,
    /// Report bad lines and leave them out, instead of refusing the file.
    #[arg(long)]
    skip_bad: bool,
}

impl Import {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let source = Source::from(self.file.as_path());
        let total = match source {
            Source::File(_) => Some(self.check(&source)?),
            Source::StandardInput => None,
        };
        let remote = Remote::from_environment().await?;
        let (sender, drain) = (remote.sender()?, remote.drain()?);
        let bar = total.map_or_else(
            || progress::counter("follows sent"),
            |total| progress::bar(total, "follows sent"),
        );
        let edges = self.edges(&source, Clock::system().now())?;
        let sent = sender
            .send_all(commands(edges), |accepted| bar.inc(accepted))
            .await?;
        bar.finish_and_clear();

        let bar = progress::bar(sent, "follows in effect");
        drain
            .wait(|left| bar.set_position(sent.saturating_sub(left)))
            .await?;
        bar.finish_and_clear();
        println!("{sent} follows imported");
        Ok(())
    }

    /// Reads the whole file without sending anything, and counts its edges.
    fn check(&self, source: &Source) -> Result<u64, Failure> {
        let (mut good, mut bad) = (0, 0);
        for row in source.rows(&HEADER)? {
            match edge(row) {
                Ok(_) => good += 1,
                Err(RowError::File(failure)) => return Err(failure),
                Err(RowError::Line(line)) => {
                    eprintln!("{source}: {line}");
                    bad += 1;
                }
            }
        }
        if bad > 0 && !self.skip_bad {
            let problem = "nothing was imported; mend the lines above, or pass --skip-bad";
            return Err(Failure::Usage(format!(
                "{source} has {bad} bad lines: {problem}"
            )));
        }
        Ok(good)
    }

    /// The file's edges as commands. Bad lines of a file were reported when it was checked.
    fn edges(
        &self,
        source: &Source,
        now: Timestamp,
    ) -> Result<impl Iterator<Item = Result<Command, Failure>>, Failure> {
        let (skip, report) = (self.skip_bad, matches!(source, Source::StandardInput));
        let source = source.clone();
        let rows = source.rows(&HEADER)?;
        Ok(rows.filter_map(move |row| match edge(row) {
            Ok((follower_id, followee_id)) => {
                let state = FollowState { following: true, changed_at: now };
                Some(Ok(Command::Follow(FollowChange { follower_id, followee_id, state })))
            }
            Err(RowError::File(failure)) => Some(Err(failure)),
            Err(RowError::Line(line)) if skip => {
                if report {
                    eprintln!("{source}: {line}");
                }
                None
            }
            Err(RowError::Line(line)) => Some(Err(Failure::Usage(format!(
                "{source}: {line}; the lines before it were sent: mend it and import again, or pass \
                 --skip-bad"
            )))),
        }))
    }
}

fn edge(row: Result<Line, RowError>) -> Result<(ViewerId, ActorId), RowError> {
    let Line { number, fields } = row?;
    let bad = |column: usize, problem: &dyn std::fmt::Display| {
        let problem = format!("column {}: {problem}", HEADER[column]);
        RowError::Line(BadLine { number, problem })
    };
    let follower = ViewerId::new(&fields[0]).map_err(|e| bad(0, &e))?;
    Ok((follower, ActorId::new(&fields[1]).map_err(|e| bad(1, &e))?))
}
