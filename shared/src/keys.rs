//! The one key codec: under which keys the tables hold what they hold.
//!
//! ```text
//! timelines   viewer_id                sort_key                     an entry
//! ledger      activity#<activity>      claim                        whose the activity id is
//!             activity#<activity>      actor#<actor>                the activity record
//!             outbox#<actor>           <sort key>                   the actor published this
//!             followers#<followee>     <hash>#<follower>            an edge
//! ```
//!
//! No id contains `#`, so no id can reach into another's keys.
//!
//! **Why one ledger.** Follows, activities and outboxes are what must not be lost. They are backed
//! up, restored and protected together, or a restore would tear edges from activities. Timelines
//! are a table of their own because they are derived: they expire, they are the hot one, and a lost
//! one can be rebuilt. Dead letters are a third because they are raw input, kept for operators, and
//! the function that stores them has no business in the ledger.
//!
//! **Why an edge's key starts with a hash.** The followers of one actor are then spread evenly over
//! the key space whatever their ids look like. A fan-out can be cut into equal ranges without
//! counting first, and DynamoDB, which splits a hot partition by its sort keys, finds load on both
//! sides of every cut. An actor without followers still costs one query, which it would not if
//! followers were dealt out over a fixed number of partition keys.

use std::fmt::Write;

use crate::activity::ActivityKey;
use crate::id::{ActivityId, ActorId, ViewerId};

/// A key of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerKey {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: String,
}

/// Where it is recorded whose an activity id is.
#[must_use]
pub fn claim(activity: &ActivityId) -> LedgerKey {
    LedgerKey { pk: format!("activity#{activity}"), sk: "claim".to_owned() }
}

/// Where an activity record is.
#[must_use]
pub fn activity(key: &ActivityKey) -> LedgerKey {
    LedgerKey { pk: format!("activity#{}", key.activity_id), sk: format!("actor#{}", key.actor_id) }
}

/// The partition that lists what an actor published, by sort key.
#[must_use]
pub fn outbox(actor: &ActorId) -> String {
    format!("outbox#{actor}")
}

/// The partition that lists an actor's followers.
#[must_use]
pub fn followers(followee: &ActorId) -> String {
    format!("followers#{followee}")
}

/// Where an edge is.
#[must_use]
pub fn edge(follower: &ViewerId, followee: &ActorId) -> LedgerKey {
    let mut sk = String::with_capacity(5 + follower.as_str().len());
    // Writing to a string cannot fail.
    let _ = write!(sk, "{:04x}#{follower}", spread(follower.as_str()));
    LedgerKey { pk: followers(followee), sk }
}

/// The follower an edge's sort key names, if it is one.
#[must_use]
pub fn follower_of(edge_sk: &str) -> Option<ViewerId> {
    let (hash, id) = edge_sk.split_once('#')?;
    let follower = ViewerId::new(id).ok()?;
    (hash == format!("{:04x}", spread(id))).then_some(follower)
}

/// The actor whose words the sort key of an activity record says these are.
#[must_use]
pub fn actor_of(activity_sk: &str) -> Option<ActorId> {
    ActorId::new(activity_sk.strip_prefix("actor#")?).ok()
}

/// Spreads ids over 65,536 values: FNV-1a, folded to 16 bits. Part of the stored keys, so it can
/// never change.
fn spread(id: &str) -> u16 {
    let hash = id
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let folded = (hash >> 16) ^ (hash & 0xffff);
    u16::try_from(folded).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stored_keys_never_change() {
        let edge =
            edge(&ViewerId::new("bob").expect("an id"), &ActorId::new("anna").expect("an id"));
        assert_eq!((edge.pk.as_str(), edge.sk.as_str()), ("followers#anna", "2612#bob"));
    }

    proptest! {
        #[test]
        fn an_edge_names_its_follower(id in "[A-Za-z0-9._:@-]{1,128}") {
            let follower = ViewerId::new(id).expect("an id");
            let edge = edge(&follower, &ActorId::new("anna").expect("an id"));
            prop_assert_eq!(follower_of(&edge.sk), Some(follower));
        }
    }
}
