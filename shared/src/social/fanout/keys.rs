//! The keys of the ledger under which the progress of long work is noted.
//!
//! ```text
//! fanout#<activity>        actor#<actor>#<kind>             the plan: into how many segments the fan-out was cut,
//!                                                           and when; when the last of them was done
//!                          actor#<actor>#<kind>#<range>     a segment: the position it has reached, or that it is done
//!                          actor#<actor>#recheck#<kind>#<range>#<message>
//!                                                           how far the recheck after a crash has come
//! ```

use crate::platform::dynamo::keys;
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{ActivityId, ActorId, Origin, ViewerId};
use crate::social::activities::ActivityKey;
use crate::social::follows::FollowerRange;

/// The prefix of the partition keys of follows and unfollows in progress.
pub const RECONCILIATION: &str = "settle#";

/// What a fan-out does to timelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FanOutKind {
    /// Puts entries there.
    Insert,
    Remove,
}

/// What progress is noted of: a segment, or the recheck of a segment for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass<'a> {
    Main,
    /// Looks for what crashed deliveries may have left.
    Recheck {
        /// The id of the message that was delivered again.
        origin: &'a Origin,
    },
}

impl FanOutKind {
    fn name(self) -> &'static str {
        match self {
            Self::Insert => "spread",
            Self::Remove => "erase",
        }
    }
}

/// What an item of this feature is, by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgressItem {
    /// The progress of a fan-out of an activity, or of a segment of it.
    FanOut(ActivityKey),
    /// The progress of a follow or unfollow in the viewer's timeline.
    Reconciliation(ViewerId, ActorId),
}

keys! {
    /// Parses the key of an item; `None` if it is not one of this feature's.
    pub fn of_key -> ProgressItem;
    partitions {
        /// The progress of the fan-outs of an activity.
        pub fan_outs(activity_id: ActivityId) = "fanout#{activity_id}";
        settling(viewer: ViewerId, actor: ActorId) = "settle#{viewer}#{actor}";
    }
    items {
        /// How far one message's command with one actor's activities has come in one viewer's timeline.
        pub reconciliation(viewer: ViewerId, actor: ActorId, origin: Origin) = settling(viewer, actor), "{origin}" in Ledger as "reconciliation" {
            says: "how far {viewer}'s follow or unfollow of {actor} has come",
            most: 1_024, grows: "nothing: one for each message that follows or unfollows many activities; gone when it is done",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Gone,
        }
            => ProgressItem::Reconciliation(viewer, actor);
        fan_out(activity_id: ActivityId, actor_id: ActorId, rest: String)
            = fan_outs(activity_id), "actor#{actor_id}#{rest}" in Ledger as "fan-out" {
            says: "how far the fan-out of {activity_id} has come",
            most: 2_048, grows: "nothing: a plan, and an item for each segment (64 at most) and for each recheck of one after a crash; all expire after 19 days",
            at_bound: "cannot be exceeded",
            test: "`split::`, the model test",
            later: Kept, erased: Tombstone,
        }
            => ProgressItem::FanOut(ActivityKey { activity_id, actor_id });
    }
}

/// The prefix of the sort keys of everything about one actor in such a partition.
pub fn of_actor(actor: &ActorId) -> String {
    format!("actor#{actor}#")
}

/// The key of the plan of a fan-out. The sort keys of its segments begin with the plan's.
pub fn plan(key: &ActivityKey, kind: FanOutKind) -> LedgerKey {
    let sk = format!("{}{}", of_actor(&key.actor_id), kind.name());
    LedgerKey { pk: fan_outs(&key.activity_id), sk }
}

/// The key of the progress of a segment, or of its recheck.
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
