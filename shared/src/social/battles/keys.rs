//! The keys of battles, among the facts and among the views.
//!
//! ```text
//! views    battle#<battle>           battle         hit points, the last hit
//!          battle#<battle>           log#<n>        hits in the order in which they landed, from the nth on
//!          battle#<battle>           waiting#<n>    hits that came before the battle
//! ```

use crate::platform::dynamo::item::Key;
use crate::platform::dynamo::keys;
use crate::platform::stored::{BLOCK, ROW};
use crate::platform::values::{BattleId, HitId, ViewerId};

/// The prefix of the partition keys of battles, among the facts and among the views.
pub const BATTLES: &str = "battle#";
/// The sort key of every battle among the facts.
pub const OPENED: &str = "battle";
/// The prefix of the partition keys of hits, among the facts and among the views.
pub const HITS: &str = "hit#";
/// The sort key of every hit among the facts.
pub const HIT: &str = "hit";
const LOG: &str = "log#";

/// A row of the facts about a battle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BattleRow {
    Opened(BattleId),
    Hit(BattleId, HitId),
}

keys! {
    fn of_fact -> BattleRow;
    partitions {
        partition(battle: BattleId) = "battle#{battle}";
        of_hit(battle: BattleId, hit: HitId) = "hit#{battle}#{hit}";
        /// The totals of a viewer in a battle, among the views.
        pub of_viewer(battle: BattleId, viewer: ViewerId) = "battle#{battle}#{viewer}";
    }
    items {
        /// The definition of a battle, among the facts: what was opened.
        pub opened(battle: BattleId) = partition(battle), "battle" in Facts as "battle" {
            says: "the battle {battle}, as it was opened",
            most: 6_144, grows: "the payload, written once",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Tombstone,
        } => BattleRow::Opened(battle);
        /// A hit, among the facts. Each has a partition of its own, so that the hits of one battle are spread over all partitions of
        /// the table.
        pub hit(battle: BattleId, hit: HitId) = of_hit(battle, hit), "hit" in Facts as "hit" {
            says: "the hit {hit} in {battle}",
            most: 1_024, grows: "nothing: written once",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Tombstone,
        } => BattleRow::Hit(battle, hit);
        /// The number of a hit that has landed, among the views. Each has a partition of its own.
        pub numbered(battle: BattleId, hit: HitId) = of_hit(battle, hit), "landed" in Views as "number of a hit" {
            says: "as which one the hit {hit} in {battle} has landed",
            most: 512, grows: "nothing",
            at_bound: "cannot be exceeded",
            test: "`projection::waiting::tests::a_change_is_weighed_before_it_is_added`",
            later: Derived, erased: Gone,
        };
        /// The viewer's totals up to the end of the block that begins with the nth hit, counted from 0, among the views.
        pub viewer_hits(battle: BattleId, viewer: ViewerId, first: u64) = of_viewer(battle, viewer), "{first:020}" in Views as "viewer's hits" {
            says: "{viewer}'s hits in {battle}",
            most: ROW, grows: "nothing: two numbers",
            at_bound: "cannot be exceeded",
            test: "`projection::waiting::tests::a_change_is_weighed_before_it_is_added`",
            later: Derived, erased: Gone,
        };
        /// The view of a battle.
        pub view(battle: BattleId) = partition(battle), "battle" in Views as "battle" {
            says: "how the battle {battle} stands",
            most: ROW, grows: "blocks of the log that are owed: those of one batch, or of four blocks of waiting hits",
            at_bound: "nothing lands before they are told",
            test: "`battles::parts::no_item_of_a_battle_grows_with_its_hits`",
            later: Kept, erased: Tombstone,
        };
        log_block(battle: BattleId, first: u64) = partition(battle), "log#{first:020}" in Views as "battle's log" {
            says: "hits that have landed in {battle}",
            most: BLOCK, grows: "hits that land together, about 49,500 bytes",
            at_bound: "the next hit begins another block",
            test: "`battles::parts::no_item_of_a_battle_grows_with_its_hits`",
            later: Never, erased: Gone,
        };
        waiting(battle: BattleId, number: u64) = partition(battle), "waiting#{number:020}" in Views as "battle's waiting hits" {
            says: "hits that have not landed in {battle} yet",
            most: BLOCK, grows: "hits of one batch",
            at_bound: "there are more blocks",
            test: "`projection::waiting::tests::a_change_is_weighed_before_it_is_added`",
            later: Never, erased: Gone,
        };
    }
}

/// The sort key of an item about the hits from the nth on, counted from 0.
pub fn landed(first: u64) -> String {
    format!("{first:020}")
}

/// The sort key of a block of the log that begins with the nth hit.
pub fn log(first: u64) -> String {
    format!("{LOG}{first:020}")
}

impl BattleRow {
    /// Parses a key of the facts.
    pub fn of(key: &Key) -> Option<Self> {
        of_fact(&key.pk, &key.sk)
    }

    pub fn battle(&self) -> &BattleId {
        match self {
            Self::Opened(battle) | Self::Hit(battle, _) => battle,
        }
    }
}

/// True for the sort key of a block of the log.
pub fn is_log(sort_key: &str) -> bool {
    sort_key.starts_with(LOG)
}

/// The number of the first hit of the block of the log with this sort key.
pub fn first_of_log(sort_key: &str) -> Option<u64> {
    sort_key.strip_prefix(LOG)?.parse().ok()
}

/// The battle whose own partition of the views has this key.
pub fn of_view(key: &Key) -> Option<BattleId> {
    match BattleView::of(key)? {
        BattleView::Itself(battle) => Some(battle),
        BattleView::ViewerHits(..) | BattleView::Numbered(..) => None,
    }
}

/// An item of the views about a battle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BattleView {
    /// The view of the battle, or a block of it.
    Itself(BattleId),
    ViewerHits(BattleId, ViewerId),
    /// The number of a hit that has landed.
    Numbered(BattleId, HitId),
}

impl BattleView {
    /// Parses a key of the views.
    pub fn of(key: &Key) -> Option<Self> {
        if let Some(of) = key.pk.strip_prefix(HITS) {
            let (battle, hit) = of.split_once('#')?;
            return Some(Self::Numbered(BattleId::new(battle).ok()?, HitId::new(hit).ok()?));
        }
        let of = key.pk.strip_prefix(BATTLES)?;
        Some(match of.split_once('#') {
            None => Self::Itself(BattleId::new(of).ok()?),
            Some((battle, viewer)) => {
                Self::ViewerHits(BattleId::new(battle).ok()?, ViewerId::new(viewer).ok()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_say_whose_they_are(battle in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", id in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]") {
            let battle = BattleId::new(battle).expect("an id");
            let (viewer, h) = (ViewerId::new(id.as_str()).expect("an id"), HitId::new(id).expect("an id"));
            prop_assert_eq!(BattleRow::of(&opened(&battle)), Some(BattleRow::Opened(battle.clone())));
            prop_assert_eq!(BattleRow::of(&hit(&battle, &h)), Some(BattleRow::Hit(battle.clone(), h)));
            prop_assert_eq!(BattleView::of(&view(&battle)), Some(BattleView::Itself(battle.clone())));
            let hit = HitId::new(viewer.as_str()).expect("an id");
            let of_hit = BattleView::Numbered(battle.clone(), hit.clone());
            prop_assert_eq!(BattleView::of(&numbered(&battle, &hit)), Some(of_hit));
            let viewer_hits = Key { pk: of_viewer(&battle, &viewer), sk: landed(7) };
            prop_assert_eq!(BattleView::of(&viewer_hits), Some(BattleView::ViewerHits(battle, viewer)));
        }
    }
}
