//! Where activities are in the ledger.

use super::{ActivityKey, changes};
use crate::ledger::{LedgerKey, PERSON};
use crate::values::{ActivityId, ActorId, Kind};

const ACTIVITY: &str = "activity#";
const OUTBOX: &str = "outbox#";
const CLAIM: &str = "claim";
const ACTOR: &str = "actor#";

/// An item of this feature, as its key says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivityItem {
    /// Whose an activity id is.
    Claim(ActivityId),
    /// An activity record.
    Record(ActivityKey),
    /// An actor published something.
    OutboxRow(ActorId),
    /// A copy of the change log.
    Changes,
}

/// What the item with a key is, if it is one of this feature's.
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

/// Where it is recorded whose an activity id is.
#[must_use]
pub fn claim(activity: &ActivityId) -> LedgerKey {
    LedgerKey { pk: format!("{ACTIVITY}{activity}"), sk: CLAIM.to_owned() }
}

/// Where an activity record is.
#[must_use]
pub fn record(key: &ActivityKey) -> LedgerKey {
    LedgerKey { pk: format!("{ACTIVITY}{}", key.activity_id), sk: record_sort_key(&key.actor_id) }
}

/// The sort key of every record of what an actor says of an activity.
#[must_use]
pub fn record_sort_key(actor: &ActorId) -> String {
    format!("{ACTOR}{actor}")
}

/// The partition that lists what an actor published, by sort key.
#[must_use]
pub fn outbox(actor: &ActorId) -> String {
    format!("{OUTBOX}{actor}")
}

/// The partition that lists what an actor published of a kind, by sort key.
#[must_use]
pub fn of_kind(actor: &ActorId, kind: &Kind) -> String {
    format!("{PERSON}{actor}#kind#{kind}")
}
