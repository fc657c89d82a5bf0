//! The keys of edges in the ledger, and ranges of followers.
//!
//! **Why an edge's key starts with a hash.** The followers of one actor are then spread evenly over
//! the key space whatever their ids look like. A fan-out can be cut into equal ranges without
//! counting first, and DynamoDB, which splits a hot partition by its sort keys, finds load on both
//! sides of every cut. An actor without followers still costs one query, which it would not if
//! followers were dealt out over a fixed number of partition keys.
//!
//! **Why no list needs an index.** The followers of an actor are the edges, in the order of their hashes, which is as good as any
//! other. The actors that a viewer follows have a [row](followee) for each edge, in the order of ids. The index of edges by follower
//! would have the same, but later: its reads are not consistent, it has no instants, and when one viewer's part of it is throttled,
//! so are the edges. Only operators read it.

use std::fmt::{self, Write};
use std::str::FromStr;

use crate::platform::dynamo::keys;
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{ActorId, ViewerId, spread};

keys! {
    /// Follower and followee of the row with this key.
    pub fn of_followee -> (ViewerId, ActorId);
    partitions {
        /// The partition of an actor's followers.
        pub followers(followee: ActorId) = "followers#{followee}";
        /// The partition of the actors that a viewer follows, by id, among the items about that person.
        pub following(follower: ViewerId) = "person#{follower}#following";
        about(viewer: ViewerId) = "person#{viewer}#hidden";
    }
    items {
        /// Its sort key is made by [`edge`].
        edge_row(followee: ActorId, hash: String, follower: ViewerId) = followers(followee), "{hash}#{follower}" in Ledger as "edge" {
            says: "{follower} and whether they follow {followee}",
            most: 704, grows: "the ids of both",
            at_bound: "cannot be exceeded",
            test: "`follows::keys`",
            later: Kept, erased: Tombstone,
        };
        /// The row of a viewer who follows an actor.
        pub followee(follower: ViewerId, followee: ActorId) = following(follower), "{followee}" in Ledger as "followee" {
            says: "{follower} follows {followee}",
            most: 340, grows: "the ids of both",
            at_bound: "cannot be exceeded",
            test: "`follows::following`",
            later: Kept, erased: Tombstone,
        } => (follower, followee);
        /// The [hidden actors](super::HiddenActors) of a viewer.
        pub hidden(viewer: ViewerId) = about(viewer), "actors" in Ledger as "hidden" {
            says: "actors whom {viewer} has left, and whether they read",
            most: 6_700, grows: "actors that the viewer has left within retention, and follows that are in flight or gave up; until when the viewer counts as reading, and where their return goes on",
            at_bound: "an instant takes the place of the marks of unfollows, up to which pages ask for edges as well; a follow puts its mark into its edge",
            test: "`the_item_is_bounded_whatever_is_sent`, `very_many_follows_that_give_up_are_hidden_in_a_small_item`",
            later: Kept, erased: Tombstone,
        };
    }
}

/// The key of an edge.
pub fn edge(follower: &ViewerId, followee: &ActorId) -> LedgerKey {
    LedgerKey { pk: followers(followee), sk: edge_sort_key(follower) }
}

/// The sort key of the edges of a follower, in the partition of each followee.
pub(super) fn edge_sort_key(follower: &ViewerId) -> String {
    let mut sk = String::with_capacity(5 + follower.as_str().len());
    // Writing to a string never fails.
    let _ = write!(sk, "{:04x}#{follower}", spread(follower.as_str()));
    sk
}

/// The follower in the sort key of an edge.
pub fn follower_of(edge_sk: &str) -> Option<ViewerId> {
    let (hash, id) = edge_sk.split_once('#')?;
    let follower = ViewerId::new(id).ok()?;
    (hash == format!("{:04x}", spread(id))).then_some(follower)
}

/// Follower and followee of the edge with this key.
pub fn of_key(pk: &str, sk: &str) -> Option<(ViewerId, ActorId)> {
    Some((follower_of(sk)?, ActorId::new(pk.strip_prefix("followers#")?).ok()?))
}

/// A range of an actor's followers by their hashes, both ends included. Written as `0000-0fff`.
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

    /// Cuts all followers into N ranges (at least one, at most 65,536) of much the same size.
    pub fn split(parts: usize) -> Vec<Self> {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX).clamp(1, 0x1_0000);
        let start = |n: u32| u64::from(n) * 0x1_0000 / u64::from(parts);
        let clamp = |hash: u64| u16::try_from(hash).unwrap_or(u16::MAX);
        let ranges = (0..parts)
            .map(|n| Self { first: clamp(start(n)), last: clamp(start(n + 1).saturating_sub(1)) });
        ranges.collect()
    }

    /// The sort keys between which its edges lie.
    #[must_use]
    pub fn bounds(self) -> [String; 2] {
        // `~` sorts after every character of an id.
        [format!("{:04x}#", self.first), format!("{:04x}#~", self.last)]
    }

    /// The share of it up to and including a sort key, from 0 to 1.
    pub fn share_up_to(self, sort_key: &str) -> f64 {
        let hash =
            sort_key.split_once('#').and_then(|(hash, _)| u16::from_str_radix(hash, 16).ok());
        let passed = u32::from(hash.unwrap_or(self.first).max(self.first) - self.first) + 1;
        (f64::from(passed) / f64::from(self.width())).min(1.0)
    }

    /// The number of hashes in it, of 65,536.
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
    fn a_row_names_both() {
        let (bob, anna) = (ViewerId::new("bob").expect("id"), ActorId::new("anna").expect("id"));
        let key = followee(&bob, &anna);
        assert_eq!((key.pk.as_str(), key.sk.as_str()), ("person#bob#following", "anna"));
        assert_eq!(of_followee(&key.pk, &key.sk), Some((bob.clone(), anna)));
        assert_eq!(of_followee(&hidden(&bob).pk, &key.sk), None);
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
        fn an_edge_lies_in_one_range(id in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", parts in 1_usize..300) {
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
        fn an_edge_names_its_follower(id in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]") {
            let follower = ViewerId::new(id).expect("an id");
            let edge = edge(&follower, &ActorId::new("anna").expect("an id"));
            prop_assert_eq!(follower_of(&edge.sk), Some(follower));
        }
    }
}
