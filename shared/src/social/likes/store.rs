//! Records and reads likes among the facts.

use std::collections::{HashMap, HashSet};

use super::state::RECORDED_AT;
use super::{LikeChange, RecordedLike, keys};
use crate::platform::dynamo::item::{Row, text, truth};
use crate::platform::dynamo::{Changed, DynamoError, Query, Update};
use crate::platform::facts::Facts;
use crate::platform::ledger::FORGET_AT;
use crate::platform::register::Register;
use crate::platform::values::{ActivityId, Timestamp, ViewerId};

/// Up to this many activities are looked up one by one.
const FEW: usize = 3;
/// The most rows of a viewer that one query reads to find the likes of a page: two or three read units.
pub const ROWS_AT_ONCE: i32 = 64;

/// The likes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Likes {
    facts: Facts,
}

/// An activity that a viewer likes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Like {
    /// The `at` of the command that won.
    pub liked_at: Timestamp,
    pub activity_id: ActivityId,
}

impl Likes {
    pub fn new(facts: &Facts) -> Self {
        Self { facts: facts.clone() }
    }

    /// Records a like or an undo, unless one that wins over it is on record. The earliest like is noted even then. Returns what is on
    /// record.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(
        &self,
        change: &LikeChange,
        now: Timestamp,
    ) -> Result<RecordedLike, DynamoError> {
        let LikeChange { viewer_id, activity_id, state } = change;
        let key = keys::like(viewer_id, activity_id).into_item();
        let at = (":at", text(state.changed_at.to_string()));
        let names = vec![("#forget", FORGET_AT), ("#recorded", RECORDED_AT)];
        let (yes, now) = ((":yes", truth(true)), (":now", text(now.to_string())));
        let update = match state.on {
            // On a tie the undo wins.
            false => Update {
                expression: "SET moved_from = if_not_exists(changed_at, :at), liked = :no, \
                             changed_at = :at, \
                             #recorded = :now REMOVE liked_since, #forget",
                names,
                condition: Some(
                    "attribute_not_exists(changed_at) OR changed_at < :at \
                     OR (changed_at = :at AND liked = :yes)",
                ),
                values: vec![at, yes, now, (":no", truth(false))],
            },
            true => Update {
                expression: "SET moved_from = if_not_exists(changed_at, :at), liked = :yes, \
                             changed_at = :at, #recorded = :now, \
                             liked_since = if_not_exists(liked_since, :at), \
                             first_liked_at = if_not_exists(first_liked_at, :at) \
                             REMOVE #forget",
                names,
                condition: Some("attribute_not_exists(changed_at) OR changed_at < :at"),
                values: vec![at, yes, now],
            },
        };
        let table = self.facts.table();
        match table.change(key, update).await? {
            Changed::Done(row) => RecordedLike::read(&table.row(row)),
            Changed::Refused(row) => {
                // An erased row stays erased.
                let is_erased = row.contains_key(FORGET_AT);
                let there = RecordedLike::read(&table.row(row))?;
                if state.on && !is_erased {
                    self.remember_first(change, &there).await?;
                }
                Ok(there)
            }
        }
    }

    /// Notes a like that was overtaken, if it is the earliest.
    async fn remember_first(
        &self,
        LikeChange { viewer_id, activity_id, state }: &LikeChange,
        there: &RecordedLike,
    ) -> Result<(), DynamoError> {
        if there.first_liked_at.is_some_and(|first| first <= state.changed_at) {
            return Ok(());
        }
        let first = Update {
            expression: "SET first_liked_at = :at",
            condition: Some(
                "attribute_exists(changed_at) AND attribute_not_exists(#forget) \
                 AND (attribute_not_exists(first_liked_at) OR first_liked_at > :at)",
            ),
            names: vec![("#forget", FORGET_AT)],
            values: vec![(":at", text(state.changed_at.to_string()))],
        };
        let key = keys::like(viewer_id, activity_id).into_item();
        self.facts.table().update(key, first).await.map(|_| ())
    }

    /// The row of a viewer and an activity, if there is one.
    pub async fn recorded(
        &self,
        viewer: &ViewerId,
        activity: &ActivityId,
    ) -> Result<Option<RecordedLike>, DynamoError> {
        let key = keys::like(viewer, activity).into_item();
        let row = self.facts.table().get(key).await?;
        row.as_ref().map(RecordedLike::read).transpose()
    }

    /// All likes of a viewer, latest first, and for the same instant the greater id first.
    pub async fn of_viewer(&self, viewer: &ViewerId) -> Result<Vec<Like>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::of_viewer(viewer)))],
            ..Query::default()
        };
        let mut likes = liked_in(&self.facts.table().all(query).await?)?;
        likes.sort_unstable_by(|one, other| other.cmp(one));
        Ok(likes)
    }

    /// The rows of a viewer and these activities, which must differ, each by its key.
    pub async fn looked_up(
        &self,
        viewer: &ViewerId,
        activities: &[ActivityId],
    ) -> Result<HashMap<ActivityId, RecordedLike>, DynamoError> {
        let keys = activities.iter().map(|activity| keys::like(viewer, activity).into_item());
        let rows = self.facts.table().batch_get(keys.collect()).await?;
        rows.iter().map(|row| Ok((activity_of(row)?, RecordedLike::read(row)?))).collect()
    }

    /// The rows of a viewer and those of these activities that have one. They must differ, at most
    /// [`BATCH_GET`](crate::platform::dynamo::BATCH_GET).
    ///
    /// For more than a few, it reads the viewer's rows from the least to the greatest id, at most [`ROWS_AT_ONCE`]: one or two units for
    /// a viewer with few likes, or if ids increase with time. Activities beyond that are looked up.
    pub async fn rows(
        &self,
        viewer: &ViewerId,
        activities: &[ActivityId],
    ) -> Result<HashMap<ActivityId, RecordedLike>, DynamoError> {
        let mut found = HashMap::new();
        let mut left = activities.to_vec();
        if left.len() > FEW {
            let (rows, is_whole) = self.between(viewer, &left).await?;
            let last = rows.last().map(activity_of).transpose()?;
            left.retain(|activity| !is_whole && last.as_ref() < Some(activity));
            let asked_for: HashSet<_> = activities.iter().collect();
            for row in &rows {
                let activity = activity_of(row)?;
                if asked_for.contains(&activity) {
                    found.insert(activity, RecordedLike::read(row)?);
                }
            }
        }
        if !left.is_empty() {
            found.extend(self.looked_up(viewer, &left).await?);
        }
        Ok(found)
    }

    /// The first rows of a viewer from the least to the greatest of these ids, and whether they are all.
    async fn between(
        &self,
        viewer: &ViewerId,
        activities: &[ActivityId],
    ) -> Result<(Vec<Row<'_>>, bool), DynamoError> {
        let id = |activity: Option<&ActivityId>| text(activity.map_or("", ActivityId::as_str));
        let query = Query {
            keys: Some("pk = :pk AND sk BETWEEN :least AND :greatest"),
            values: vec![
                (":pk", text(keys::of_viewer(viewer))),
                (":least", id(activities.iter().min())),
                (":greatest", id(activities.iter().max())),
            ],
            limit: Some(ROWS_AT_ONCE),
            ..Query::default()
        };
        let page = self.facts.table().page(&query).await?;
        Ok((page.rows, page.next.is_none()))
    }
}

/// The activities that are liked by rows of one viewer.
fn liked_in(rows: &[Row<'_>]) -> Result<Vec<Like>, DynamoError> {
    let mut likes = Vec::new();
    for row in rows {
        let Register { on: liked, changed_at: liked_at } = RecordedLike::read(row)?.state;
        if liked {
            likes.push(Like { liked_at, activity_id: activity_of(row)? });
        }
    }
    Ok(likes)
}

fn activity_of(row: &Row<'_>) -> Result<ActivityId, DynamoError> {
    let key = keys::of_like(row.text("pk")?, row.text("sk")?);
    key.map(|(_, activity)| activity).ok_or_else(|| row.corrupt("sk", "the id of an activity"))
}
