//! The embedded tables: a DynamoDB-compatible engine over SQLite, in this process.

use std::path::Path;
use std::sync::Arc;

use dynoxide::{Database, DynoxideError};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::Mutex;

use super::schema;

/// The engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    database: Database,
    /// The engine does one thing at a time behind a mutex of its own. Callers queue up here instead,
    /// where waiting does not hold up a thread.
    turn: Arc<Mutex<()>>,
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
        Ok(Self {
            database,
            turn: Arc::default(),
        })
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

    /// Does one operation of the DynamoDB protocol: status and body of the answer.
    pub async fn call(&self, operation: &str, body: &[u8]) -> (u16, String) {
        match self.dispatch(operation, body).await {
            Ok(answer) => (200, answer),
            Err(error) => (error.status_code(), error.to_json()),
        }
    }

    async fn dispatch(&self, operation: &str, body: &[u8]) -> Result<String, DynoxideError> {
        match operation {
            "BatchGetItem" => self.run(body, Database::batch_get_item).await,
            "BatchWriteItem" => self.run(body, Database::batch_write_item).await,
            "DeleteItem" => self.run(body, Database::delete_item).await,
            "DescribeTable" => self.run(body, Database::describe_table).await,
            "GetItem" => self.run(body, Database::get_item).await,
            "PutItem" => self.run(body, Database::put_item).await,
            "Query" => self.run(body, Database::query).await,
            "Scan" => self.run(body, Database::scan).await,
            "TransactWriteItems" => self.run(body, Database::transact_write_items).await,
            "UpdateItem" => self.run(body, Database::update_item).await,
            other => Err(DynoxideError::ValidationException(format!(
                "{other} is not served here"
            ))),
        }
    }

    /// Parses and prints outside the engine's turn.
    async fn run<Q: DeserializeOwned, A: Serialize>(
        &self,
        body: &[u8],
        operation: impl FnOnce(&Database, Q) -> Result<A, DynoxideError>,
    ) -> Result<String, DynoxideError> {
        let refused = |e: serde_json::Error| DynoxideError::SerializationException(e.to_string());
        let request = serde_json::from_slice(body).map_err(refused)?;
        let answer = {
            let _turn = self.turn.lock().await;
            operation(&self.database, request)?
        };
        serde_json::to_string(&answer).map_err(refused)
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}
