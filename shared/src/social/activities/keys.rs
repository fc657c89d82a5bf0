//! The keys of activities in the ledger.

use super::ActivityKey;
use crate::platform::dynamo::keys;
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{ActivityId, ActorId, Kind, SortKey};

/// What an item of this feature is, by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivityItem {
    Claim(ActivityId),
    Record(ActivityKey),
    OutboxRow(ActorId),
    Changes,
}

keys! {
    /// Parses the key of an item; `None` if it is not one of this feature's.
    pub fn of_key -> ActivityItem;
    partitions {
        activity(activity_id: ActivityId) = "activity#{activity_id}";
        /// The outbox of an actor, by sort key.
        pub outbox(actor: ActorId) = "outbox#{actor}";
        /// The list of an actor by kind, by sort key.
        pub of_kind(actor: ActorId, kind: Kind) = "person#{actor}#kind#{kind}";
        changes(number: usize) = "changes#{number}";
    }
    items {
        /// The claim of an activity id, which says who owns the activity.
        pub claim(activity_id: ActivityId) = activity(activity_id), "claim" in Ledger as "claim" {
            says: "whose the id {activity_id} is",
            most: 333, grows: "nothing: an actor and an instant",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Tombstone,
        }
            => ActivityItem::Claim(activity_id);
        record_of(activity_id: ActivityId, actor_id: ActorId) = activity(activity_id), "actor#{actor_id}" in Ledger as "record" {
            says: "the record of {activity_id}, an activity of {actor_id}",
            most: 8_724, grows: "nothing: what was published and its latest edit, each with one payload",
            at_bound: "an edit takes the place of the one before",
            test: "the model test, with repeaters",
            later: Kept, erased: Tombstone,
        }
            => ActivityItem::Record(ActivityKey { activity_id, actor_id });
        /// The row that says that an actor has published this.
        pub outbox_row(actor: ActorId, sort_key: SortKey) = outbox(actor), "{sort_key}" in Ledger as "outbox row" {
            says: "{actor} published it: {sort_key}",
            most: 439, grows: "nothing: an activity and a mark",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Tombstone,
        }
            => ActivityItem::OutboxRow(actor);
        /// The same, in the list of its kind.
        pub row_of_kind(actor: ActorId, kind: Kind, sort_key: SortKey) = of_kind(actor, kind), "{sort_key}" in Ledger as "row by kind" {
            says: "{sort_key} among what {actor} published of the kind {kind}",
            most: 356, grows: "nothing: an instant",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: AsOthers, erased: Tombstone,
        };
        /// A copy of the [change log](super::changes).
        pub copy(number: usize) = changes(number), "changes" in Ledger as "changes" {
            says: "digests of activities that were changed a moment ago",
            most: 1_024, grows: "each edit and delete: an append of one process has up to 40 of them and a mark; 90 entries at most",
            at_bound: "the front is cut off, else it begins again with a new epoch and one entry, and readers forget what they have kept",
            test: "`nothing_grows_with_a_burst_of_edits_and_deletes`",
            later: Kept, erased: Gone,
        } => ActivityItem::Changes;
    }
}

/// The key of an activity record.
pub fn record(key: &ActivityKey) -> LedgerKey {
    record_of(&key.activity_id, &key.actor_id)
}

/// The sort key of the record of an activity of one actor.
pub fn record_sort_key(actor: &ActorId) -> String {
    format!("actor#{actor}")
}
