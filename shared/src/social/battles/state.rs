//! The view of a battle: hit points, the last hit, and the order in which hits have landed.
//!
//! Hits land in the order in which they are folded. The write of the view decides the order, and two concurrent folds cannot both
//! write it. All hits of a batch land with one write. The order of hits is stored in blocks of a log.
//!
//! # What viewers are shown of their own hits
//!
//! Two kinds of items are derived from a block of the log, and are written after the view:
//!
//! * for each viewer with hits in the block, a running total under the number of the first hit of the block. The total of a viewer
//!   among the first `n` hits is in their last item below `n`, so reading it takes one item;
//! * for each hit its number.
//!
//! No further hits land while some of these items are pending. So a running total adds to items that all exist, and every writer
//! computes the same. Until the items are written, readers are shown the battle as it was before: all parts of an answer are of the
//! last write whose items are complete. If the function that wrote the view dies, the next one writes the items before anything
//! else.
//!
//! # Bounds
//!
//! The view has a fixed number of attributes. Pending are the blocks of one write: those of [`MAX_WAITING_BLOCKS`] blocks of changes
//! or of one batch, so about twenty numbers. A block of the log is cut at [`BLOCK`] bytes. A running total is two numbers, and the
//! item of a hit is one.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::log::{self, Landed};
use super::{BattleRow, BattleStatus, Hit, Replay, Shown, keys, viewer_hits};
use crate::platform::dynamo::item::{Item, Key, Row, number, text};
use crate::platform::dynamo::{DynamoError, Limits};
use crate::platform::projection::{
    BlockRange, Blocks, Change, DerivedItem, Fold, PendingItems, SideWrites, State, Waiting, Write,
    waiting,
};
use crate::platform::values::{ActorId, Packer, Unpacker, ViewerId};

/// The size at which a block of the log is cut, in bytes. One more hit takes less than 300.
const BLOCK: usize = 48 * 1024;
/// The most blocks of the log absorbed at once.
const MAX_LOG_BLOCKS: i32 = 4;
/// The most blocks of waiting changes folded at once: each is 128 KB, and its hits in the log are smaller.
const MAX_WAITING_BLOCKS: i32 = 4;
const BEFORE: &str = "before";

/// The view of a battle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BattleState {
    boss: Option<Boss>,
    hits: u64,
    last_hit: Option<Hit>,
    /// Hits that have landed since the view was read.
    fresh: Vec<Landed>,
    /// Blocks of the log whose items are not written yet, by their first hit.
    pending: Vec<u64>,
    /// What readers were shown before the pending blocks.
    before: Option<Shown>,
    waiting: Waiting,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Boss {
    actor_id: ActorId,
    hp: u64,
    hp_left: u64,
}

impl BattleState {
    /// What readers are shown, once it is open: the state after the last write whose items are complete.
    pub fn shown(&self) -> Option<Shown> {
        let boss = self.boss.as_ref()?;
        let before = self.before.as_ref().filter(|_| !self.pending.is_empty());
        Some(before.cloned().unwrap_or_else(|| Shown {
            hp_left: boss.hp_left,
            hits: self.hits,
            last_hit: self.last_hit.clone(),
        }))
    }

    /// The latest hit that landed. Once no hit points are left it stays the last.
    pub fn last_hit(&self) -> Option<&Hit> {
        self.last_hit.as_ref()
    }

    /// Removes a name from the view. Returns false if it is not there.
    pub fn forget(&mut self, viewer: &ViewerId) -> bool {
        let is_theirs = |hit: &&mut Hit| hit.viewer_id.as_ref() == Some(viewer);
        let last = self.last_hit.as_mut().filter(is_theirs).map(|hit| hit.viewer_id = None);
        let before = self.before.as_mut().and_then(|before| before.last_hit.as_mut());
        let before = before.filter(is_theirs).map(|hit| hit.viewer_id = None);
        last.is_some() || before.is_some()
    }

    /// True if all derived items are written.
    pub fn is_all_written(&self) -> bool {
        self.pending.is_empty()
    }

    /// Its state, once it is open.
    pub fn status(&self) -> Option<BattleStatus> {
        let Boss { actor_id, hp, hp_left } = self.boss.clone()?;
        let (hits, last_hit) = (self.hits, self.last_hit.clone());
        Some(BattleStatus { actor_id, hp, hp_left, hits, last_hit })
    }

    /// The view with the state of a replay, and without pending items.
    #[must_use]
    pub fn repaired(&self, replay: &Replay) -> Self {
        let BattleStatus { actor_id, hp, hp_left, hits, last_hit } = replay.status();
        let boss = Some(Boss { actor_id, hp, hp_left });
        Self { boss, hits, last_hit, pending: Vec::new(), before: None, ..self.clone() }
    }

    fn land(&mut self, hit: Hit) {
        let shown = self.shown().filter(|shown| self.fresh.is_empty() && shown.hp_left > 0);
        let Some(boss) = self.boss.as_mut().filter(|boss| boss.hp_left > 0) else { return };
        self.before = shown.or_else(|| self.before.take());
        boss.hp_left = boss.hp_left.saturating_sub(hit.damage);
        self.hits += 1;
        self.fresh.push(Landed::from(&hit));
        self.last_hit = Some(hit);
    }

    /// Removes blocks from the pending ones.
    fn forget_pending(&mut self, blocks: impl Fn(u64) -> bool) {
        self.pending.retain(|first| !blocks(*first));
        if self.pending.is_empty() {
            self.before = None;
        }
    }

    fn block(view: &Key, first: u64, hits: &[Landed]) -> Write {
        let mut block = Key { pk: view.pk.clone(), sk: keys::log(first) }.into_item();
        let hits = AttributeValue::B(Blob::new(log::pack(hits)));
        block.insert(log::HITS.to_owned(), hits);
        Write::Put(block)
    }
}

/// A hit as the view has it.
fn write_hit(hit: &Hit) -> AttributeValue {
    let mut item = hit.write();
    item.insert("id".to_owned(), text(hit.hit_id.as_str()));
    AttributeValue::M(item)
}

fn read_hit(row: &Row<'_>, name: &str) -> Result<Option<Hit>, DynamoError> {
    let Some(value) = row.item.get(name) else { return Ok(None) };
    let item = value.as_m().map_err(|_| row.corrupt(name, "a hit"))?;
    let row = Row { table: row.table, item: item.clone() };
    let id = row.parsed("id", "the id of a hit")?;
    Hit::read(id, &row).map(Some)
}

fn read_before(row: &Row<'_>) -> Result<Option<Shown>, DynamoError> {
    let Some(value) = row.item.get(BEFORE) else { return Ok(None) };
    let item = value.as_m().map_err(|_| row.corrupt(BEFORE, "how a battle stood"))?;
    let row = Row { table: row.table, item: item.clone() };
    let (hp_left, hits) = (row.count("hp_left")?, row.count("hits")?);
    Ok(Some(Shown { hp_left, hits, last_hit: read_hit(&row, "last_hit")? }))
}

fn write_before(Shown { hp_left, hits, last_hit }: &Shown) -> AttributeValue {
    let mut item =
        Item::from([("hp_left".to_owned(), number(hp_left)), ("hits".to_owned(), number(hits))]);
    item.extend(last_hit.as_ref().map(|hit| ("last_hit".to_owned(), write_hit(hit))));
    AttributeValue::M(item)
}

impl State for BattleState {
    const ATTRIBUTES: &'static [&'static str] =
        &["actor", "hp", "hp_left", "hits", "last_hit", BEFORE, "owed", waiting::FROM, waiting::TO];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let waiting = Waiting::read(row)?;
        if !row.item.contains_key("hp") {
            return Ok(Self { waiting, ..Self::default() });
        }
        let boss = Boss {
            actor_id: row.parsed("actor", "the id of an actor")?,
            hp: row.count("hp")?,
            hp_left: row.count("hp_left")?,
        };
        let pending = row.packed("owed", "blocks of the log", |bytes| {
            let (mut unpacker, mut pending) = (Unpacker::new(bytes), Vec::new());
            while !unpacker.is_empty() {
                pending.push(unpacker.number()?);
            }
            Some(pending)
        })?;
        Ok(Self {
            boss: Some(boss),
            hits: row.count("hits")?,
            last_hit: read_hit(row, "last_hit")?,
            fresh: Vec::new(),
            pending: pending.unwrap_or_default(),
            before: read_before(row)?,
            waiting,
        })
    }

    fn write(&self) -> Item {
        let mut item = Item::new();
        self.waiting.write(&mut item);
        let Some(boss) = &self.boss else { return item };
        item.insert("actor".to_owned(), text(boss.actor_id.as_str()));
        item.insert("hp".to_owned(), number(boss.hp));
        item.insert("hp_left".to_owned(), number(boss.hp_left));
        item.insert("hits".to_owned(), number(self.hits));
        item.extend(self.last_hit.as_ref().map(|hit| ("last_hit".to_owned(), write_hit(hit))));
        item.extend(self.before.as_ref().map(|shown| (BEFORE.to_owned(), write_before(shown))));
        if !self.pending.is_empty() {
            let mut packer = Packer::default();
            self.pending.iter().for_each(|first| packer.number(*first));
            item.insert("owed".to_owned(), AttributeValue::B(Blob::new(packer.into_bytes())));
        }
        item
    }
}

impl Fold for BattleState {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        // Hits and battles do not change. Erasing a name does not change the damage.
        let (None, Some(after)) = (&change.before, &change.after) else { return Ok(()) };
        let row = Row { table: facts, item: after.clone() };
        match BattleRow::of(&change.key) {
            Some(BattleRow::Opened(_)) => {
                let (actor_id, hp) = (row.parsed("actor", "the id of an actor")?, row.count("hp")?);
                self.boss = Some(Boss { actor_id, hp, hp_left: hp });
            }
            Some(BattleRow::Hit(_, hit)) => {
                let hit = Hit::read(hit, &row)?;
                match &self.boss {
                    None => self.waiting.push(change),
                    Some(_) => self.land(hit),
                }
            }
            None => {}
        }
        Ok(())
    }
}

impl Blocks for BattleState {
    fn needed_blocks(&self, _: bool) -> Option<BlockRange> {
        self.boss.as_ref()?;
        let (Some(first), Some(last)) = (self.pending.iter().min(), self.pending.iter().max())
        else {
            let waiting = self.waiting.needed_blocks()?;
            return Some(BlockRange { limit: Some(MAX_WAITING_BLOCKS), ..waiting });
        };
        let (first, last) = (keys::log(*first), keys::log(*last));
        Some(BlockRange { first, last, limit: Some(MAX_LOG_BLOCKS) })
    }

    fn absorb(
        &mut self,
        blocks: &[Row<'_>],
        is_last: bool,
    ) -> Result<Vec<DerivedItem>, DynamoError> {
        if self.pending.is_empty() {
            for change in self.waiting.take(blocks)? {
                self.fold(&change, blocks.first().map_or("", |row| row.table))?;
            }
            return Ok(Vec::new());
        }
        let mut items = Vec::new();
        for block in blocks {
            let key = Key::of(block)?;
            let battle = keys::of_view(&key).ok_or_else(|| block.corrupt("pk", "a battle"))?;
            let pending = self.pending.iter().find(|first| keys::log(**first) == key.sk);
            let Some(first) = pending.copied() else { continue };
            items.extend(viewer_hits::items(&battle, first, &log::read(block)?));
            self.forget_pending(|one| one == first);
        }
        match blocks.first().filter(|_| is_last && !self.pending.is_empty()) {
            Some(block) => Err(block.corrupt("sk", "all blocks of the log that are owed")),
            None => Ok(items),
        }
    }

    fn side_writes(&mut self, view: &Key, limits: &Limits) -> SideWrites {
        let mut writes = self.waiting.writes(view, limits);
        let fresh = std::mem::take(&mut self.fresh);
        let Some(battle) = keys::of_view(view).filter(|_| !fresh.is_empty()) else {
            return SideWrites { writes, pending: None };
        };
        let mut first = self.hits - fresh.len() as u64;
        let (mut decisions, mut items) = (Vec::new(), Vec::new());
        for hits in log::blocks(&fresh, BLOCK) {
            writes.push(Self::block(view, first, hits));
            items.extend(viewer_hits::items(&battle, first, hits));
            decisions.push(first);
            first += hits.len() as u64;
        }
        self.pending.extend(&decisions);
        SideWrites { writes, pending: Some(PendingItems { decisions, items }) }
    }

    fn mark_written(&mut self, decision: u64) {
        self.forget_pending(|first| first == decision);
    }
}
