//! The table of views: reads, and writes on the condition that nobody else has written.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{Delete, Put as TransactPut, TransactWriteItem};
use futures::{StreamExt, TryStreamExt, stream};

use super::{DerivedItem, Note, Reader, State, View};
use crate::platform::dynamo::item::{Item, Key, number};
use crate::platform::dynamo::limits::item_bytes;
use crate::platform::dynamo::{
    BATCH_GET, Condition, Dynamo, DynamoError, IN_FLIGHT, PacedTable, Put, Table,
};

const UNWRITTEN: &str = "attribute_not_exists(version)";
const UNCHANGED: &str = "version = :seen";

impl Write {
    /// Its size in bytes, as DynamoDB counts it.
    pub fn weight(&self) -> usize {
        match self {
            Self::View { item, .. } | Self::Put(item) => item_bytes(item),
            Self::Delete(Key { pk, sk }) => pk.len() + sk.len(),
        }
    }
}

/// A change of the table of views.
#[derive(Debug, Clone)]
pub enum Write {
    /// A view that has not changed since it was read.
    View { item: Item, seen: i64 },
    /// An item that is only written together with its view.
    Put(Item),
    /// Deletes such an item.
    Delete(Key),
}

/// The table of views. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Views(Table);

impl Views {
    pub fn new(table: Table) -> Self {
        Self(table)
    }

    /// The same table, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self(self.0.over(dynamo))
    }

    pub fn table(&self) -> &Table {
        &self.0
    }

    pub async fn read<S: State>(&self, key: Key, read: Reader<S>) -> Result<View<S>, DynamoError> {
        let row = self.0.get(key.into_item()).await?;
        row.as_ref().map_or_else(|| Ok(View::default()), read)
    }

    /// The views at these keys, which must differ, in the same order. A view that cannot be read is an error in its place.
    ///
    /// # Errors
    /// [`DynamoError`]: none was read.
    pub async fn read_all<S: State>(
        &self,
        keys: &[Key],
        read: Reader<S>,
    ) -> Result<Vec<Result<View<S>, DynamoError>>, DynamoError> {
        let mut found = HashMap::with_capacity(keys.len());
        for some in keys.chunks(BATCH_GET) {
            let items = some.iter().cloned().map(Key::into_item).collect();
            for row in self.0.batch_get(items).await? {
                found.insert(Key::of(&row)?, read(&row));
            }
        }
        let view = |key| found.remove(key).unwrap_or_else(|| Ok(View::default()));
        Ok(keys.iter().map(view).collect())
    }

    /// Takes people off the list of a view that was just read, if it is long, and writes what is counted of them
    /// ([`caller_part`](super::caller_part)).
    ///
    /// # Errors
    /// [`DynamoError`]; some may be written. The view must not be written.
    pub async fn note_leaving<S: State>(
        &self,
        key: &Key,
        view: &mut View<S>,
    ) -> Result<(), DynamoError> {
        let notes = view.leaving(key).into_iter().map(async |note: Note| {
            let newer = note.is_newer();
            self.0.put_if(note.into_item(), newer).await.map(|_| ())
        });
        stream::iter(notes).buffer_unordered(IN_FLIGHT).try_collect().await
    }

    /// The notes with these keys, which must differ, at most [`BATCH_GET`].
    pub async fn notes(&self, keys: Vec<Key>) -> Result<HashMap<Key, Note>, DynamoError> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = self.0.batch_get(keys.into_iter().map(Key::into_item).collect()).await?;
        let notes = rows.iter().map(Note::read);
        notes.map(|note| note.map(|note| (note.key().clone(), note))).collect()
    }

    /// Writes all of these or none. Returns false if somebody else has written one of the views.
    ///
    /// A single one is a put, several are a transaction, at twice the units.
    ///
    /// # Errors
    /// [`DynamoError`]; they may have been written.
    pub async fn write(&self, mut writes: Vec<Write>) -> Result<bool, DynamoError> {
        if let [Write::View { .. }] = writes.as_slice() {
            let Some(Write::View { item, seen }) = writes.pop() else { return Ok(true) };
            let unchanged = match seen {
                0 => Condition::new(UNWRITTEN),
                _ => Condition::new(UNCHANGED).value(":seen", number(seen)),
            };
            return Ok(self.0.put_if(item, unchanged).await? == Put::Done);
        }
        self.transact(self.transaction(writes)?).await
    }

    /// The same, with items of other tables. Returns false if a condition of any of them did not hold.
    ///
    /// # Errors
    /// [`DynamoError`]; they may have been written.
    pub async fn write_with(
        &self,
        writes: Vec<Write>,
        others: Vec<TransactWriteItem>,
    ) -> Result<bool, DynamoError> {
        if others.is_empty() {
            return self.write(writes).await;
        }
        let mut items = self.transaction(writes)?;
        items.extend(others);
        self.transact(items).await
    }

    async fn transact(&self, items: Vec<TransactWriteItem>) -> Result<bool, DynamoError> {
        let count = items.len();
        let committed = self.0.transact(items).await?;
        if committed {
            self.0.count_written(count);
        }
        Ok(committed)
    }

    /// These writes as items of a larger transaction.
    pub fn transaction(&self, writes: Vec<Write>) -> Result<Vec<TransactWriteItem>, DynamoError> {
        writes.into_iter().map(|write| self.item(write)).collect()
    }

    /// Writes items as they are.
    pub(super) async fn put_whole(&self, items: &[DerivedItem]) -> Result<(), DynamoError> {
        if items.is_empty() {
            return Ok(());
        }
        let table = PacedTable::new(self.0.clone());
        table.write(items, self.0.deadline()).await?.whole().map(|_| ())
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
