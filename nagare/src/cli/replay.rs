//! `nagare replay`: publishes the rows of a file as if they were happening now.
//!
//! All instants move by one offset, so that the last row falls at now. Activity ids are derived from the
//! file's own instants, so they do not depend on the time of the replay. Replaying a file a second time
//! into the same tables therefore publishes the same ids at other instants, which the contract refuses.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use futures::{StreamExt, stream};
use serde::Serialize;
use shared::activities::Publish;
use shared::command::Command;
use shared::dynamo::Table;
use shared::runtime::clock::Clock;
use shared::values::{ActivityId, ActorId, Kind, Payload, Timestamp};
use tokio::time::Instant;

use super::Failure;
use super::csv_file::{BadLine, Line, RowError, Rows, Source};
use super::print::{counted, print_json, say};
use super::remote::{Remote, soon};
use crate::progress;

pub(super) const HEADER: [&str; 3] = ["t", "author", "kind"];

#[derive(Debug, Args)]
pub(super) struct Replay {
    /// The file, CSV or CSV.gz, with the header `t,author,kind` (t in unix seconds); `-` is standard input.
    file: PathBuf,
    /// Replay only this many rows.
    #[arg(long)]
    limit: Option<usize>,
    /// Replay at this many times real time, instead of as fast as the queue takes it.
    #[arg(long)]
    speed: Option<f64>,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// One row of the file.
pub(super) struct Post {
    pub(super) seconds: i64,
    pub(super) author: ActorId,
    pub(super) kind: Kind,
}

/// Maps the file's time to ours.
#[derive(Clone, Copy)]
struct Shift {
    offset: i64,
    first: i64,
}

#[derive(Serialize)]
struct Summary {
    activities: u64,
    entries: u64,
    dead_letters: u64,
    seconds: f64,
}

/// The number of entries that the table reports. The embedded engine counts them; DynamoDB updates the
/// number about every six hours.
async fn entry_count(timelines: &Table) -> Result<u64, Failure> {
    let describe = || timelines.client().describe_table().table_name(timelines.name()).send();
    let count = timelines.attempt(soon(), describe).await?.table.and_then(|t| t.item_count);
    Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
}

impl Replay {
    pub(super) async fn run(self) -> Result<(), Failure> {
        if self.speed.is_some_and(|speed| !(speed.is_finite() && speed > 0.0)) {
            return Err(Failure::Usage("--speed: expected a number above 0".to_owned()));
        }
        let source = Source::of(&self.file)?;
        let (total, shift) = self.survey(&source)?;
        let remote = Remote::from_environment().await?;
        let (sender, drain) = (remote.sender()?, remote.drain()?);
        let (timelines, letters) = (remote.timelines_table()?, remote.dead_letters()?);

        let start = Instant::now();
        let bar = progress::bar(total, "activities sent");
        let posts = stream::iter(self.posts(&source)?).then(async |post| {
            let post = post?;
            self.wait_for(&post, shift, start).await;
            post.command(shift)
        });
        let activities = sender.send_all(posts, |accepted| bar.inc(accepted)).await?;
        bar.finish_and_clear();

        let bar = progress::bar(activities, "activities spread");
        drain.wait(|left| bar.set_position(activities.saturating_sub(left))).await?;
        bar.finish_and_clear();
        let seconds = start.elapsed().as_secs_f64();

        let entries = entry_count(&timelines).await?;
        let dead_letters = super::dead_letters::count(&letters).await?;
        self.print(&Summary { activities, entries, dead_letters, seconds })
    }

    /// Reads the whole file: the number of rows, and the instants of the first and the last.
    fn survey(&self, source: &Source) -> Result<(u64, Shift), Failure> {
        let (mut total, mut first, mut last) = (0, None, None);
        for post in self.posts(source)? {
            let seconds = post?.seconds;
            first = first.or(Some(seconds));
            last = Some(seconds);
            total += 1;
        }
        let (Some(first), Some(last)) = (first, last) else {
            return Err(Failure::Usage(format!("{source}: there are no rows")));
        };
        let offset = Clock::system().now().unix_millis() - last * 1000;
        Ok((total, Shift { offset, first }))
    }

    fn posts(
        &self,
        source: &Source,
    ) -> Result<impl Iterator<Item = Result<Post, Failure>> + use<>, Failure> {
        let source = source.clone();
        let rows = source.rows(&HEADER)?.take(self.limit.unwrap_or(usize::MAX));
        Ok(rows.map(move |row| match Post::read(row) {
            Ok(post) => Ok(post),
            Err(RowError::File(failure)) => Err(failure),
            Err(RowError::Line(line)) => Err(Failure::Usage(format!("{source}: {line}"))),
        }))
    }

    async fn wait_for(&self, post: &Post, shift: Shift, start: Instant) {
        if let Some(speed) = self.speed {
            let since = (post.seconds - shift.first).max(0);
            let wait = Duration::try_from_secs_f64(since as f64 / speed).unwrap_or(Duration::MAX);
            let due = start.checked_add(wait).unwrap_or(start);
            tokio::time::sleep_until(due).await;
        }
    }

    fn print(&self, summary: &Summary) -> Result<(), Failure> {
        let Summary { activities, entries, dead_letters, seconds } = summary;
        if self.json {
            return print_json(summary);
        }
        say!(
            "{} published in {seconds:.1} s; the timelines hold {}; {}",
            counted(*activities, "activity", "activities"),
            counted(*entries, "entry", "entries"),
            counted(*dead_letters, "dead letter", "dead letters")
        )?;
        Ok(())
    }
}

/// Reads posts row by row, as `nagare replay` does: the unix second, the author, and the kind.
///
/// # Errors
/// [`Failure::Usage`] if the input is not such a file at all.
pub fn posts_in(
    input: impl Read + Send + 'static,
) -> Result<impl Iterator<Item = Result<(i64, ActorId, Kind), Failure>>, Failure> {
    let rows = Rows::of(input, "the input".to_owned(), &HEADER)?;
    Ok(rows.map(|row| {
        let Post { seconds, author, kind } = Post::read(row)?;
        Ok((seconds, author, kind))
    }))
}

impl Post {
    pub(super) fn read(row: Result<Line, RowError>) -> Result<Self, RowError> {
        let Line { number, fields } = row?;
        let bad = |column: usize, problem: &dyn std::fmt::Display| {
            let problem = format!("column {}: {problem}", HEADER[column]);
            RowError::Line(BadLine { number, problem })
        };
        let seconds = fields[0].parse::<i64>().ok().filter(|t| (0..=253_402_300_799).contains(t));
        Ok(Self {
            seconds: seconds.ok_or_else(|| bad(0, &"expected whole unix seconds"))?,
            author: ActorId::new(&fields[1]).map_err(|e| bad(1, &e))?,
            kind: Kind::new(&fields[2]).map_err(|e| bad(2, &e))?,
        })
    }

    /// The id of the row's activity.
    pub(super) fn activity_name(&self) -> String {
        format!("{}-{}", self.author, self.seconds)
    }

    fn command(self, shift: Shift) -> Result<Command, Failure> {
        let activity_id = ActivityId::new(self.activity_name());
        let Self { seconds, author, kind } = self;
        let activity_id = activity_id.map_err(|e| Failure::Usage(format!("{author}: {e}")))?;
        let published_at = Timestamp::from_unix_millis(seconds * 1000 + shift.offset);
        let payload = Payload::default();
        Ok(Command::Publish(Publish { activity_id, actor_id: author, published_at, kind, payload }))
    }
}
