//! The embedded tables: a DynamoDB-compatible engine over SQLite, in this process.

use std::collections::HashSet;
use std::path::Path;

use dynoxide::actions::batch_write_item::{
    BatchWriteItemRequest, BatchWriteItemResponse, WriteRequest,
};
use dynoxide::types::{AttributeValue, Item};
use dynoxide::{Database, DynoxideError, ImportOptions};
use serde::{Serialize, de::DeserializeOwned};

use super::schema;

/// Items DynamoDB takes in one batch.
const BATCH: usize = 25;
/// What a writer puts into an entry, all of it short.
const ENTRY_ATTRIBUTES: [&str; 4] = ["viewer_id", "sort_key", "actor_id", "expires_at"];

/// The engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    database: Database,
}

/// The engine could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the embedded tables could not be opened: {0}")]
pub struct EngineError(#[from] DynoxideError);

impl Engine {
    /// Tables in memory, empty.
    ///
    /// They are in SQLite's in-memory file system and not in a `:memory:` database, which is one large
    /// page cache: SQLite looks through all of its cache after every commit that has moved a page, so
    /// each write would become slower as the tables grow.
    ///
    /// # Errors
    /// [`EngineError`]
    pub fn in_memory() -> Result<Self, EngineError> {
        Self::start(Database::new("file:tables?vfs=memdb")?)
    }

    /// Tables in a file, as they were left.
    ///
    /// # Errors
    /// [`EngineError`]
    pub fn open(file: &Path) -> Result<Self, EngineError> {
        let database = Database::new(&file.to_string_lossy())?;
        // Leaves SQLite at synchronous=NORMAL with a write-ahead log: what was acknowledged
        // survives the death of the process, at several times the speed of the default.
        database.enable_bulk_loading()?;
        database.disable_bulk_loading()?;
        Self::start(database)
    }

    fn start(database: Database) -> Result<Self, EngineError> {
        schema::create_missing(&database)?;
        Ok(Self { database })
    }

    /// The database itself, to serve it over HTTP.
    #[must_use]
    pub fn database(&self) -> Database {
        self.database.clone()
    }

    /// Drops what its TTL has passed by, as DynamoDB does some time after.
    ///
    /// # Errors
    /// [`EngineError`]
    pub fn sweep(&self) -> Result<usize, EngineError> {
        Ok(self.database.sweep_ttl()?)
    }

    /// Does one operation of the DynamoDB protocol: status and body of the answer. Holds up its thread
    /// while another call is in the engine.
    #[must_use]
    pub fn call(&self, operation: &str, body: &[u8]) -> (u16, String) {
        match self.dispatch(operation, body) {
            Ok(answer) => (200, answer),
            Err(error) => (error.status_code(), error.to_json()),
        }
    }

    fn dispatch(&self, operation: &str, body: &[u8]) -> Result<String, DynoxideError> {
        match operation {
            "BatchGetItem" => self.run(body, Database::batch_get_item),
            "BatchWriteItem" => self.run(body, batch_write),
            "DeleteItem" => self.run(body, Database::delete_item),
            "DescribeTable" => self.run(body, Database::describe_table),
            "GetItem" => self.run(body, Database::get_item),
            "PutItem" => self.run(body, Database::put_item),
            "Query" => self.run(body, Database::query),
            "Scan" => self.run(body, Database::scan),
            "TransactWriteItems" => self.run(body, Database::transact_write_items),
            "UpdateItem" => self.run(body, Database::update_item),
            other => Err(DynoxideError::ValidationException(format!("{other} is not served here"))),
        }
    }

    /// Parses and prints outside of the engine, which does one thing at a time behind its own mutex.
    fn run<Q: DeserializeOwned, A: Serialize>(
        &self,
        body: &[u8],
        operation: impl FnOnce(&Database, Q) -> Result<A, DynoxideError>,
    ) -> Result<String, DynoxideError> {
        let refused = |e: serde_json::Error| DynoxideError::SerializationException(e.to_string());
        let request = serde_json::from_slice(body).map_err(refused)?;
        let answer = operation(&self.database, request)?;
        serde_json::to_string(&answer).map_err(refused)
    }
}

/// Writes a batch. The engine commits every item of a batch on its own; a batch of nothing but entries
/// goes in as one import, which is one commit and several times as fast. Whatever else a batch may
/// be, the engine judges it itself.
fn batch_write(
    database: &Database,
    request: BatchWriteItemRequest,
) -> Result<BatchWriteItemResponse, DynoxideError> {
    let table = schema::tables().timelines;
    if !is_only_entries(&table, &request) {
        return database.batch_write_item(request);
    }
    let writes = request.request_items.into_values().flatten();
    let entries = writes.filter_map(|write| Some(write.put_request?.item)).collect();
    database.import_items(&table, entries, ImportOptions::default())?;
    Ok(BatchWriteItemResponse::default())
}

/// True for a batch that puts entries, each under another key, into the one table.
fn is_only_entries(table: &str, request: &BatchWriteItemRequest) -> bool {
    let mut tables = request.request_items.iter();
    let (Some((name, writes)), None) = (tables.next(), tables.next()) else {
        return false;
    };
    let mut keys = HashSet::new();
    let mut is_entry = |write: &WriteRequest| match (&write.put_request, &write.delete_request) {
        (Some(put), None) => {
            put.item.len() == ENTRY_ATTRIBUTES.len()
                && ENTRY_ATTRIBUTES.iter().all(|name| put.item.contains_key(*name))
                && keys.insert(key_of(&put.item))
        }
        _ => false,
    };
    name == table && (1..=BATCH).contains(&writes.len()) && writes.iter().all(&mut is_entry)
}

fn key_of(item: &Item) -> [String; 2] {
    let text = |name: &str| match item.get(name) {
        Some(AttributeValue::S(text)) => text.clone(),
        _ => String::new(),
    };
    [text("viewer_id"), text("sort_key")]
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}
