//! Activities, and viewers who follow few or many of their actors: made by rule, so that a relational
//! database can be given the very same (`tests/bench/reading.py` does).

use serde_json::{Value, json};
use shared::activities::{ActivityKey, keys};
use shared::values::{ActivityId, ActorId, SortKey, Timestamp, ViewerId};

use super::super::Failure;

/// Who publish.
const ACTORS: u64 = 50_000;
/// The time over which they do.
const DAYS: i64 = 25;
const DAY_MILLIS: i64 = 86_400_000;

/// N activities, at even distances up to now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dataset {
    pub(super) activities: u64,
    pub(super) now: Timestamp,
}

/// A number of follows that a viewer can have.
pub(super) fn many_follows(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=ACTORS).contains(number));
    number.ok_or_else(|| format!("expected numbers of follows from 1 to {ACTORS}"))
}

/// A number of activities.
pub(super) fn many_activities(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=10_000_000).contains(number));
    number.ok_or_else(|| "expected a number of activities from 1 to 10000000".to_owned())
}

/// One of them.
#[derive(Debug)]
pub(super) struct Activity {
    /// The number of its actor.
    pub(super) actor: u64,
    pub(super) actor_id: ActorId,
    pub(super) sort_key: SortKey,
}

impl Dataset {
    /// The n-th, counted from the oldest.
    pub(super) fn activity(&self, n: u64) -> Result<Activity, Failure> {
        let wrong = |e: shared::values::IdError| Failure::Usage(e.to_string());
        let actor = mixed(n) % ACTORS;
        let age = (self.activities - n) as i64 * DAYS * DAY_MILLIS / self.activities as i64;
        let published_at = self.now.plus_millis(-age);
        let activity_id = ActivityId::new(format!("activity-{n:07}")).map_err(wrong)?;
        let sort_key = SortKey { published_at, activity_id };
        Ok(Activity { actor, actor_id: actor_id(actor)?, sort_key })
    }
}

/// The viewer who follows the first so many actors.
pub(super) fn viewer(follows: u64) -> Result<ViewerId, Failure> {
    ViewerId::new(format!("viewer-{follows}")).map_err(|e| Failure::Usage(e.to_string()))
}

/// The n-th actor.
pub(super) fn actor_id(n: u64) -> Result<ActorId, Failure> {
    ActorId::new(format!("actor-{n:05}")).map_err(|e| Failure::Usage(e.to_string()))
}

impl Activity {
    /// Its entry in a viewer's timeline, as the writer puts it there.
    pub(super) fn entry(&self, viewer: &ViewerId, expires_at: i64) -> Value {
        json!({
            "viewer_id": {"S": viewer.as_str()},
            "sort_key": {"S": self.sort_key.to_string()},
            "actor_id": {"S": self.actor_id.as_str()},
            "expires_at": {"N": expires_at.to_string()},
        })
    }

    /// Its record in the ledger, as the writer merges it.
    pub(super) fn record(&self) -> Value {
        let activity_id = self.sort_key.activity_id.clone();
        let key = ActivityKey { activity_id, actor_id: self.actor_id.clone() };
        let title = format!("What {} is about", self.sort_key.activity_id);
        let key = keys::record(&key);
        json!({
            "pk": {"S": key.pk},
            "sk": {"S": key.sk},
            "published_at": {"S": self.sort_key.published_at.to_string()},
            "kind": {"S": "live"},
            "payload": {"S": json!({ "title": title }).to_string()},
            "revision": {"N": "1"},
        })
    }
}

/// Numbers in an order that looks like none (the finalizer of SplitMix64).
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
