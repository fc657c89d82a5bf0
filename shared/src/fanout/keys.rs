//! Where it is noted in the ledger how far something long has come.
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
/// How the partition keys begin that say how far follows and unfollows have come.
pub const RECONCILIATION: &str = "settle#";

/// An item of this feature, as its key says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgressItem {
    /// How far a fan-out of an activity has come, or a segment of it.
    FanOut(ActivityKey),
    /// How far a follow or unfollow has come in the viewer's timeline.
    Reconciliation(ViewerId, ActorId),
}

/// What the item with a key is, if it is one of this feature's.
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

/// The partition that says how far the fan-outs of an activity have come.
#[must_use]
pub fn fan_outs(activity: &ActivityId) -> String {
    format!("{FAN_OUT}{activity}")
}

/// How the sort keys begin of all that is about what an actor says of an activity.
#[must_use]
pub fn of_actor(actor: &ActorId) -> String {
    format!("actor#{actor}#")
}

/// Where the plan of a fan-out is. The sort keys of its segments begin with the plan's.
#[must_use]
pub fn plan(key: &ActivityKey, kind: FanOutKind) -> LedgerKey {
    let sk = format!("{}{}", of_actor(&key.actor_id), kind.name());
    LedgerKey { pk: fan_outs(&key.activity_id), sk }
}

/// Where the progress of a segment is, or of its recheck.
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

/// Where it is noted how far the command of one message has come with one actor's activities in
/// one viewer's timeline.
#[must_use]
pub fn reconciliation(viewer: &ViewerId, actor: &ActorId, origin: &Origin) -> LedgerKey {
    LedgerKey { pk: format!("{RECONCILIATION}{viewer}#{actor}"), sk: origin.to_string() }
}
