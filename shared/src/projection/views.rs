//! The table of views: how they are read, and written unless somebody else has.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put as TransactPut, TransactWriteItem};

use super::{Change, HighWaterMarks, Shard};
use crate::dynamo::item::{Item, Key, Row, number};
use crate::dynamo::{BATCH_GET, Condition, Dynamo, DynamoError, Put, Table};
use crate::ledger::FORGET_AT;
use crate::runtime::deadline::Deadline;
use crate::values::Timestamp;

/// How far the view has come.
const MARKS: &str = "marks";
/// How often it was written: nobody else has written it as long as this stays the same.
const VERSION: &str = "version";
const UNWRITTEN: &str = "attribute_not_exists(version)";
const UNCHANGED: &str = "version = :seen";

/// What an item among the views says.
pub trait State: Default {
    /// Reads it.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    fn read(row: &Row<'_>) -> Result<Self, DynamoError>;

    /// Writes it: attributes other than those of this module.
    fn write(&self) -> Item;
}

/// What a projection makes of changes.
pub trait Fold: State {
    /// Goes on by one change.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: a row that is not what the feature writes.
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError>;
}

/// A view as it was read, or as nobody has written it yet; and what has been folded into it since.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct View<S> {
    /// What it says.
    pub state: S,
    marks: HighWaterMarks,
    version: i64,
    forget_at: Option<AttributeValue>,
}

impl<S: State> View<S> {
    /// Reads it from its item.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read_from(row: &Row<'_>) -> Result<Self, DynamoError> {
        let marks =
            row.packed(MARKS, "the high-water marks of a view", HighWaterMarks::from_bytes)?;
        Ok(Self {
            state: S::read(row)?,
            marks: marks.unwrap_or_default(),
            version: row.number(VERSION)?,
            forget_at: row.item.get(FORGET_AT).cloned(),
        })
    }

    /// True if it has been written.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.version > 0
    }

    /// How often it was written: two readings of the same version are of the same view.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The same view, saying something else.
    #[must_use]
    pub fn with(self, state: S) -> Self {
        Self { state, ..self }
    }

    /// The same view as of what another has folded: what that has passed is in what this one says.
    #[must_use]
    pub fn caught_up_with<T>(mut self, other: &View<T>) -> Self {
        self.marks.join(&other.marks);
        self
    }

    /// The same, once it is written.
    #[must_use]
    pub fn written(self) -> Self {
        Self { version: self.version + 1, ..self }
    }

    /// What writes it, unless somebody else has written it since it was read.
    #[must_use]
    pub fn write(&self, key: Key) -> Write {
        let mut item = key.into_item();
        item.extend(self.state.write());
        if !self.marks.is_empty() {
            let marks = AttributeValue::B(Blob::new(self.marks.to_bytes()));
            item.insert(MARKS.to_owned(), marks);
        }
        item.insert(VERSION.to_owned(), number(self.version + 1));
        // A view of what was erased goes at its time, whatever is folded into it until then.
        item.extend(self.forget_at.clone().map(|at| (FORGET_AT.to_owned(), at)));
        Write::View { item, seen: self.version }
    }
}

impl<F: Fold> View<F> {
    /// Folds changes of one shard, in their order. What it has folded already is passed. Returns how many were new.
    ///
    /// `facts` is the name of the table that the changes are of, for errors.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: the view is of no use any more.
    pub fn fold(
        &mut self,
        shard: Shard,
        changes: &[&Change],
        facts: &str,
        now: Timestamp,
    ) -> Result<usize, DynamoError> {
        let mut new = 0;
        for change in changes {
            if self.marks.is_new(shard, change.sequence) {
                self.state.fold(change, facts)?;
                self.marks.raise(shard, change.sequence, now);
                new += 1;
            }
        }
        Ok(new)
    }
}

/// A change of the table of views.
#[derive(Debug, Clone)]
pub enum Write {
    /// A view, which is as it was when it was seen.
    View {
        /// All of it.
        item: Item,
        /// The version that was read.
        seen: i64,
    },
    /// An item that only those write who write a view with it.
    Put(Item),
    /// The same, deleted.
    Delete(Key),
}

/// The table of views. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Views(Table);

impl Views {
    /// The views in this table.
    #[must_use]
    pub fn new(table: Table) -> Self {
        Self(table)
    }

    /// The same for another piece of work, whose usage counts there.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self(self.0.over(dynamo))
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.0
    }

    /// The view at a key.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn read<S: State>(
        &self,
        key: Key,
        deadline: Deadline,
    ) -> Result<View<S>, DynamoError> {
        let row = self.0.get(key.into_item(), deadline).await?;
        row.as_ref().map_or_else(|| Ok(View::default()), View::read_from)
    }

    /// The views at these keys, none of them named twice, in the same order; an error for each that is not what a
    /// view should be.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn read_all<S: State>(
        &self,
        keys: &[Key],
        deadline: Deadline,
    ) -> Result<Vec<Result<View<S>, DynamoError>>, DynamoError> {
        let mut found = HashMap::with_capacity(keys.len());
        for some in keys.chunks(BATCH_GET) {
            let items = some.iter().cloned().map(Key::into_item).collect();
            for row in self.0.batch_get(items, deadline).await? {
                found.insert(Key::of(&row)?, View::read_from(&row));
            }
        }
        let view = |key| found.remove(key).unwrap_or_else(|| Ok(View::default()));
        Ok(keys.iter().map(view).collect())
    }

    /// Writes all of these or none. False if one of the views was written by somebody else.
    ///
    /// A single one is a put, several are a transaction, at twice the units.
    ///
    /// # Errors
    /// [`DynamoError`]; they may have been written.
    pub async fn write(
        &self,
        mut writes: Vec<Write>,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        if let [Write::View { .. }] = writes.as_slice() {
            let Some(Write::View { item, seen }) = writes.pop() else { return Ok(true) };
            let unchanged = match seen {
                0 => Condition::new(UNWRITTEN),
                _ => Condition::new(UNCHANGED).value(":seen", number(seen)),
            };
            return Ok(self.0.put_if(item, unchanged, deadline).await? == Put::Done);
        }
        let items = writes.len();
        let writes: Result<Vec<_>, _> = writes.into_iter().map(|write| self.item(write)).collect();
        let committed = self.0.transact(writes?, deadline).await?;
        if committed {
            self.0.count_written(items);
        }
        Ok(committed)
    }

    fn item(&self, write: Write) -> Result<TransactWriteItem, DynamoError> {
        let put = TransactPut::builder().table_name(self.0.name());
        let put = match write {
            Write::Delete(key) => {
                let delete = Delete::builder().table_name(self.0.name());
                let delete = delete.set_key(Some(key.into_item())).build()?;
                return Ok(TransactWriteItem::builder().delete(delete).build());
            }
            Write::Put(item) => put.set_item(Some(item)),
            Write::View { item, seen: 0 } => {
                put.set_item(Some(item)).condition_expression(UNWRITTEN)
            }
            Write::View { item, seen } => put
                .set_item(Some(item))
                .condition_expression(UNCHANGED)
                .expression_attribute_values(":seen", number(seen)),
        };
        Ok(TransactWriteItem::builder().put(put.build()?).build())
    }
}
