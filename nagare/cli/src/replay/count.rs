//! What became of a run: its entries and its dead letters, and nobody else's.

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use futures::TryStreamExt;
use nagare_operator::scan::scan;
use serde::Deserialize;
use shared::command::Command;
use shared::dead_letters::{DeadLetter, DeadLetters};
use shared::dynamo::item::text;
use shared::dynamo::{Query, Table};
use shared::values::{ActivityId, SortKey, Timestamp};

use super::posts::Posts;
use super::run::Run;
use super::start::Survey;
use crate::Failure;

/// No command of a replay is as long, nor what the writer makes of one.
const LONGEST: usize = 8 * 1024;

/// The letters of a run: the activity of each, by the letter's id and that of the message it came in.
pub(super) type Letters = HashMap<(String, String), ActivityId>;

/// Counts a run's entries in all timelines. There is no index of entries by activity, so all of them are
/// read.
///
/// # Errors
/// [`Failure`]
pub(super) async fn entries(timelines: &Table, run: &Run, survey: &Survey) -> Result<u64, Failure> {
    let first = run.published_at(survey.earliest).to_string();
    // `~` is greater than any character of a sort key.
    let last = format!("{}~", run.published_at(survey.latest));
    let query = Query {
        filter: Some("sort_key BETWEEN :first AND :last"),
        projection: Some("sort_key"),
        values: vec![(":first", text(first)), (":last", text(last))],
        ..Query::default()
    };
    let mut entries = 0;
    scan(timelines, "entries read", query, |row| {
        let sort_key = row.text("sort_key")?.parse::<SortKey>();
        entries += u64::from(sort_key.is_ok_and(|sort_key| run.owns(&sort_key)));
        Ok(())
    })
    .await?;
    Ok(entries)
}

/// Finds the dead letters that are of a run's activities.
///
/// # Errors
/// [`Failure`]
pub(super) async fn letters(
    letters: &DeadLetters,
    run: &Run,
    now: Timestamp,
) -> Result<Letters, Failure> {
    let mut found = Letters::new();
    let mut all = pin!(letters.all_shorter_than(LONGEST));
    while let Some(DeadLetter { id, message_id, body, .. }) = all.try_next().await? {
        if let Some(sort_key) = sort_key(&body, now).filter(|sort_key| run.owns(sort_key)) {
            found.insert((id, message_id), sort_key.activity_id);
        }
    }
    Ok(found)
}

/// How many rows are published, but for those that died.
///
/// # Errors
/// [`Failure`]
pub(super) fn published(
    posts: &Posts,
    survey: &Survey,
    run: &Run,
    died: &Letters,
) -> Result<u64, Failure> {
    let died: HashSet<_> = died.values().collect();
    if died.is_empty() {
        return Ok(survey.rows);
    }
    posts.read()?.try_fold(0, |published, post| {
        let died = run.naming.activity_id(&post?).is_ok_and(|id| died.contains(&id));
        Ok(published + u64::from(!died))
    })
}

/// The sort key of the activity that a body publishes, or that the writer was publishing with it.
fn sort_key(body: &str, now: Timestamp) -> Option<SortKey> {
    match Command::parse_unverified(body, now) {
        Ok(command) => sort_key_of(command),
        // A row may be no command because of its time alone.
        Err(_) => serde_json::from_str(body).ok().and_then(Row::sort_key),
    }
}

fn sort_key_of(command: Command) -> Option<SortKey> {
    match command {
        Command::Publish(publish) => Some(publish.sort_key()),
        Command::Segment(segment) => {
            let (activity_id, published_at) = (segment.activity_id, segment.published_at);
            Some(SortKey { published_at, activity_id })
        }
        Command::Continued(continued) => sort_key_of(*continued.command),
        Command::Update(_)
        | Command::Delete(_)
        | Command::Follow(_)
        | Command::Profile(_)
        | Command::Like(_)
        | Command::MarkRead(_)
        | Command::OpenPoll(_)
        | Command::ClosePoll(_)
        | Command::Vote(_)
        | Command::OpenBattle(_)
        | Command::Hit(_)
        | Command::Tag(_)
        | Command::Post(_)
        | Command::DeleteMessage(_)
        | Command::Membership(_)
        | Command::RecordEvent(_)
        | Command::RecordEvents(_)
        | Command::UpdateCustomer(_)
        | Command::Rule(_)
        | Command::Score(_)
        | Command::ReadAlerts(_)
        | Command::Changed(_) => None,
    }
}

/// What a row is sent as, whatever its time.
#[derive(Deserialize)]
struct Row {
    #[serde(rename = "type")]
    command: String,
    activity_id: ActivityId,
    published_at: Timestamp,
}

impl Row {
    fn sort_key(self) -> Option<SortKey> {
        let Self { command, activity_id, published_at } = self;
        (command == "activity.published").then_some(SortKey { published_at, activity_id })
    }
}
