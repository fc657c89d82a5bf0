//! The keys of activities in the ledger.

use super::{ActivityKey, changes};
use crate::ledger::{LedgerKey, PERSON};
use crate::values::{ActivityId, ActorId, Kind};

const ACTIVITY: &str = "activity#";
const OUTBOX: &str = "outbox#";
const CLAIM: &str = "claim";
const ACTOR: &str = "actor#";

/// What an item of this feature is, by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivityItem {
    Claim(ActivityId),
    Record(ActivityKey),
    OutboxRow(ActorId),
    Changes,
}

/// Parses the key of an item; `None` if it is not one of this feature's.
#[must_use]
pub fn of_key(pk: &str, sk: &str) -> Option<ActivityItem> {
    if changes::is_copy(pk) {
        return Some(ActivityItem::Changes);
    }
    if let Some(actor) = pk.strip_prefix(OUTBOX) {
        return ActorId::new(actor).ok().map(ActivityItem::OutboxRow);
    }
    let activity_id = ActivityId::new(pk.strip_prefix(ACTIVITY)?).ok()?;
    if sk == CLAIM {
        return Some(ActivityItem::Claim(activity_id));
    }
    let actor_id = ActorId::new(sk.strip_prefix(ACTOR)?).ok()?;
    Some(ActivityItem::Record(ActivityKey { activity_id, actor_id }))
}

/// The key of the claim of an activity id.
#[must_use]
pub fn claim(activity: &ActivityId) -> LedgerKey {
    LedgerKey { pk: format!("{ACTIVITY}{activity}"), sk: CLAIM.to_owned() }
}

/// The key of an activity record.
#[must_use]
pub fn record(key: &ActivityKey) -> LedgerKey {
    LedgerKey { pk: format!("{ACTIVITY}{}", key.activity_id), sk: record_sort_key(&key.actor_id) }
}

/// The sort key of the record of an activity of one actor.
#[must_use]
pub fn record_sort_key(actor: &ActorId) -> String {
    format!("{ACTOR}{actor}")
}

/// The partition of the outbox of an actor, by sort key.
#[must_use]
pub fn outbox(actor: &ActorId) -> String {
    format!("{OUTBOX}{actor}")
}

/// The partition of the list of an actor by kind, by sort key.
#[must_use]
pub fn of_kind(actor: &ActorId, kind: &Kind) -> String {
    format!("{PERSON}{actor}#kind#{kind}")
}
