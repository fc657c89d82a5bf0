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
        pub claim(activity_id: ActivityId) = activity(activity_id), "claim"
            => ActivityItem::Claim(activity_id);
        record_of(activity_id: ActivityId, actor_id: ActorId) = activity(activity_id), "actor#{actor_id}"
            => ActivityItem::Record(ActivityKey { activity_id, actor_id });
        /// The row that says that an actor has published this.
        pub outbox_row(actor: ActorId, sort_key: SortKey) = outbox(actor), "{sort_key}"
            => ActivityItem::OutboxRow(actor);
        /// The same, in the list of its kind.
        pub row_of_kind(actor: ActorId, kind: Kind, sort_key: SortKey) = of_kind(actor, kind), "{sort_key}";
        /// A copy of the [change log](super::changes).
        pub copy(number: usize) = changes(number), "changes" => ActivityItem::Changes;
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
