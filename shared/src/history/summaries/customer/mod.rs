//! The view of a customer: what they did, by name, and how often on each UTC day.
//!
//! The item has the first [`Bounds::names`] names with their tallies, and the latest [`Bounds::days`] counts of a name on a day.
//! The rest is in blocks, which are written in the same transaction:
//!
//! * **Days** beyond the limit move to a new block, the earliest first. Such a block is never written again: a late event of one of its
//!   days is counted in the item, and later in another block. The count of a name on a day is the sum over the item and all blocks.
//! * **Names** beyond the first are in [`BUCKETS`] blocks by their hash. A bucket is read before its names are counted, and written with the
//!   view, under the version of the view that was read before. So no concurrent write of either is lost.
//!
//! A full bucket takes no further name. An event of such a name is refused: its customer does not count it.
//!
//! # Lives
//!
//! An erasure empties the view, which ends its *life* and begins the next one: the view counts its
//! lives, and what is emptied keeps that number for three days. A decision reads the number with
//! the counts, and its writes are refused once the number has changed
//! ([`Snapshot`](super::Snapshot)). So after a view is emptied nothing is written that follows from
//! what it counted before.

mod rewriting;

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::fold::{CountedEvent, SummaryState};
use super::keys::{self, SummaryView};
use super::tally::{Day, Days, NameTally, NamedDays, day_of, pack_days, unpack_days};
use super::{Bounds, CustomerSummary};
use crate::platform::dynamo::item::{Item, Key, Row, number, truth};
use crate::platform::dynamo::{DynamoError, Limits};
use crate::platform::projection::{Change, Fold, State, Write};
use crate::platform::values::{EventName, MAX_EVENT_NAME_LENGTH, Packer, Unpacker, spread};

/// The number of blocks of names.
pub(super) const BUCKETS: u8 = 16;

/// Why an event of another name is refused.
pub const NO_ROOM_FOR_A_NAME: &str =
    "its customer has so many names of events that there is no room for another";

const TALLY: &str = "tally";
const NAMES: &str = "names";
const RECENT: &str = "recent";
const BLOCKS: &str = "blocks";
const FIRST_BLOCK: &str = "first_block";
const LEAVING: &str = "leaving";
const LIFE: &str = "life";
const OTHERS: &str = "other_names";
/// The attribute of a block with its content.
const CONTENT: &str = "content";
/// The bytes of a name besides its text: its length, a count of up to ten bytes, two instants.
const NAME_BYTES: usize = 28;

/// The item of a customer, without its blocks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CustomerView {
    tally: Option<NameTally>,
    names: BTreeMap<EventName, NameTally>,
    recent: NamedDays,
    /// The end of the numbers of its blocks of days, exclusive.
    blocks: u64,
    /// The first number that counts. The blocks before it were removed.
    first_block: u64,
    /// Set during its erasure, while names of its tenant may lack their first or last instant.
    pub is_leaving: bool,
    /// How often it was emptied.
    life: u64,
    others: u64,
    bounds: Bounds,
    /// The buckets that were read. Not stored in the item.
    buckets: BTreeMap<u8, NameBucket>,
}

/// Names beyond the first.
#[derive(Debug, Clone, PartialEq, Default)]
struct NameBucket {
    names: BTreeMap<EventName, NameTally>,
    is_changed: bool,
    /// Attributes of a later version, which stay as they are.
    unknown: Item,
}

impl CustomerView {
    /// True if some of it is in blocks.
    pub fn has_blocks(&self) -> bool {
        self.others > 0 || self.first_block < self.blocks
    }

    /// How often the view was emptied by an erasure. Whatever follows from the view is written on
    /// the condition that this is the same.
    pub fn life(&self) -> u64 {
        self.life
    }

    /// True if some of its names are in blocks.
    pub fn has_other_names(&self) -> bool {
        self.others > 0
    }

    /// The size of its names in blocks, in bytes, at most.
    pub fn bytes_of_other_names(&self) -> usize {
        const NAME: usize = MAX_EVENT_NAME_LENGTH + NAME_BYTES;
        usize::try_from(self.others).unwrap_or(usize::MAX).saturating_mul(NAME)
    }

    /// Its summary without its blocks.
    #[must_use]
    pub fn into_summary(self) -> CustomerSummary {
        self.counts().shown()
    }

    fn counts(self) -> CustomerSummary {
        CustomerSummary { total: self.tally, names: self.names, days: self.recent }
    }

    /// Its summary with its blocks: all of them, as read with it or later.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn with_blocks(self, blocks: &[Row<'_>]) -> Result<CustomerSummary, DynamoError> {
        self.counts_with(blocks).map(CustomerSummary::shown)
    }

    /// The same as it is stored: events that are removed before they are folded make counts negative, and a name without
    /// events is still there.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn counts_with(self, blocks: &[Row<'_>]) -> Result<CustomerSummary, DynamoError> {
        let numbers = self.first_block..self.blocks;
        let mut summary = self.counts();
        for block in blocks {
            let sk = block.text("sk")?;
            if keys::number_of_days(sk).is_some_and(|number| numbers.contains(&number)) {
                for (name, days) in read_days(block)? {
                    let sum = summary.days.entry(name.clone()).or_default();
                    sum.join(&days);
                    if sum.is_empty() {
                        summary.days.remove(&name);
                    }
                }
            }
            if keys::of_bucket(sk).is_some() {
                summary.names.extend(read_names(block)?);
            }
        }
        Ok(summary)
    }

    fn count(&mut self, said: &CountedEvent) -> Result<(), &'static str> {
        self.add(&said.name, NameTally::one(said.at))?;
        let recent = self.recent.entry(said.name.clone()).or_default();
        recent.add(day_of(said.at), 1);
        if recent.is_empty() {
            self.recent.remove(&said.name);
        }
        Ok(())
    }

    /// Adds what a name counts, to it and to the sum.
    fn add(&mut self, name: &EventName, one: NameTally) -> Result<(), &'static str> {
        let is_room = self.is_few();
        match self.names.get_mut(name) {
            Some(tally) => tally.join(one),
            None if is_room => drop(self.names.insert(name.clone(), one)),
            None => {
                let bucket = self.buckets.get_mut(&bucket_of(name));
                let bucket = bucket.ok_or("a name whose block was read")?;
                let is_full = !bucket.has_room(name, self.bounds.bucket_bytes);
                match bucket.names.get_mut(name) {
                    Some(tally) => tally.join(one),
                    None if is_full => return Err("fewer names of one customer"),
                    None => {
                        bucket.names.insert(name.clone(), one);
                        self.others += 1;
                    }
                }
                bucket.is_changed = true;
            }
        }
        match &mut self.tally {
            Some(tally) => tally.join(one),
            tally => *tally = Some(one),
        }
        Ok(())
    }

    /// True if another name has room among the first.
    fn is_few(&self) -> bool {
        self.others == 0 && self.names.len() < self.bounds.names
    }

    /// False if there is no room for this name.
    fn has_room(&self, name: &EventName) -> bool {
        let bucket = self.buckets.get(&bucket_of(name));
        let has_room = |bucket: &NameBucket| bucket.has_room(name, self.bounds.bucket_bytes);
        self.names.contains_key(name) || self.is_few() || bucket.is_none_or(has_room)
    }

    /// Takes out the earliest days, down to half of what there may be, if there are more than that.
    fn spill(&mut self) -> Option<NamedDays> {
        let most = self.bounds.days;
        let entries = self.recent.values().map(Days::len).sum::<usize>();
        let is_many = self.recent.len() > self.bounds.names * 2;
        if entries <= most && !is_many {
            return None;
        }
        let mut by_day = BTreeMap::<Day, BTreeSet<&EventName>>::new();
        for (name, days) in &self.recent {
            for (day, _) in days.iter() {
                by_day.entry(day).or_default().insert(name);
            }
        }
        // The latest days that fit into half of it stay.
        let (mut kept, mut names, mut from) = (0, BTreeSet::new(), Day::MAX);
        for (day, named) in by_day.into_iter().rev() {
            kept += named.len();
            names.extend(named);
            if kept > most / 2 || names.len() > self.bounds.names {
                break;
            }
            from = day;
        }
        let mut spilled = NamedDays::new();
        for (name, days) in &mut self.recent {
            let earlier = days.split_before(from);
            if !earlier.is_empty() {
                spilled.insert(name.clone(), earlier);
            }
        }
        self.recent.retain(|_, days| !days.is_empty());
        Some(spilled)
    }
}

impl NameBucket {
    fn has_room(&self, name: &EventName, most: usize) -> bool {
        self.names.contains_key(name)
            || self.names.keys().map(weight).sum::<usize>() + weight(name) <= most
    }
}

fn weight(name: &EventName) -> usize {
    name.as_str().len() + NAME_BYTES
}

fn bucket_of(name: &EventName) -> u8 {
    u8::try_from(spread(name.as_str()) % u16::from(BUCKETS)).unwrap_or(0)
}

fn pack_names(names: &BTreeMap<EventName, NameTally>) -> AttributeValue {
    let mut packer = Packer::default();
    for (name, tally) in names {
        packer.text(name.as_str());
        tally.pack(&mut packer);
    }
    AttributeValue::B(Blob::new(packer.into_bytes()))
}

fn unpack_names(bytes: &[u8]) -> Option<BTreeMap<EventName, NameTally>> {
    let (mut unpacker, mut names) = (Unpacker::new(bytes), BTreeMap::new());
    while !unpacker.is_empty() {
        let name = EventName::new(unpacker.text()?).ok()?;
        names.insert(name, NameTally::unpack(&mut unpacker)?);
    }
    Some(names)
}

fn read_names(block: &Row<'_>) -> Result<BTreeMap<EventName, NameTally>, DynamoError> {
    let names = block.packed(CONTENT, "names and their tallies", unpack_names)?;
    names.ok_or_else(|| block.corrupt(CONTENT, "names and their tallies"))
}

fn read_days(block: &Row<'_>) -> Result<NamedDays, DynamoError> {
    let days = block.packed(CONTENT, "names and their days", unpack_days)?;
    days.ok_or_else(|| block.corrupt(CONTENT, "names and their days"))
}

/// Days cut into what blocks hold.
fn in_blocks(days: NamedDays, most: usize) -> Vec<NamedDays> {
    /// A day and a count, at most.
    const ENTRY: usize = 15;
    let (mut blocks, mut block, mut size) = (Vec::new(), NamedDays::new(), 0);
    for (name, days) in days {
        for (day, events) in days.iter() {
            let is_new = !block.contains_key(&name);
            let more = ENTRY + if is_new { weight(&name) } else { 0 };
            if size + more > most && !block.is_empty() {
                blocks.push(std::mem::take(&mut block));
                size = 0;
            }
            size += ENTRY + if block.contains_key(&name) { 0 } else { weight(&name) };
            block.entry(name.clone()).or_default().add(day, events);
        }
    }
    if !block.is_empty() {
        blocks.push(block);
    }
    blocks
}

fn block(view: &Key, sk: String, content: AttributeValue, mut block: Item) -> Write {
    block.extend(Key { pk: view.pk.clone(), sk }.into_item());
    block.insert(CONTENT.to_owned(), content);
    Write::Put(block)
}

impl State for CustomerView {
    const ATTRIBUTES: &'static [&'static str] =
        &[TALLY, NAMES, RECENT, BLOCKS, FIRST_BLOCK, LEAVING, LIFE, OTHERS];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let expected = "a count and two instants";
        let tally = |bytes: &[u8]| {
            let mut unpacker = Unpacker::new(bytes);
            NameTally::unpack(&mut unpacker).filter(|_| unpacker.is_empty())
        };
        let count = |name| if row.item.contains_key(name) { row.count(name) } else { Ok(0) };
        Ok(Self {
            tally: row.packed(TALLY, expected, tally)?,
            names: row.packed(NAMES, "names and their tallies", unpack_names)?.unwrap_or_default(),
            recent: row.packed(RECENT, "names and their days", unpack_days)?.unwrap_or_default(),
            blocks: count(BLOCKS)?,
            first_block: count(FIRST_BLOCK)?,
            is_leaving: row.flag(LEAVING)?,
            life: count(LIFE)?,
            others: count(OTHERS)?,
            ..Self::default()
        })
    }

    fn write(&self) -> Item {
        let mut item = Item::new();
        for (name, count) in [
            (BLOCKS, self.blocks),
            (FIRST_BLOCK, self.first_block),
            (LIFE, self.life),
            (OTHERS, self.others),
        ] {
            if count > 0 {
                item.insert(name.to_owned(), number(count));
            }
        }
        if self.is_leaving {
            item.insert(LEAVING.to_owned(), truth(true));
        }
        let Some(tally) = &self.tally else { return item };
        let mut packer = Packer::default();
        tally.pack(&mut packer);
        item.insert(TALLY.to_owned(), AttributeValue::B(Blob::new(packer.into_bytes())));
        item.insert(NAMES.to_owned(), pack_names(&self.names));
        if !self.recent.is_empty() {
            let recent = AttributeValue::B(Blob::new(pack_days(&self.recent)));
            item.insert(RECENT.to_owned(), recent);
        }
        item
    }
}

impl Fold for CustomerView {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        let Some(said) = CountedEvent::of(change, facts)? else { return Ok(()) };
        self.count(&said).map_err(|expected| CountedEvent::corrupt(change, facts, "name", expected))
    }

    fn refuses(&self, change: &Change, facts: &str) -> bool {
        let said = CountedEvent::of(change, facts).ok().flatten();
        said.is_some_and(|said| !self.has_room(&said.name))
    }
}

impl SummaryState for CustomerView {
    fn needed(&self, view: &Key, changes: &[&Change], facts: &str) -> Vec<Key> {
        let said =
            changes.iter().filter_map(|change| CountedEvent::of(change, facts).ok().flatten());
        let names: BTreeSet<_> = said.map(|said| said.name).collect();
        self.buckets_of(view, &names)
    }

    fn absorb(&mut self, needed: &[Key], found: &[Row<'_>]) -> Result<(), DynamoError> {
        for bucket in needed.iter().filter_map(|key| keys::of_bucket(&key.sk)) {
            self.buckets.insert(bucket, NameBucket::default());
        }
        for block in found {
            if let Some(bucket) = keys::of_bucket(block.text("sk")?) {
                let names = read_names(block)?;
                let mut unknown = block.item.clone();
                unknown.retain(|name, _| !["pk", "sk", CONTENT].contains(&name.as_str()));
                self.buckets.insert(bucket, NameBucket { names, is_changed: false, unknown });
            }
        }
        Ok(())
    }

    fn within(self, limits: &Limits) -> Self {
        Self { bounds: Bounds::within(limits), ..self }
    }

    fn is_nothing(&self) -> bool {
        self.tally.is_none()
    }

    fn life(&self) -> u64 {
        self.life
    }

    fn side_writes(&mut self, view: &Key, is_first: bool) -> Vec<Write> {
        let mut writes = Vec::new();
        if is_first && let Some(SummaryView::Customer(customer)) = SummaryView::of_key(view) {
            writes.push(Write::Put(keys::listed(&customer).into_item()));
        }
        for (bucket, NameBucket { names, is_changed, unknown }) in &self.buckets {
            if *is_changed {
                let content = pack_names(names);
                writes.push(block(view, keys::bucket(*bucket), content, unknown.clone()));
            }
        }
        for days in in_blocks(self.spill().unwrap_or_default(), self.bounds.block_bytes) {
            let last = days.values().filter_map(Days::last).max().unwrap_or(0);
            let content = AttributeValue::B(Blob::new(pack_days(&days)));
            writes.push(block(view, keys::days(last, self.blocks), content, Item::new()));
            self.blocks += 1;
        }
        writes
    }
}
