//! `nagare replay`: publishes the rows of a file as if they were happening now.
//!
//! ```text
//! posts   the rows of the file
//! run     the ids of activities, and which activities belong to a run
//! start   what the ledger says of their ids, before anything is sent
//! count   what became of them: activities and entries
//! ```
//!
//! All instants move by one offset, so that the last row is published now. Activity ids are derived from the file's own instants, so
//! they do not depend on the time of the replay.
//!
//! # Replaying a file again
//!
//! An activity id belongs to the instant at which it was first published, so the same rows at another offset would all be dead
//! letters. Therefore the ledger is asked first:
//!
//! - None of the ids is there: the run starts.
//! - Some are there, all of them with one offset, and others are missing: an earlier replay was
//!   interrupted. The missing rows are sent with its offset, and then the file is replayed as if
//!   nothing had happened. The last of the others are sent again too, because the earlier replay
//!   did not wait for their end.
//! - All are there: it is refused. Otherwise a script that merely retries would publish everything once more and double every
//!   timeline. `--run NAME` says that this is meant: the ids are `AUTHOR-T-NAME`, a run of its own, which can be interrupted and
//!   continued like the first.
//! - Some belong to other activities: it is refused, and `--run NAME` helps here too.
//! - Some belong to a replay of fewer rows, and its offset would put the other rows into the future: likewise.
//!
//! # What is counted
//!
//! The run and nothing else, however many processes it took and whatever else happens meanwhile.
//! *Activities* are the rows, without those that became dead letters. *Entries* are all entries of
//! the run's activities, in all timelines. An activity belongs to the run if its id has a time of
//! the file, and it was published at that time plus the run's offset. *Dead letters* are the
//! commands that this process sent and that became dead letters. If there is one, the exit code is
//! 1.

mod count;
mod posts;
mod run;
mod start;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use futures::{StreamExt, stream};
use nagare_client::clock;
use nagare_client::remote::Remote;
use nagare_operator::completion::{Completed, complete};
use nagare_operator::progress;
use serde::Serialize;
use shared::command::Command;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Retention;
use shared::social::activities::Activities;
use tokio::time::Instant;

use crate::Failure;
use crate::input::Input;
use crate::print::{counted, print_json, say, tell};
use posts::Posts;
pub use posts::posts_in;
pub(crate) use posts::{COLUMNS, Post};
use run::{Naming, RunName};
use start::{Start, Survey};

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The file, CSV or CSV.gz, with the columns `t` (unix seconds), `author` and `kind` in any
    /// order; `-` is standard input. Rows that are not in the order of `t` are sorted first.
    file: PathBuf,
    /// Replay only this many rows.
    #[arg(long)]
    limit: Option<usize>,
    /// Replay at this many times real time, instead of as fast as the queue takes it.
    #[arg(long)]
    speed: Option<f64>,
    /// Publish the rows as activities of their own, AUTHOR-T-NAME instead of AUTHOR-T: for a file that was
    /// replayed before. 1 to 32 of A-Z a-z 0-9 . _, the first a letter.
    #[arg(long, value_name = "NAME")]
    run: Option<RunName>,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ReplaySummary {
    activities: u64,
    /// Those among them that an earlier, interrupted replay had published.
    activities_before: u64,
    entries: u64,
    dead_letters: u64,
    seconds: f64,
}

/// What a replay works with.
struct Handles {
    remote: Remote,
    activities: Activities,
    retention: Retention,
    clock: Clock,
}

impl Handles {
    async fn from_environment() -> Result<Self, Failure> {
        let remote = Remote::from_environment().await?;
        let (activities, retention) = (Activities::new(&remote.ledger()?), remote.retention()?);
        Ok(Self { remote, activities, retention, clock: clock::clock() })
    }
}

impl Replay {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        if self.speed.is_some_and(|speed| !(speed.is_finite() && speed > 0.0)) {
            return Err(Failure::Usage("--speed: expected a number above 0".to_owned()));
        }
        let posts = Posts::new(Input::of(&self.file)?, self.limit)?;
        let naming = Naming(self.run.clone());
        let survey = Survey::of(&posts, &naming)?;
        let handles = Handles::from_environment().await?;
        let start = survey.start(&posts, &naming, &handles).await?;
        let before = start.published_before();
        if before > 0 {
            tell!(
                "{before} of {} rows were published by a replay that was interrupted",
                survey.rows
            );
        }
        let begun = Instant::now();
        let completed = self.send(&posts, &start, &handles).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let summary = ReplaySummary {
            activities: count::published(&posts, &survey, &start.run, &completed.refused)?,
            activities_before: before,
            entries: count::entries(&handles.remote.timelines_table()?, &start.run, &survey)
                .await?,
            dead_letters: completed.refused.len() as u64,
            seconds,
        };
        // Nobody may be reading any more; the exit code is right anyway.
        let printed = self.print(&summary);
        summary.conclude().and(printed)
    }

    /// Sends the rows that may not be published yet, and waits until they are.
    async fn send(
        &self,
        posts: &Posts,
        start: &Start,
        Handles { remote, .. }: &Handles,
    ) -> Result<Completed, Failure> {
        let first = start.unfinished(posts)?.next().transpose()?.map_or(0, |post| post.seconds);
        let bar = progress::bar(start.unfinished(posts)?.count() as u64, "activities published");
        let begun = Instant::now();
        let commands = stream::iter(start.unfinished(posts)?).then(async |post| {
            let post = post?;
            self.wait_for(&post, first, begun).await;
            Ok(Command::Publish(start.run.publish(post)?))
        });
        let completed = complete(remote, commands, |done| bar.inc(done)).await?;
        bar.finish_and_clear();
        Ok(completed)
    }

    async fn wait_for(&self, post: &Post, first: i64, begun: Instant) {
        if let Some(speed) = self.speed {
            let since = (post.seconds - first).max(0);
            let wait = Duration::try_from_secs_f64(since as f64 / speed).unwrap_or(Duration::MAX);
            let due = begun.checked_add(wait).unwrap_or(begun);
            tokio::time::sleep_until(due).await;
        }
    }

    fn print(&self, summary: &ReplaySummary) -> Result<(), Failure> {
        let ReplaySummary { activities, entries, dead_letters, seconds, .. } = summary;
        if self.json {
            return print_json(summary);
        }
        say!(
            "{} published in {seconds:.1} s: {}; {}",
            counted(*activities, "activity", "activities"),
            counted(*entries, "entry", "entries"),
            counted(*dead_letters, "dead letter", "dead letters")
        )
    }
}

impl ReplaySummary {
    /// No, if a row died.
    fn conclude(&self) -> Result<(), Failure> {
        match self.dead_letters {
            0 => Ok(()),
            _ => Err(Failure::No(format!(
                "{} came of this replay: `nagare dead-letters list` shows why",
                counted(self.dead_letters, "dead letter", "dead letters")
            ))),
        }
    }
}
