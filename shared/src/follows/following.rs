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
//!    [`TOMBSTONE_KEPT`] after it was written. A later delivery reads the edge, which says unfollowed, and leaves a tombstone again.
//! 4. The rest of an erased row is a tombstone, too.
//!
//! A transaction for both would cost four units instead of two, and follows of the same viewer or actor would refuse each other. The
//! row is only behind its edge for a few milliseconds before the command is acknowledged.
//!
//! Edges from before there were rows have none. `nagare audit --viewer V --repair` compares the two and writes missing rows. It only
//! replaces the row that it has read, by an edge that it has read afterwards. If that edge changes meanwhile, the change writes the
//! row with a later instant.

use std::time::Duration;

use super::{FollowChange, FollowState, Follows, keys};
use crate::dynamo::item::{Item, Row, number, text, truth};
use crate::dynamo::{Condition, DynamoError, Put, Query};
use crate::ledger::FORGET_AT;
use crate::values::{ActorId, Timestamp, ViewerId};

/// The attribute that the row of an unfollow does not have.
const FOLLOWING: &str = "following";

/// How long a tombstone is kept at least: far longer than an invocation, and than clocks differ.
pub const TOMBSTONE_KEPT: Duration = Duration::from_secs(3 * 86_400);

/// A row as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolloweeRow {
    pub followee: ActorId,
    /// Its state. An erased row counts as an unfollow.
    pub state: FollowState,
}

impl FolloweeRow {
    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { followee: row.parsed("sk", "the id of an actor")?, state: read_state(row)? })
    }
}

impl Follows {
    /// Writes the row of an edge with the state `in_force`, unless there is a later row.
    pub(super) async fn list_followee(
        &self,
        FollowChange { follower_id, followee_id, .. }: &FollowChange,
        in_force: FollowState,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let later = match in_force.following {
            true => "attribute_not_exists(#at) OR #at < :at",
            false => {
                "attribute_not_exists(#at) OR #at < :at \
                 OR (#at = :at AND attribute_exists(following))"
            }
        };
        let at = text(in_force.changed_at.to_string());
        let later = Condition::new(later).name("#at", "at").value(":at", at);
        let key = keys::followee(follower_id, followee_id);
        let item = attributes(in_force, now);
        self.ledger.replace(key, item, &[FOLLOWING], Some(later)).await.map(|_| ())
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
            let row = row.as_ref().map(read_state).transpose()?;
            let edge = self.state(follower, followee).await?;
            // Without an edge, the row was never right.
            let said = edge.or(row.map(|row| FollowState { following: false, ..row }));
            let Some(said) = said.filter(|said| row.as_ref() != Some(said)) else {
                return Ok(());
            };
            let seen = match row {
                None => Condition::new("attribute_not_exists(#at)"),
                Some(FollowState { following, changed_at }) => {
                    let seen = match following {
                        true => "#at = :seen AND attribute_exists(following)",
                        false => "#at = :seen AND attribute_not_exists(following)",
                    };
                    Condition::new(seen).value(":seen", text(changed_at.to_string()))
                }
            };
            let seen = seen.name("#at", "at");
            let item = attributes(said, now);
            let put = self.ledger.replace(key(), item, &[FOLLOWING], Some(seen)).await?;
            if put == Put::Done {
                return Ok(());
            }
        }
    }
}

fn attributes(state: FollowState, now: Timestamp) -> Item {
    let at = ("at".to_owned(), text(state.changed_at.to_string()));
    let rest = match state.following {
        true => (FOLLOWING.to_owned(), truth(true)),
        false => {
            let kept = i64::try_from(TOMBSTONE_KEPT.as_secs()).unwrap_or(i64::MAX);
            (FORGET_AT.to_owned(), number(now.unix_millis() / 1000 + kept))
        }
    };
    Item::from([at, rest])
}

fn read_state(row: &Row<'_>) -> Result<FollowState, DynamoError> {
    let following = row.item.contains_key("following");
    Ok(FollowState { following, changed_at: row.parsed("at", "an instant")? })
}
