//! Changes that wait for the one with which their subject begins: votes that come before their poll, hits before their
//! battle. They are kept in blocks beside the view as they came, and folded once it has come.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{Change, Wanted, Write};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Key, Row, list, number, text};

/// How the sort keys of such blocks begin.
const WAITING: &str = "waiting#";
/// The attribute with the changes.
const CHANGES: &str = "changes";
/// The most that is put into one block, in bytes or so: an item has room for three times as much.
const BLOCK: usize = 128 * 1024;
/// How many blocks are folded at once: each is deleted in the transaction that folds it.
const AT_ONCE: i32 = 40;

/// The changes that wait: blocks from one number to another, the second excluded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Waiting {
    first: u64,
    next: u64,
    fresh: Vec<Change>,
    used: Vec<Key>,
}

impl Waiting {
    /// Reads it from the attributes of a view.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let count = |name| if row.item.contains_key(name) { row.count(name) } else { Ok(0) };
        Ok(Self { first: count("waiting_from")?, next: count("waiting_to")?, ..Self::default() })
    }

    /// The attributes of its view.
    pub fn write(&self, item: &mut Item) {
        if self.next > 0 {
            item.insert("waiting_from".to_owned(), number(self.first));
            item.insert("waiting_to".to_owned(), number(self.next));
        }
    }

    /// True if nothing waits in blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// The same, with nothing in blocks.
    #[must_use]
    pub fn without_blocks(self) -> Self {
        Self { first: self.next, ..self }
    }

    /// True if a block was folded, or never will be.
    #[must_use]
    pub fn is_past(&self, block: &str) -> bool {
        is_block(block) && *block < *sort_key(self.first)
    }

    /// One more waits.
    pub fn push(&mut self, change: &Change) {
        self.fresh.push(change.clone());
    }

    /// The blocks with those that waited longest.
    #[must_use]
    pub fn wants(&self) -> Option<Wanted> {
        let last = self.next.checked_sub(1).filter(|_| !self.is_empty())?;
        let (first, last) = (sort_key(self.first), sort_key(last));
        Some(Wanted { first, last, limit: Some(AT_ONCE) })
    }

    /// The changes in these blocks, which wait no longer. Nothing, if they are others than those wanted.
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

    /// What is written together with the view at a key.
    pub fn writes(&mut self, view: &Key) -> Vec<Write> {
        let used = self.used.drain(..).map(Write::Delete);
        let mut writes: Vec<_> = used.collect();
        let (mut changes, mut size) = (Vec::new(), 0);
        let mut fresh = std::mem::take(&mut self.fresh).into_iter().peekable();
        while let Some(change) = fresh.next() {
            size += weight(&change);
            changes.push(AttributeValue::M(write_change(change)));
            if size >= BLOCK || fresh.peek().is_none() {
                let key = Key { pk: view.pk.clone(), sk: sort_key(self.next) };
                let mut block = key.into_item();
                block.insert(CHANGES.to_owned(), list(std::mem::take(&mut changes)));
                writes.push(Write::Put(block));
                (self.next, size) = (self.next + 1, 0);
            }
        }
        writes
    }
}

/// True if that is the sort key of such a block.
#[must_use]
pub fn is_block(sort_key: &str) -> bool {
    sort_key.starts_with(WAITING)
}

/// Makes something else of the changes that wait in a block, or nothing. False if that is what they were.
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

/// How much room a change takes, in bytes or so.
#[must_use]
pub fn weight(change: &Change) -> usize {
    let images = [&change.before, &change.after].into_iter().flatten();
    128 + images.map(of_item).sum::<usize>()
}

fn of_item(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + of_value(value)).sum()
}

fn of_value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text.len(),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::L(list) => list.iter().map(|value| 3 + of_value(value)).sum(),
        AttributeValue::M(map) => 3 + of_item(map),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        _ => 8,
    }
}
