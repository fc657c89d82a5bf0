//! The keys of the ledger under which the progress of long work is noted.
//!
//! ```text
//! fanout#<activity>        actor#<actor>#<kind>             the plan: into how many segments the fan-out was cut,
//!                                                           and when; when the last of them was done
//!                          actor#<actor>#<kind>#<range>     a segment: the position it has reached, or that it is done
//!                          actor#<actor>#recheck#<kind>#<range>#<message>
//!                                                           how far the recheck after a crash has come
//! settle#<viewer>#<actor>  <message>                        how far a long follow or unfollow has come
//! ```

use super::progress::{FanOutKind, Pass};
use crate::activities::ActivityKey;
use crate::follows::FollowerRange;
use crate::ledger::LedgerKey;
use crate::values::{ActivityId, ActorId, Origin, ViewerId};

const FAN_OUT: &str = "fanout#";
/// The prefix of the partition keys of follows and unfollows in progress.
pub const RECONCILIATION: &str = "settle#";

/// What an item of this feature is, by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgressItem {
    /// The progress of a fan-out of an activity, or of a segment of it.
    FanOut(ActivityKey),
    /// The progress of a follow or unfollow in the viewer's timeline.
    Reconciliation(ViewerId, ActorId),
}

/// Parses the key of an item; `None` if it is not one of this feature's.
#[must_use]
pub fn of_key(pk: &str, sk: &str) -> Option<ProgressItem> {
    if let Some(pair) = pk.strip_prefix(RECONCILIATION) {
        let (viewer, actor) = pair.split_once('#')?;
        let (viewer, actor) = (ViewerId::new(viewer).ok()?, ActorId::new(actor).ok()?);
        return Some(ProgressItem::Reconciliation(viewer, actor));
    }
    let activity_id = ActivityId::new(pk.strip_prefix(FAN_OUT)?).ok()?;
    // `actor#<actor>#<kind>#…`
    let actor_id = ActorId::new(sk.strip_prefix("actor#")?.split('#').next()?).ok()?;
    Some(ProgressItem::FanOut(ActivityKey { activity_id, actor_id }))
}

/// The partition with the progress of the fan-outs of an activity.
#[must_use]
pub fn fan_outs(activity: &ActivityId) -> String {
    format!("{FAN_OUT}{activity}")
}

/// The prefix of the sort keys of everything about one actor in such a partition.
#[must_use]
pub fn of_actor(actor: &ActorId) -> String {
    format!("actor#{actor}#")
}

/// The key of the plan of a fan-out. The sort keys of its segments begin with the plan's.
#[must_use]
pub fn plan(key: &ActivityKey, kind: FanOutKind) -> LedgerKey {
    let sk = format!("{}{}", of_actor(&key.actor_id), kind.name());
    LedgerKey { pk: fan_outs(&key.activity_id), sk }
}

/// The key of the progress of a segment, or of its recheck.
#[must_use]
pub fn segment(
    key: &ActivityKey,
    kind: FanOutKind,
    range: FollowerRange,
    pass: Pass<'_>,
) -> LedgerKey {
    let (pk, actor, kind) = (fan_outs(&key.activity_id), of_actor(&key.actor_id), kind.name());
    let sk = match pass {
        Pass::Main => format!("{actor}{kind}#{range}"),
        Pass::Recheck { origin } => format!("{actor}recheck#{kind}#{range}#{origin}"),
    };
    LedgerKey { pk, sk }
}

/// The key of the progress of one message's command with one actor's activities in one viewer's timeline.
#[must_use]
pub fn reconciliation(viewer: &ViewerId, actor: &ActorId, origin: &Origin) -> LedgerKey {
    LedgerKey { pk: format!("{RECONCILIATION}{viewer}#{actor}"), sk: origin.to_string() }
}
