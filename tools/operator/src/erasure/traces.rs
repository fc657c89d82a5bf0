//! Finds the items that name a person in the ledger and are listed nowhere, by a scan of the whole ledger.

use std::pin::pin;

use futures::TryStreamExt;
use shared::ledger_item::LedgerItem;
use shared::platform::dynamo::item::{Row, text};
use shared::platform::dynamo::{Condition, Query};
use shared::platform::ledger::{FORGET_AT, LedgerKey, PERSON};
use shared::platform::values::{ActivityId, ActorId, ViewerId};
use shared::social::activities::ActivityItem;
use shared::social::activities::keys::record_sort_key;
use shared::social::fanout::ProgressItem;
use shared::social::fanout::keys::{RECONCILIATION, of_actor};
use shared::social::follows::keys::{follower_of, of_followee};
use shared::social::follows::{Follows, marks_of};
use shared::social::rooms::{MessageKey, RoomItem};
use shared::social::tags::TagItem;

use super::marks::Marks;
use crate::Result;

/// Something that names a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    /// An activity of theirs, in a claim or a record that is not marked, or in the progress of its fan-out.
    Activity(ActivityId),
    /// A tag of the person in somebody's activity.
    Tag(ActivityId),
    /// The progress of somebody's fan-out whose position is the person's edge.
    Position {
        /// The key of the progress record.
        key: LedgerKey,
        /// The edge's sort key.
        position: String,
    },
    /// The progress of a follow or unfollow, by them or of them.
    Reconciliation(LedgerKey),
    /// The note that hides them from a viewer who has unfollowed them.
    Hidden {
        viewer: ViewerId,
        /// Their own id.
        actor: ActorId,
    },
    /// An activity of theirs among what somebody is tagged in.
    Listing {
        key: LedgerKey,
        /// When it was last changed, as stored.
        at: String,
        activity: ActivityId,
    },
    /// A message of theirs, in a claim, a row, or the marker of a delete.
    Message(MessageKey),
    /// An item about them alone, or the row that says that somebody follows them.
    Person {
        key: LedgerKey,
        /// When it was last changed, as stored.
        at: String,
    },
}

impl Marks {
    /// Scans the whole ledger for what names a person: activities in their name, including those that were never published or whose
    /// publish died half-way, progress records, and items about them alone. Edges and outbox rows are listed by their own partitions.
    /// An unfollow deletes the row that repeats its edge; a row that a follow has left meanwhile is found here. `deadline` makes the
    /// deadline of each step, and `read` is called with the number of items that each step has read.
    pub async fn traces(&self, person: &ActorId, mut read: impl FnMut(u64)) -> Result<Vec<Trace>> {
        let [left, joining] = marks_of(person);
        let query = Query {
            eventual: true,
            filter: Some(
                "begins_with(sk, :progress) OR contains(place, :person) \
                 OR attribute_not_exists(#forget) AND (sk = :record \
                 OR actor_id = :person OR author_id = :person OR begins_with(pk, :settle) \
                 OR begins_with(pk, :about) OR sk = :person OR attribute_exists(#left) \
                 OR attribute_exists(#joining))",
            ),
            projection: Some("pk, sk, place, #at"),
            names: vec![
                ("#forget", FORGET_AT),
                ("#at", "at"),
                ("#left", &left),
                ("#joining", &joining),
            ],
            values: vec![
                (":record", text(record_sort_key(person))),
                (":progress", text(of_actor(person))),
                (":person", text(person.as_str())),
                (":settle", text(RECONCILIATION)),
                (":about", text(format!("{PERSON}{person}#"))),
            ],
            ..Query::default()
        };
        let mut found = Vec::new();
        let mut pages = pin!(self.0.table().pages(query));
        while let Some(page) = pages.try_next().await? {
            read(page.scanned);
            for row in &page.rows {
                found.extend(trace(person, row)?);
            }
        }
        found.dedup();
        Ok(found)
    }

    /// Removes progress that names the person, unless it has advanced since it was read: work in flight begins again, and has the same
    /// result. Empties an item about the person alone, which then expires at the second `forget_at`.
    /// If it fails, it may be removed.
    pub async fn remove(&self, trace: &Trace, forget_at: i64) -> Result<()> {
        match trace {
            Trace::Activity(_) | Trace::Tag(_) | Trace::Message(_) => Ok(()),
            Trace::Reconciliation(key) => self.0.delete(key.clone()).await,
            Trace::Position { key, position } => {
                let seen = Condition::new("place = :seen").value(":seen", text(position));
                let key = key.clone().into_item();
                self.0.table().delete(key, Some(seen)).await.map(|_| ())
            }
            // All that they published is deleted, which hides it.
            Trace::Hidden { viewer, actor } => {
                Follows::new(&self.0).forget_hidden(viewer, actor).await
            }
            Trace::Person { key, at } | Trace::Listing { key, at, .. } => {
                self.empty_whatever_it_says(key, at, forget_at).await
            }
        }
    }

    /// Empties an item. If somebody changes it at this moment, empties it as it is then.
    async fn empty_whatever_it_says(
        &self,
        key: &LedgerKey,
        at: &str,
        forget_at: i64,
    ) -> Result<()> {
        let mut at = at.to_owned();
        while !self.empty(key, &at, forget_at).await? {
            let row = self.0.get(key.clone()).await?;
            let Some(row) = row.filter(|row| !row.item.contains_key(FORGET_AT)) else { break };
            row.text("at")?.clone_into(&mut at);
        }
        Ok(())
    }
}

/// The message that an item of a room is about, if this person is its author.
fn message_of(person: &ActorId, item: RoomItem) -> Option<Trace> {
    let (room_id, message_id) = match item {
        RoomItem::Room(_) | RoomItem::Arrivals(_) => return None,
        RoomItem::Marker(key) | RoomItem::AuthorRow(key) => return Some(Trace::Message(key)),
        RoomItem::Claim(room, message) | RoomItem::Row(room, message) => (room, message),
    };
    let author_id = ViewerId::new(person.as_str()).ok()?;
    Some(Trace::Message(MessageKey { room_id, message_id, author_id }))
}

/// Checks an item that the scan has found: `ann` is in the position of `anna` too.
fn trace(person: &ActorId, row: &Row<'_>) -> Result<Option<Trace>> {
    let key = LedgerKey::of(row)?;
    let viewer = |viewer: &ViewerId| viewer.as_str() == person.as_str();
    let item = LedgerItem::of(&key.pk, &key.sk);
    Ok(match item.ok_or_else(|| row.corrupt("pk", "a key of the ledger"))? {
        LedgerItem::Activity(ActivityItem::Claim(activity)) => Some(Trace::Activity(activity)),
        LedgerItem::Activity(ActivityItem::Record(of)) => Some(Trace::Activity(of.activity_id)),
        LedgerItem::Progress(ProgressItem::FanOut(of)) if of.actor_id == *person => {
            Some(Trace::Activity(of.activity_id))
        }
        LedgerItem::Progress(ProgressItem::FanOut(_)) => {
            let position = row.optional_text("place")?.map(ToOwned::to_owned);
            let position = position.filter(|p| follower_of(p).as_ref().is_some_and(viewer));
            position.map(|position| Trace::Position { key, position })
        }
        LedgerItem::Progress(ProgressItem::Reconciliation(follower, followee)) => {
            let theirs = viewer(&follower) || followee == *person;
            theirs.then_some(Trace::Reconciliation(key))
        }
        LedgerItem::Tag(TagItem::Tag(activity, tagged)) => {
            viewer(&tagged).then_some(Trace::Tag(activity))
        }
        LedgerItem::Tag(TagItem::Progress(_)) => {
            let position =
                row.optional_text("place")?.filter(|position| *position == person.as_str());
            position.map(|position| Trace::Position { key, position: position.to_owned() })
        }
        LedgerItem::Person(of) | LedgerItem::Tag(TagItem::Listing(of, _))
            if viewer(&of) || follows(&key, person) =>
        {
            Some(Trace::Person { key, at: row.text("at")?.to_owned() })
        }
        LedgerItem::Tag(TagItem::Listing(_, sort_key)) => {
            let (at, activity) = (row.text("at")?.to_owned(), sort_key.activity_id);
            Some(Trace::Listing { key, at, activity })
        }
        LedgerItem::Person(viewer) => Some(Trace::Hidden { viewer, actor: person.clone() }),
        LedgerItem::Room(of) => message_of(person, of),
        LedgerItem::Activity(ActivityItem::Changes)
        | LedgerItem::Tenant(_)
        | LedgerItem::OfNobody => None,
        // Listed by the person's own partitions and by the index.
        LedgerItem::Activity(ActivityItem::OutboxRow(_)) | LedgerItem::Edge(..) => None,
    })
}

/// True for the row that says that somebody follows a person.
fn follows(key: &LedgerKey, person: &ActorId) -> bool {
    of_followee(&key.pk, &key.sk).is_some_and(|(_, followee)| followee == *person)
}
