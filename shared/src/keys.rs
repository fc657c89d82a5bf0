//! The one key codec: under which keys the tables hold what they hold.
//!
//! ```text
//! timelines   viewer_id                sort_key                     an entry
//! ledger      activity#<activity>      claim                        whose the activity id is
//!             activity#<activity>      actor#<actor>                the activity record
//!             outbox#<actor>           <sort key>                   the actor published this
//!             followers#<followee>     <hash>#<follower>            an edge
//!             fanout#<activity>        actor#<actor>#<what>#…       how far a long fan-out has come
//!             settle#<viewer>#<actor>  <message>                    how far a long follow or unfollow has come
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

use std::fmt::{self, Write};
use std::str::FromStr;

use crate::activity::ActivityKey;
use crate::command::Origin;
use crate::id::{ActivityId, ActorId, ViewerId};

/// A key of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerKey {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: String,
}

/// What an item of the ledger is, as its key says. Whoever looks for a person goes through all of these:
/// a new kind of item is a new variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerItem {
    /// Whose an activity id is.
    Claim(ActivityId),
    /// An activity record.
    Record(ActivityKey),
    /// An actor published something.
    OutboxRow(ActorId),
    /// An edge follower → followee.
    Edge(ViewerId, ActorId),
    /// How far a fan-out of an activity has come, or a segment of it.
    Progress(ActivityKey),
    /// How far a follow or unfollow has come in the viewer's timeline.
    Settling(ViewerId, ActorId),
}

impl LedgerItem {
    /// What the item with this key is; `None` if it is nothing that this codec writes.
    #[must_use]
    pub fn of(pk: &str, sk: &str) -> Option<Self> {
        let (kind, about) = pk.split_once('#')?;
        let activity = || ActivityId::new(about).ok();
        let key = |actor_id| Some(ActivityKey { activity_id: activity()?, actor_id });
        match kind {
            "activity" if sk == "claim" => activity().map(Self::Claim),
            "activity" => key(actor_of(sk)?).map(Self::Record),
            "outbox" => ActorId::new(about).ok().map(Self::OutboxRow),
            "followers" => Some(Self::Edge(follower_of(sk)?, ActorId::new(about).ok()?)),
            // `actor#<actor>#<what>#…`
            "fanout" => {
                let actor = sk.strip_prefix("actor#")?.split('#').next()?;
                key(ActorId::new(actor).ok()?).map(Self::Progress)
            }
            "settle" => {
                let (viewer, actor) = about.split_once('#')?;
                Some(Self::Settling(ViewerId::new(viewer).ok()?, ActorId::new(actor).ok()?))
            }
            _ => None,
        }
    }
}

/// Where it is recorded whose an activity id is.
#[must_use]
pub fn claim(activity: &ActivityId) -> LedgerKey {
    LedgerKey { pk: format!("activity#{activity}"), sk: "claim".to_owned() }
}

/// The activity that a partition of claim and records, or of progress, is about.
#[must_use]
pub fn activity_of(pk: &str) -> Option<ActivityId> {
    let id = pk.strip_prefix("activity#").or_else(|| pk.strip_prefix("fanout#"))?;
    ActivityId::new(id).ok()
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

/// The partition that says how far the fan-outs of an activity have come.
#[must_use]
pub fn progress(activity: &ActivityId) -> String {
    format!("fanout#{activity}")
}

/// Where it is noted how far the command of one message has come with one actor's activities in
/// one viewer's timeline.
#[must_use]
pub fn settling(viewer: &ViewerId, actor: &ActorId, origin: &Origin) -> LedgerKey {
    LedgerKey { pk: format!("settle#{viewer}#{actor}"), sk: origin.to_string() }
}

/// Some of an actor's followers: those whose hashes lie between two, both included. Written as
/// `0000-0fff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FollowerRange {
    first: u16,
    last: u16,
}

/// A text is not a range of followers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a range of followers such as 0000-0fff")]
pub struct FollowerRangeError;

impl FollowerRange {
    /// All followers.
    pub const ALL: Self = Self { first: 0, last: u16::MAX };

    /// Cuts all followers into so many ranges (at least one, at most 65,536) of much the same size.
    #[must_use]
    pub fn split(parts: usize) -> Vec<Self> {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX).clamp(1, 0x1_0000);
        let start = |n: u32| u64::from(n) * 0x1_0000 / u64::from(parts);
        let clamp = |hash: u64| u16::try_from(hash).unwrap_or(u16::MAX);
        let ranges = (0..parts)
            .map(|n| Self { first: clamp(start(n)), last: clamp(start(n + 1).saturating_sub(1)) });
        ranges.collect()
    }

    /// The places between which its edges lie.
    #[must_use]
    pub fn bounds(self) -> [String; 2] {
        // `~` sorts behind every character of an id.
        [format!("{:04x}#", self.first), format!("{:04x}#~", self.last)]
    }

    /// How much of it lies up to and including a place, from 0 to 1.
    #[must_use]
    pub fn share_up_to(self, place: &str) -> f64 {
        let hash = place.split_once('#').and_then(|(hash, _)| u16::from_str_radix(hash, 16).ok());
        let passed = u32::from(hash.unwrap_or(self.first).max(self.first) - self.first) + 1;
        (f64::from(passed) / f64::from(self.width())).min(1.0)
    }

    /// How many of the 65,536 hashes it holds.
    #[must_use]
    pub fn width(self) -> u32 {
        u32::from(self.last) - u32::from(self.first) + 1
    }
}

impl fmt::Display for FollowerRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}-{:04x}", self.first, self.last)
    }
}

impl FromStr for FollowerRange {
    type Err = FollowerRangeError;

    fn from_str(text: &str) -> Result<Self, FollowerRangeError> {
        let hash = |text: &str| u16::from_str_radix(text, 16).map_err(|_| FollowerRangeError);
        let (first, last) = text.split_once('-').ok_or(FollowerRangeError)?;
        let range = Self { first: hash(first)?, last: hash(last)? };
        let well_formed = range.first <= range.last && range.to_string() == text;
        if well_formed { Ok(range) } else { Err(FollowerRangeError) }
    }
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

    #[test]
    fn every_key_says_what_its_item_is() {
        let (bob, anna) =
            (ViewerId::new("bob").expect("an id"), ActorId::new("anna").expect("an id"));
        let live = ActivityId::new("live:1").expect("an id");
        let key = ActivityKey { activity_id: live.clone(), actor_id: anna.clone() };
        let of = |key: LedgerKey| LedgerItem::of(&key.pk, &key.sk);
        assert_eq!(of(claim(&live)), Some(LedgerItem::Claim(live.clone())));
        assert_eq!(of(activity(&key)), Some(LedgerItem::Record(key.clone())));
        assert_eq!(of(edge(&bob, &anna)), Some(LedgerItem::Edge(bob.clone(), anna.clone())));
        let row = LedgerItem::of(&outbox(&anna), "2026-11-20T12:00:00.000Z#live:1");
        assert_eq!(row, Some(LedgerItem::OutboxRow(anna.clone())));
        for sk in ["actor#anna#spread", "actor#anna#spread#0000-0fff"] {
            assert_eq!(
                LedgerItem::of(&progress(&live), sk),
                Some(LedgerItem::Progress(key.clone()))
            );
        }
        let settling = Some(LedgerItem::Settling(bob, anna));
        assert_eq!(LedgerItem::of("settle#bob#anna", "any"), settling);
        for (pk, sk) in
            [("", ""), ("likes#bob", "x"), ("activity#live:1", "x"), ("settle#bob", "x")]
        {
            assert_eq!(LedgerItem::of(pk, sk), None, "{pk}");
        }
    }

    #[test]
    fn ranges_cover_every_hash_once() {
        for parts in [1, 2, 3, 7, 50, 1_000, 65_536, 1_000_000] {
            let mut next = 0;
            for range in FollowerRange::split(parts) {
                assert_eq!((u32::from(range.first), range.last >= range.first), (next, true));
                next = u32::from(range.last) + 1;
            }
            assert_eq!(next, 65_536, "in {parts} parts");
        }
    }

    proptest! {
        #[test]
        fn an_edge_lies_in_one_range(id in "[A-Za-z0-9._:@-]{1,128}", parts in 1_usize..300) {
            let edge = edge(&ViewerId::new(id).expect("an id"), &ActorId::new("a").expect("an id"));
            let ranges = FollowerRange::split(parts);
            let holding = ranges.iter().filter(|range| {
                let [first, last] = range.bounds();
                (first..=last).contains(&edge.sk)
            });
            prop_assert_eq!(holding.count(), 1);
        }

        #[test]
        fn a_range_survives_its_text(first: u16, last: u16, noise in "[0-9a-f-]{0,10}") {
            let range = FollowerRange { first: first.min(last), last: first.max(last) };
            prop_assert_eq!(range.to_string().parse(), Ok(range));
            if let Ok(range) = noise.parse::<FollowerRange>() {
                prop_assert_eq!(range.to_string(), noise);
            }
        }

        #[test]
        fn an_edge_names_its_follower(id in "[A-Za-z0-9._:@-]{1,128}") {
            let follower = ViewerId::new(id).expect("an id");
            let edge = edge(&follower, &ActorId::new("anna").expect("an id"));
            prop_assert_eq!(follower_of(&edge.sk), Some(follower));
        }
    }
}
