//! Changes that come before the one that opens their subject: votes before their poll, hits before their battle. They wait in blocks
//! beside the view, and are folded once the subject is opened.
//!
//! Changes of one row that are written together wait as one change, from the row before the first to the row after the last. The size
//! of a change is computed before it is added, so blocks have a largest size, and only their number grows with the number of changes.
//! Blocks are read a few at a time.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{BlockRange, Change, Write};
use crate::platform::dynamo::item::{Item, Key, Row, list, number, text};
use crate::platform::dynamo::limits::{item_bytes, value_bytes};
use crate::platform::dynamo::{DynamoError, Limits};

/// The prefix of the sort keys of these blocks.
const WAITING: &str = "waiting#";
/// The attribute with the changes.
const CHANGES: &str = "changes";
/// The attribute of a view with the number of the first block.
pub const FROM: &str = "waiting_from";
/// The attribute of a view with the number after the last block.
pub const TO: &str = "waiting_to";
/// The most blocks folded at once: each is deleted in the transaction that folds it.
const MAX_BLOCKS_PER_TRANSACTION: i32 = 40;

/// The changes that wait, in blocks from `first` to `next`, the latter excluded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Waiting {
    first: u64,
    next: u64,
    fresh: Vec<Change>,
    used: Vec<Key>,
}

impl Waiting {
    /// Reads the range of blocks from the attributes of a view.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let count = |name| if row.item.contains_key(name) { row.count(name) } else { Ok(0) };
        Ok(Self { first: count(FROM)?, next: count(TO)?, ..Self::default() })
    }

    /// Writes the range of blocks to the attributes of a view.
    pub fn write(&self, item: &mut Item) {
        if self.next > 0 {
            item.insert(FROM.to_owned(), number(self.first));
            item.insert(TO.to_owned(), number(self.next));
        }
    }

    /// True if no change waits in a block.
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// The same, as if all blocks were folded.
    #[must_use]
    pub fn without_blocks(self) -> Self {
        Self { first: self.next, ..self }
    }

    /// True if the block with this sort key is not needed: it was folded, or [never will be](Self::without_blocks).
    pub fn is_past(&self, block: &str) -> bool {
        is_block(block) && *block < *sort_key(self.first)
    }

    /// Adds a change. If the last change of the same row ends where this one begins, they become one.
    pub fn push(&mut self, change: &Change) {
        let same = self.fresh.iter_mut().rfind(|fresh| fresh.key == change.key);
        match same.filter(|fresh| fresh.after == change.before) {
            Some(fresh) => {
                (fresh.after, fresh.sequence, fresh.at) =
                    (change.after.clone(), change.sequence, change.at);
            }
            None => self.fresh.push(change.clone()),
        }
    }

    /// The oldest blocks, up to the limit of a transaction.
    pub fn needed_blocks(&self) -> Option<BlockRange> {
        let last = self.next.checked_sub(1).filter(|_| !self.is_empty())?;
        let (first, last) = (sort_key(self.first), sort_key(last));
        Some(BlockRange { first, last, limit: Some(MAX_BLOCKS_PER_TRANSACTION) })
    }

    /// Takes the changes out of these blocks, which have to be the oldest.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn take(&mut self, blocks: &[Row<'_>]) -> Result<Vec<Change>, DynamoError> {
        let mut changes = Vec::new();
        for block in blocks {
            let key = Key::of(block)?;
            if key.sk != sort_key(self.first) || self.is_empty() {
                return Err(block.corrupt("sk", "changes that wait"));
            }
            changes.extend(read_changes(block)?);
            self.first += 1;
            self.used.push(key);
        }
        Ok(changes)
    }

    /// The writes that go into the transaction of the view with this key.
    pub fn writes(&mut self, view: &Key, limits: &Limits) -> Vec<Write> {
        let used = self.used.drain(..).map(Write::Delete);
        let mut writes: Vec<_> = used.collect();
        let mut block = Vec::new();
        let room = limits.block_bytes.saturating_sub(self.block(view, Vec::new()).weight());
        let mut size = 0;
        for change in std::mem::take(&mut self.fresh) {
            let change = AttributeValue::M(write_change(change));
            let weight = 1 + value_bytes(&change);
            if size + weight > room && !block.is_empty() {
                writes.push(self.block(view, std::mem::take(&mut block)));
                (self.next, size) = (self.next + 1, 0);
            }
            size += weight;
            block.push(change);
        }
        if !block.is_empty() {
            writes.push(self.block(view, block));
            self.next += 1;
        }
        writes
    }

    /// The next block, in the partition of this view.
    fn block(&self, view: &Key, changes: Vec<AttributeValue>) -> Write {
        let mut block = Key { pk: view.pk.clone(), sk: sort_key(self.next) }.into_item();
        block.insert(CHANGES.to_owned(), list(changes));
        Write::Put(block)
    }
}

/// True for the sort key of a block with changes that wait.
pub fn is_block(sort_key: &str) -> bool {
    sort_key.starts_with(WAITING)
}

/// Replaces each change of a block by what `each` returns, or removes it. Returns false if nothing changed.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn rewrite(
    block: &mut Row<'_>,
    each: impl FnMut(Change) -> Option<Change>,
) -> Result<bool, DynamoError> {
    let before = read_changes(block)?;
    let after: Vec<_> = before.iter().cloned().filter_map(each).collect();
    let is_changed = before != after;
    let after = after.into_iter().map(|change| AttributeValue::M(write_change(change))).collect();
    block.item.insert(CHANGES.to_owned(), list(after));
    Ok(is_changed)
}

fn read_changes(block: &Row<'_>) -> Result<Vec<Change>, DynamoError> {
    let wrong = || block.corrupt(CHANGES, "changes that wait");
    let list = block.item.get(CHANGES).and_then(|list| list.as_l().ok()).ok_or_else(wrong)?;
    let changes = list.iter().map(|change| read_change(change, block.table));
    changes.collect::<Option<_>>().ok_or_else(wrong)
}

fn sort_key(block: u64) -> String {
    format!("{WAITING}{block:020}")
}

fn write_change(change: Change) -> Item {
    let Key { pk, sk } = change.key;
    let mut item = Item::from([
        ("pk".to_owned(), text(pk)),
        ("sk".to_owned(), text(sk)),
        ("sequence".to_owned(), text(change.sequence.to_string())),
        ("at".to_owned(), text(change.at.to_string())),
    ]);
    for (name, image) in [("before", change.before), ("after", change.after)] {
        item.extend(image.map(|image| (name.to_owned(), AttributeValue::M(image))));
    }
    item
}

fn read_change(value: &AttributeValue, table: &str) -> Option<Change> {
    let row = Row { table, item: value.as_m().ok()?.clone() };
    let image = |name: &str| match row.item.get(name) {
        None => Some(None),
        Some(AttributeValue::M(image)) => Some(Some(image.clone())),
        Some(_) => None,
    };
    Some(Change {
        key: Key::of(&row).ok()?,
        before: image("before")?,
        after: image("after")?,
        sequence: row.parsed("sequence", "a sequence number").ok()?,
        at: row.parsed("at", "an instant").ok()?,
        redriven: None,
    })
}

/// The approximate size of a change, in bytes.
pub fn weight(change: &Change) -> usize {
    let images = [&change.before, &change.after].into_iter().flatten();
    128 + images.map(item_bytes).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::values::Timestamp;

    fn change(row: &str, before: Option<&str>, after: &str) -> Change {
        let image = |says: &str| Item::from([("says".to_owned(), text(says))]);
        Change {
            key: Key { pk: "row".to_owned(), sk: row.to_owned() },
            before: before.map(image),
            after: Some(image(after)),
            sequence: "1".parse().expect("a number"),
            at: Timestamp::from_unix_millis(0),
            redriven: None,
        }
    }

    fn view() -> Key {
        Key { pk: "view".to_owned(), sk: "view".to_owned() }
    }

    fn blocks(waiting: &mut Waiting, limits: &Limits) -> Vec<(usize, Vec<Change>)> {
        let writes = waiting.writes(&view(), limits).into_iter();
        let block = |write: Write| {
            let weight = write.weight();
            let Write::Put(item) = write else { panic!("a block") };
            (weight, read_changes(&Row { table: "views", item }).expect("changes"))
        };
        writes.map(block).collect()
    }

    #[test]
    fn a_change_is_weighed_before_it_is_added() {
        let limits = Limits { block_bytes: 1_000, ..Limits::DYNAMODB };
        let mut waiting = Waiting::default();
        for n in 0..20 {
            waiting.push(&change(&n.to_string(), None, &"x".repeat(n * 20)));
        }
        let blocks = blocks(&mut waiting, &limits);
        assert!(blocks.iter().all(|(weight, _)| *weight <= 1_000), "{blocks:?}");
        let changes: Vec<_> = blocks.into_iter().flat_map(|(_, changes)| changes).collect();
        assert_eq!(changes.len(), 20);
        assert!(changes.iter().zip(0..).all(|(change, n)| change.key.sk == n.to_string()));
    }

    #[test]
    fn changes_of_one_row_wait_as_one() {
        let mut waiting = Waiting::default();
        let one =
            [("a", None, "1"), ("b", None, "1"), ("a", Some("1"), "2"), ("a", Some("2"), "3")];
        one.iter().for_each(|(row, before, after)| waiting.push(&change(row, *before, after)));
        // A change in between was set aside, so this one does not begin where the last one ends.
        waiting.push(&change("a", Some("7"), "8"));
        let all = blocks(&mut waiting, &Limits::DYNAMODB);
        let [(_, changes)] = all.as_slice() else { panic!("one block") };
        let expected =
            [change("a", None, "3"), change("b", None, "1"), change("a", Some("7"), "8")];
        assert_eq!(changes.as_slice(), expected);
    }
}
