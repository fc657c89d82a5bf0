//! The actors that a viewer follows: a row for each edge, `person#VIEWER#following` / ACTOR.
//!
//! The edges of a viewer are in the partitions of the actors. The rows are in one partition, in the order of ids, each with the
//! instant of its edge, so a page of them is one query.
//!
//! # Why every race ends right
//!
//! **The edge is the truth, and the row only repeats it.** A command that has written or read an edge writes its row afterwards, with
//! the state and instant of the edge. The later instant wins, and on a tie the unfollow, as for edges.
//!
//! 1. Edges only go forward, so a row is never later than its edge. A command that writes a row earlier than the edge has read the
//!    edge before it changed. The command that changed it writes the row, too, and wins, whichever comes first.
//! 2. A delivery that dies between edge and row comes again. It finds its own edge or a later one, and writes the row for that. So
//!    once a command is acknowledged, the row has its state or a later one. If the command is given up, it is a dead letter, and
//!    redriving it does the same.
//! 3. An unfollow leaves a tombstone with its instant, which wins over a late write of an earlier follow. Such a writer has read or
//!    written the edge before the unfollow, within the same invocation of at most a quarter of an hour. The tombstone is kept for
//!    [`TOMBSTONE_KEPT`](crate::platform::register::TOMBSTONE_KEPT) after it was written. A later delivery reads the edge, which says unfollowed, and leaves a tombstone again.
//! 4. The rest of an erased row is a tombstone, too.
//!
//! A transaction for both would cost four units instead of two, and follows of the same viewer or actor would refuse each other. The
//! row is only behind its edge for a few milliseconds before the command is acknowledged.
//!
//! `nagare audit --viewer V --repair` compares the two and writes missing rows. It only replaces the row that it has read, by an edge
//! that it has read afterwards. If that edge changes meanwhile, the change writes the row with a later instant.

use super::{FollowChange, Follows, keys};
use crate::platform::dynamo::item::{Item, Row, text};
use crate::platform::dynamo::{DynamoError, Put, Query};
use crate::platform::register::{Register, RegisterAttributes};
use crate::platform::values::{ActorId, Timestamp, ViewerId};

/// The attributes of the state of a row. That of an unfollow only has the instant.
const ROW: RegisterAttributes = RegisterAttributes { on: "following", at: "at" };

/// A row as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolloweeRow {
    pub followee: ActorId,
    /// Its state. An erased row counts as an unfollow.
    pub state: Register,
}

impl FolloweeRow {
    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { followee: row.parsed("sk", "the id of an actor")?, state: ROW.read(row)? })
    }
}

impl Follows {
    /// Writes the row of an edge with the state `in_force`, unless there is a later row.
    pub(super) async fn list_followee(
        &self,
        FollowChange { follower_id, followee_id, .. }: &FollowChange,
        in_force: Register,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let key = keys::followee(follower_id, followee_id);
        let (item, wins) = (attributes(in_force, now), ROW.wins(in_force));
        self.ledger.replace(key, item, &[ROW.on], Some(wins)).await.map(|_| ())
    }

    /// All rows of a viewer, including tombstones.
    pub async fn followee_rows(
        &self,
        follower: &ViewerId,
    ) -> Result<Vec<FolloweeRow>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::following(follower)))],
            ..Query::default()
        };
        let rows = self.ledger.table().all(query).await?;
        rows.iter().map(FolloweeRow::read).collect()
    }

    /// At most `most` rows of a viewer, including tombstones, from an actor on if one is given.
    pub async fn followee_page(
        &self,
        follower: &ViewerId,
        from: Option<&ActorId>,
        most: usize,
    ) -> Result<Vec<FolloweeRow>, DynamoError> {
        let mut query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::following(follower)))],
            ..Query::default()
        };
        if let Some(from) = from {
            query.keys = Some("pk = :pk AND sk >= :from");
            query.values.push((":from", text(from.as_str())));
        }
        let mut rows = Vec::new();
        loop {
            query.limit = i32::try_from(most - rows.len()).ok();
            let page = self.ledger.table().page(&query).await?;
            for row in &page.rows {
                rows.push(FolloweeRow::read(row)?);
            }
            query.start = page.next;
            if query.start.is_none() || rows.len() >= most {
                return Ok(rows);
            }
        }
    }

    /// Makes the row of an edge agree with the edge.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub async fn repair_followee(
        &self,
        follower: &ViewerId,
        followee: &ActorId,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let key = || keys::followee(follower, followee);
        loop {
            // The order matters: see above.
            let row = self.ledger.get(key()).await?;
            let row = row.as_ref().map(|row| ROW.read(row)).transpose()?;
            let edge = self.state(follower, followee).await?;
            // Without an edge, the row was never right.
            let said = edge.or(row.map(|row| Register { on: false, ..row }));
            let Some(said) = said.filter(|said| row.as_ref() != Some(said)) else {
                return Ok(());
            };
            let seen = ROW.unchanged(row);
            let item = attributes(said, now);
            let put = self.ledger.replace(key(), item, &[ROW.on], Some(seen)).await?;
            if put == Put::Done {
                return Ok(());
            }
        }
    }
}

fn attributes(state: Register, now: Timestamp) -> Item {
    if state.on { ROW.write(state) } else { ROW.tombstone(state.changed_at, now) }
}
