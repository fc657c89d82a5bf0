//! The items that are derived from a block of the log: totals for each viewer, and a number for each hit.

use std::collections::BTreeMap;

use super::{Hit, Landed, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::projection::DerivedItem;
use crate::platform::values::{BattleId, HitId, ViewerId};

/// The state of a battle, as readers are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub hp_left: u64,
    pub hits: u64,
    /// The latest hit that landed. Once no hit points are left it stays the last.
    pub last_hit: Option<Hit>,
}

/// The totals of one viewer in a battle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ViewerHits {
    pub hits: u64,
    pub damage: u64,
}

/// The attributes with the totals.
pub(super) const NUMBERS: [&str; 2] = ["hits", "damage"];
/// The attribute with the number of a hit.
const NUMBER: &str = "number";

impl ViewerHits {
    /// From numbers in the order of [`NUMBERS`].
    pub(super) fn from_numbers(numbers: &[i64]) -> Self {
        let number = |index| numbers.get(index).map_or(0, |number: &i64| number.unsigned_abs());
        Self { hits: number(0), damage: number(1) }
    }

    pub(super) fn add(&mut self, hit: &Landed) {
        self.hits += 1;
        self.damage += hit.damage;
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { hits: self.hits + other.hits, damage: self.damage + other.damage }
    }

    fn numbers(self) -> Vec<(&'static str, i64)> {
        let numbers = [self.hits, self.damage].map(u64::cast_signed);
        NUMBERS.into_iter().zip(numbers).collect()
    }

    /// Reads the item of a viewer.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { hits: row.count("hits")?, damage: row.count("damage")? })
    }

    /// The item with these totals of the hits up to the end of a block.
    pub(super) fn total(self, battle: &BattleId, viewer: &ViewerId, first: u64) -> DerivedItem {
        DerivedItem::total(keys::viewer_hits(battle, viewer, &first), self.numbers())
    }
}

/// The number in the item of a hit.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn read_number(row: &Row<'_>) -> Result<u64, DynamoError> {
    row.count(NUMBER)
}

pub fn numbered(battle: &BattleId, hit: &HitId, number: u64) -> DerivedItem {
    DerivedItem {
        key: keys::numbered(battle, hit),
        numbers: vec![(NUMBER, number.cast_signed())],
        texts: Vec::new(),
        goes_on: false,
    }
}

/// The totals of one block, by viewer. Erased hits are left out.
pub(super) fn by_viewer(hits: &[Landed]) -> BTreeMap<&ViewerId, ViewerHits> {
    let mut by_viewer: BTreeMap<_, ViewerHits> = BTreeMap::new();
    for hit in hits {
        if let Some(viewer) = &hit.viewer_id {
            by_viewer.entry(viewer).or_default().add(hit);
        }
    }
    by_viewer
}

/// The items that are derived from a block that begins with the nth hit.
pub(super) fn items(battle: &BattleId, first: u64, hits: &[Landed]) -> Vec<DerivedItem> {
    let by_viewer = by_viewer(hits).into_iter().map(|(viewer, viewer_hits)| DerivedItem {
        key: keys::viewer_hits(battle, viewer, &first),
        numbers: viewer_hits.numbers(),
        texts: Vec::new(),
        goes_on: true,
    });
    let numbers = hits.iter().zip(first..).map(|(hit, n)| numbered(battle, &hit.hit_id, n));
    numbers.chain(by_viewer).collect()
}
