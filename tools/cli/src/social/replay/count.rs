//! What became of a run: its activities and their entries, and nobody else's.

use std::collections::HashSet;

use nagare_operator::scan::scan;
use shared::command::Command;
use shared::platform::dynamo::item::text;
use shared::platform::dynamo::{Query, Table};
use shared::platform::values::SortKey;

use super::posts::Posts;
use super::run::Run;
use super::start::Survey;
use crate::Failure;

/// Counts a run's entries in all timelines. There is no index of entries by activity, so all of them are
/// read.
pub(super) async fn entries(timelines: &Table, run: &Run, survey: &Survey) -> Result<u64, Failure> {
    let first = run.published_at(survey.first.seconds).to_string();
    // `~` is greater than any character of a sort key.
    let last = format!("{}~", run.published_at(survey.last));
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

/// How many rows are published: all but those whose commands are dead letters.
pub(super) fn published(
    posts: &Posts,
    survey: &Survey,
    run: &Run,
    refused: &[Command],
) -> Result<u64, Failure> {
    let of = |command: &Command| match command {
        Command::Publish(publish) => Some(publish.activity_id.clone()),
        _ => None,
    };
    let died: HashSet<_> = refused.iter().filter_map(of).collect();
    if died.is_empty() {
        return Ok(survey.rows);
    }
    posts.read()?.try_fold(0, |published, post| {
        let died = run.naming.activity_id(&post?).is_ok_and(|id| died.contains(&id));
        Ok(published + u64::from(!died))
    })
}
