//! Marks: an item that names a person becomes a tombstone, marked with the time at which it expires.
//!
//! An edge, a claim, an activity record or an outbox row is not simply removed. A command that is still in flight, or is delivered
//! twice, would put it there again, and a fan-out or a backfill that is running takes its second check at exactly these items. So
//! they become what an unfollow or a delete makes of them anyway: an edge that is not followed, or a tombstone without content. They
//! stay so until no command can be in flight any more. Then the ledger's TTL on [`FORGET_AT`] removes them. A command that states a
//! new fact writes the item without the mark, so the item stays. An item about one person alone ([`shared::platform::ledger::PERSON`]) loses
//! all but its key and the instant of its last change, which is enough to keep an earlier change from winning.

use shared::platform::dynamo::item::{Row, number, text, truth};
use shared::platform::dynamo::{Condition, Query, Update};
use shared::platform::ledger::{FORGET_AT, Ledger, LedgerKey};
use shared::platform::paging::seen_sets;
use shared::platform::register::Register;
use shared::platform::values::{ActivityId, ActorId, SortKey, ViewerId};
use shared::social::activities::{ActivityKey, keys as activities};
use shared::social::fanout::keys as fanout;
use shared::social::follows::{EDGE, keys as follows};
use shared::social::rooms::{MessageKey, keys as rooms};

use crate::Result;
use crate::scan::partition;

/// A tombstone: what is left of something that is over, without content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tombstone {
    Edge(ViewerId, ActorId),
    /// The record of an activity that was deleted.
    Record(ActivityKey),
    /// The claim on the id of an activity that was deleted.
    Claim(ActivityKey),
    /// The row of such an activity in the outbox of its actor, marked as deleted.
    OutboxRow(ActorId, SortKey),
    /// The claim on the id of a message that was deleted.
    MessageClaim(MessageKey),
    MessageMarker(MessageKey),
}

impl Tombstone {
    fn key(&self) -> LedgerKey {
        match self {
            Self::Edge(follower, followee) => follows::edge(follower, followee),
            Self::Record(key) => activities::record(key),
            Self::Claim(key) => activities::claim(&key.activity_id),
            Self::OutboxRow(actor, sort_key) => activities::outbox_row(actor, sort_key),
            Self::MessageClaim(key) => rooms::claim(&key.room_id, &key.message_id),
            Self::MessageMarker(key) => rooms::marker(key),
        }
    }
}

/// A change that marks an item with the second at which it expires, `:until` under `#forget`.
pub(crate) fn marking<'a>(expression: &'a str, condition: &'a str, until: i64) -> Update<'a> {
    Update {
        expression,
        condition: Some(condition),
        names: vec![("#forget", FORGET_AT)],
        values: vec![(":until", number(until))],
    }
}

/// Marks tombstones in a ledger, and finds what is not marked.
#[derive(Debug, Clone)]
pub struct Marks(pub Ledger);

impl Marks {
    /// Marks a tombstone with the second at which it expires, unless it is marked already. Returns false if there is no tombstone:
    /// either there is no item, or the item is in force.
    /// If it fails, it may be marked.
    pub async fn mark_expired(&self, tombstone: &Tombstone, forget_at: i64) -> Result<bool> {
        let (key, table) = (tombstone.key().into_item(), self.0.table());
        let (condition, value) = match tombstone {
            Tombstone::Edge(..) => ("following = :over", truth(false)),
            Tombstone::Record(_) | Tombstone::OutboxRow(..) => ("deleted = :over", truth(true)),
            Tombstone::Claim(key) => ("actor_id = :over", text(key.actor_id.as_str())),
            Tombstone::MessageClaim(key) | Tombstone::MessageMarker(key) => {
                ("author_id = :over", text(key.author_id.as_str()))
            }
        };
        let expression = match tombstone {
            // What tells one payload from another says something of it.
            Tombstone::MessageClaim(_) => {
                "SET #forget = if_not_exists(#forget, :until) REMOVE digest"
            }
            _ => "SET #forget = if_not_exists(#forget, :until)",
        };
        let mut update = marking(expression, condition, forget_at);
        update.values.push((":over", value));
        Ok(table.update(key, update).await?.is_some())
    }

    /// The activities of an actor that are not marked.
    pub async fn live_activities(&self, actor: &ActorId) -> Result<Vec<SortKey>> {
        let rows = self.live(&activities::outbox(actor)).await?;
        rows.iter().map(sort_key).collect()
    }

    /// The ids of all that an actor published, marked or not.
    pub async fn all_activities(&self, actor: &ActorId) -> Result<Vec<ActivityId>> {
        let query = Query { projection: Some("pk, sk"), ..partition(activities::outbox(actor)) };
        let rows = self.0.table().all(query).await?;
        rows.iter().map(|row| Ok(sort_key(row)?.activity_id)).collect()
    }

    /// The viewers who follow an actor, or did, by edges that are not marked.
    pub async fn live_followers(&self, followee: &ActorId) -> Result<Vec<ViewerId>> {
        let rows = self.live(&follows::followers(followee)).await?;
        let follower = |row: &Row<'_>| {
            follows::follower_of(row.text("sk")?).ok_or_else(|| row.corrupt("sk", "an edge"))
        };
        rows.iter().map(follower).collect()
    }

    /// Reads the keys of all items of a partition that are not marked.
    async fn live(&self, pk: &str) -> Result<Vec<Row<'_>>> {
        let query = Query {
            filter: Some("attribute_not_exists(#at)"),
            projection: Some("pk, sk"),
            names: vec![("#at", FORGET_AT)],
            ..partition(pk)
        };
        self.0.table().all(query).await
    }

    /// The value of an edge, if it exists and is not marked.
    pub async fn live_edge(
        &self,
        follower: &ViewerId,
        followee: &ActorId,
    ) -> Result<Option<Register>> {
        let row = self.0.get(follows::edge(follower, followee)).await?;
        row.filter(|row| !row.item.contains_key(FORGET_AT))
            .as_ref()
            .map(|row| EDGE.read(row))
            .transpose()
    }

    /// Removes the progress of an activity's fan-outs, which expires anyway. A segment that is still in
    /// flight begins again, and finds that the activity was deleted.
    /// If it fails, some of it may be removed.
    pub async fn remove_progress(&self, key: &ActivityKey) -> Result<()> {
        let ours = fanout::of_actor(&key.actor_id);
        let query =
            Query { projection: Some("pk, sk"), ..partition(fanout::fan_outs(&key.activity_id)) };
        for row in self.0.table().all(query).await? {
            if row.text("sk")?.starts_with(&ours) {
                self.0.delete(LedgerKey::of(&row)?).await?;
            }
        }
        Ok(())
    }

    /// Removes the sets of what the person's clients were shown. They expire anyway, and no command brings them back. Returns their
    /// number.
    /// If it fails, some of it may be removed.
    pub async fn remove_seen(&self, viewer: &ViewerId) -> Result<usize> {
        let query = Query { projection: Some("pk, sk"), ..partition(seen_sets(viewer)) };
        let rows = self.0.table().all(query).await?;
        for row in &rows {
            self.0.delete(LedgerKey::of(row)?).await?;
        }
        Ok(rows.len())
    }

    /// Empties an item about one person, and marks it with the second at which it expires. Returns false, and leaves the item alone, if
    /// it has changed since it was read.
    /// If it fails, it may be emptied.
    pub async fn empty(&self, key: &LedgerKey, at: &str, forget_at: i64) -> Result<bool> {
        let empty = [("at".to_owned(), text(at)), (FORGET_AT.to_owned(), number(forget_at))];
        let seen = Condition::new("#at = :at").name("#at", "at").value(":at", text(at));
        let put = self.0.put_if(key.clone(), empty, seen).await?;
        Ok(put == shared::platform::dynamo::Put::Done)
    }
}

fn sort_key(row: &Row<'_>) -> Result<SortKey> {
    row.parsed("sk", "a sort key")
}
