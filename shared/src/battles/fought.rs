//! The view of a battle: hit points, the last hit, and the order in which hits have landed.
//!
//! Hits land in the order in which they are folded: whoever writes the view has decided it, and two who fold at
//! once cannot both write it. All hits of a batch land with one write. The order is kept, hit by hit: the latest
//! in the view itself, the others in blocks of a log.
//!
//! Who hit is told each viewer in items of their own, one for all their hits that landed together. Those of one
//! viewer are written in the same transaction as the view. Where there are several viewers, the view notes that they
//! are owed, and they are made of the log afterwards: by whoever has decided, or by whoever finds them owed.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::log::{self, Landed};
use super::{BattleRow, Hit, Replay, Standing, erasure, keys};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Key, Row, number, text};
use crate::projection::{
    Beside, Blocks, Change, Fold, Followed, Owed, State, Waiting, Wanted, Write,
};
use crate::values::{ActorId, BattleId, HitId, Packer, Unpacker, ViewerId};

/// The size up to which hits are in the view itself: with the rest of it that is less than a kilobyte.
const LATEST: usize = 500;
/// For how many viewers at most their items are written together with the view: items of a transaction take twice the
/// units, and all of them at once.
const TOGETHER: usize = 1;
/// How many blocks of the log are looked at at once.
const AT_ONCE: i32 = 4;

/// How a battle stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fought {
    boss: Option<Boss>,
    hits: u64,
    last_hit: Option<Hit>,
    /// The hits that landed last, and are in no block yet.
    latest: Vec<Landed>,
    /// Hits that have landed since the view was read.
    fresh: Vec<Landed>,
    /// Blocks of the log whose viewers are not told yet, by their first hit.
    owed: Vec<u64>,
    waiting: Waiting,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Boss {
    actor_id: ActorId,
    hp: u64,
    hp_left: u64,
}

/// What of the hits that landed together is one viewer's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Share {
    /// How many.
    pub hits: u64,
    /// What damage they did.
    pub damage: u64,
    /// Which.
    pub ids: Vec<HitId>,
}

impl Share {
    /// Reads it from its item.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let ids = row.text("ids")?.split(' ').map(HitId::new).collect::<Result<_, _>>();
        let ids = ids.map_err(|_| row.corrupt("ids", "ids of hits"))?;
        Ok(Self { hits: row.count("hits")?, damage: row.count("damage")?, ids })
    }
}

/// The items of the viewers whose hits landed together, from the nth on.
pub(super) fn shares(
    battle: &BattleId,
    first: u64,
    hits: &[Landed],
) -> BTreeMap<ViewerId, Followed> {
    let mut shares: BTreeMap<&ViewerId, Vec<&Landed>> = BTreeMap::new();
    for hit in hits {
        if let Some(viewer) = &hit.viewer_id {
            shares.entry(viewer).or_default().push(hit);
        }
    }
    let items = shares.into_iter().map(|(viewer, hits)| {
        let (mut damage, mut ids) = (0, Vec::with_capacity(hits.len()));
        for hit in &hits {
            damage += hit.damage.cast_signed();
            ids.push(hit.hit_id.as_str());
        }
        let item = Followed {
            key: Key { pk: keys::of_viewer(battle, viewer), sk: keys::landed(first) },
            numbers: vec![("hits", hits.len() as i64), ("damage", damage)],
            texts: vec![("ids", ids.join(" "))],
        };
        (viewer.clone(), item)
    });
    items.collect()
}

impl Fought {
    /// How many hit points are left, once it is open.
    #[must_use]
    pub fn hp_left(&self) -> Option<u64> {
        self.boss.as_ref().map(|boss| boss.hp_left)
    }

    /// How many hits have landed.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// The latest hit that landed. Once no hit points are left it stays the last.
    #[must_use]
    pub fn last_hit(&self) -> Option<&Hit> {
        self.last_hit.as_ref()
    }

    /// Takes a name out of what it says. False if it does not say it.
    pub fn forget(&mut self, viewer: &ViewerId) -> bool {
        let is_theirs = |hit: &&mut Hit| hit.viewer_id.as_ref() == Some(viewer);
        let last = self.last_hit.as_mut().filter(is_theirs).map(|hit| hit.viewer_id = None);
        erasure::forget(&mut self.latest, viewer) || last.is_some()
    }

    /// True if every viewer was told of their hits.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.owed.is_empty()
    }

    /// How it stands, once it is open.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        let Boss { actor_id, hp, hp_left } = self.boss.clone()?;
        let (hits, last_hit) = (self.hits, self.last_hit.clone());
        Some(Standing { actor_id, hp, hp_left, hits, last_hit })
    }

    /// The hits that are in no block of the log yet: they come after those.
    #[must_use]
    pub fn latest(&self) -> &[Landed] {
        &self.latest
    }

    /// The same view, saying what its log comes to, all of which viewers are told.
    #[must_use]
    pub fn repaired(&self, replay: &Replay) -> Self {
        let Standing { actor_id, hp, hp_left, hits, last_hit } = replay.standing();
        let boss = Some(Boss { actor_id, hp, hp_left });
        Self { boss, hits, last_hit, owed: Vec::new(), ..self.clone() }
    }

    fn land(&mut self, hit: Hit) {
        let Some(boss) = self.boss.as_mut().filter(|boss| boss.hp_left > 0) else { return };
        boss.hp_left = boss.hp_left.saturating_sub(hit.damage);
        self.hits += 1;
        self.fresh.push(Landed::from(&hit));
        self.last_hit = Some(hit);
    }

    fn block(view: &Key, first: u64, hits: &[Landed]) -> Item {
        let mut block = Key { pk: view.pk.clone(), sk: keys::log(first) }.into_item();
        let hits = AttributeValue::B(Blob::new(log::pack(hits)));
        block.insert(log::HITS.to_owned(), hits);
        block
    }
}

impl State for Fought {
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
        let last_hit = match row.item.get("last_hit") {
            None => None,
            Some(AttributeValue::M(item)) => {
                let last = Row { table: row.table, item: item.clone() };
                let id = last.parsed("id", "the id of a hit")?;
                Some(Hit::read(id, &last)?)
            }
            Some(_) => return Err(row.corrupt("last_hit", "a hit")),
        };
        let owed = row.packed("owed", "blocks of the log", |bytes| {
            let (mut unpacker, mut owed) = (Unpacker::new(bytes), Vec::new());
            while !unpacker.is_empty() {
                owed.push(unpacker.number()?);
            }
            Some(owed)
        })?;
        Ok(Self {
            boss: Some(boss),
            hits: row.count("hits")?,
            last_hit,
            latest: row.packed("latest", "hits that landed", log::unpack)?.unwrap_or_default(),
            fresh: Vec::new(),
            owed: owed.unwrap_or_default(),
            waiting,
        })
    }

    fn write(&self) -> Item {
        let bytes = |bytes: Vec<u8>| AttributeValue::B(Blob::new(bytes));
        let mut item = Item::new();
        self.waiting.write(&mut item);
        let Some(boss) = &self.boss else { return item };
        item.insert("actor".to_owned(), text(boss.actor_id.as_str()));
        item.insert("hp".to_owned(), number(boss.hp));
        item.insert("hp_left".to_owned(), number(boss.hp_left));
        item.insert("hits".to_owned(), number(self.hits));
        if let Some(hit) = &self.last_hit {
            let mut last = hit.write();
            last.insert("id".to_owned(), text(hit.hit_id.as_str()));
            item.insert("last_hit".to_owned(), AttributeValue::M(last));
        }
        if !self.latest.is_empty() {
            item.insert("latest".to_owned(), bytes(log::pack(&self.latest)));
        }
        if !self.owed.is_empty() {
            let mut packer = Packer::default();
            self.owed.iter().for_each(|first| packer.number(*first));
            item.insert("owed".to_owned(), bytes(packer.into_bytes()));
        }
        item
    }
}

impl Fold for Fought {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        // Hits and battles do not change. What erases a name changes nothing of what it did.
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

impl Blocks for Fought {
    fn wants(&self, all: bool) -> Option<Wanted> {
        self.boss.as_ref()?;
        if let Some(wanted) = self.waiting.wants() {
            return Some(wanted);
        }
        let (first, last) = (self.owed.iter().min()?, self.owed.iter().max()?);
        let (first, last) = (keys::log(*first), keys::log(*last));
        all.then_some(Wanted { first, last, limit: Some(AT_ONCE) })
    }

    fn look_at(&mut self, blocks: &[Row<'_>], is_last: bool) -> Result<Vec<Followed>, DynamoError> {
        if !self.waiting.is_empty() {
            for change in self.waiting.take(blocks)? {
                self.fold(&change, blocks.first().map_or("", |row| row.table))?;
            }
            return Ok(Vec::new());
        }
        let mut items = Vec::new();
        for block in blocks {
            let key = Key::of(block)?;
            let battle = keys::of_view(&key).ok_or_else(|| block.corrupt("pk", "a battle"))?;
            let Some(place) = self.owed.iter().position(|first| keys::log(*first) == key.sk) else {
                continue;
            };
            let first = self.owed.remove(place);
            items.extend(shares(&battle, first, &log::read(block)?).into_values());
        }
        match blocks.first().filter(|_| is_last && !self.owed.is_empty()) {
            Some(block) => Err(block.corrupt("sk", "all blocks of the log that are owed")),
            None => Ok(items),
        }
    }

    fn beside(&mut self, view: &Key) -> Beside {
        let mut writes = self.waiting.writes(view);
        let fresh = std::mem::take(&mut self.fresh);
        let Some(battle) = keys::of_view(view).filter(|_| !fresh.is_empty()) else {
            return Beside { writes, owed: None };
        };
        let first = self.hits - fresh.len() as u64;
        let items: Vec<_> = shares(&battle, first, &fresh).into_values().collect();
        let mut spill = |latest: &mut Vec<Landed>, end: u64| {
            let hits = std::mem::take(latest);
            writes.push(Write::Put(Self::block(view, end - hits.len() as u64, &hits)));
        };
        if items.len() <= TOGETHER {
            self.latest.extend(fresh);
            if log::pack(&self.latest).len() > LATEST {
                spill(&mut self.latest, self.hits);
            }
            writes.extend(items.into_iter().map(|share| Write::Put(share.into_item())));
            return Beside { writes, owed: None };
        }
        if !self.latest.is_empty() {
            spill(&mut self.latest, first);
        }
        writes.push(Write::Put(Self::block(view, first, &fresh)));
        self.owed.push(first);
        Beside { writes, owed: Some(Owed { decision: first, items }) }
    }

    fn settle(&mut self, decision: u64) {
        self.owed.retain(|first| *first != decision);
    }
}
