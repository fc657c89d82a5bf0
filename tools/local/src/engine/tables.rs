//! The tables, and the lock around them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dynoxide::actions::import_items;
use dynoxide::storage::Storage;
use dynoxide::{DynoxideError, ImportOptions};
use nagare_telemetry::numbers::Numbers;
use parking_lot::{Mutex, MutexGuard};
use shared::platform::dynamo::Limits;
use shared::platform::runtime::clock::Clock;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;

use super::bookkeeping;
use super::execute::{refused, run};
use super::limits::Rehearsal;
use crate::schema;

/// Prepared statements that are kept.
const STATEMENTS: usize = 256;

/// A clock, in unix milliseconds.
type Now = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(super) tables: Arc<Tables>,
    pub(super) now: Now,
    /// Where the capacity that calls consume is counted.
    pub(super) numbers: Option<Numbers>,
    pub(super) limits: Limits,
    /// Where updates are tried, if limits are smaller than DynamoDB's.
    pub(super) rehearsal: Option<Arc<Mutex<Rehearsal>>>,
}

pub(super) struct Tables {
    storage: Mutex<Storage>,
    /// The database file; `None` in memory.
    pub(super) file: Option<PathBuf>,
    /// Held while a large page is read.
    large_page: Mutex<()>,
    /// Notified when something was written.
    pub(super) written: Notify,
    /// The same, for readers of the streams of events.
    pub(super) written_events: Notify,
    pub(super) with_policy: Mutex<HashSet<String>>,
}

/// The engine could not be started, or swept.
#[derive(Debug, thiserror::Error)]
#[error("the embedded tables failed: {0}")]
pub struct EngineError(#[from] DynoxideError);

impl Engine {
    /// Empty tables in memory.
    ///
    /// They are in SQLite's in-memory file system and not in a `:memory:` database, which is one large page cache: SQLite looks through
    /// all of its cache after every commit that has moved a page, so each write would become slower as the tables grow.
    pub fn in_memory() -> Result<Self, EngineError> {
        let storage = Storage::new("file:tables?vfs=memdb")?;
        let exclusive = storage.conn().pragma_update(None, "locking_mode", "EXCLUSIVE");
        exclusive.map_err(DynoxideError::from)?;
        Self::start(storage, None)
    }

    /// Tables in a file, with the items that it has.
    pub fn open(file: &Path) -> Result<Self, EngineError> {
        let storage = Storage::new(&file.to_string_lossy())?;
        // Leaves SQLite at synchronous=NORMAL with a write-ahead log: what was acknowledged
        // survives the death of the process, at several times the speed of the default.
        storage.enable_bulk_loading()?;
        storage.disable_bulk_loading()?;
        Self::start(storage, Some(file.to_owned()))
    }

    fn start(storage: Storage, file: Option<PathBuf>) -> Result<Self, EngineError> {
        schema::create_missing(&storage)?;
        bookkeeping::create_missing(&storage)?;
        let with_policy = Mutex::new(bookkeeping::with_policy(&storage)?);
        // More than there are kinds of statements.
        storage.conn().set_prepared_statement_cache_capacity(STATEMENTS);
        let tables = Tables {
            storage: Mutex::new(storage),
            file,
            large_page: Mutex::new(()),
            written: Notify::new(),
            written_events: Notify::new(),
            with_policy,
        };
        let now = || Clock::system().now().unix_millis();
        let (tables, now) = (Arc::new(tables), Arc::new(now));
        Ok(Self { tables, now, numbers: None, limits: Limits::DYNAMODB, rehearsal: None })
    }

    /// Takes the time from `now` instead of the system. The engine forgets the tokens of transactions by it.
    #[must_use]
    pub fn with_time(self, now: Arc<dyn Fn() -> i64 + Send + Sync>) -> Self {
        Self { now, ..self }
    }

    /// Has these limits instead of DynamoDB's, which are wider.
    pub fn with_limits(self, limits: Limits) -> Result<Self, EngineError> {
        let rehearsal = Some(Arc::new(Mutex::new(Rehearsal::new(&limits)?)));
        Ok(Self { limits, rehearsal, ..self })
    }

    /// The same tables. What callers of this handle consume is counted.
    #[must_use]
    pub fn counted(&self, numbers: Numbers) -> Self {
        Self { numbers: Some(numbers), ..self.clone() }
    }

    /// Puts items into a table that does not have them yet, in one write. It does not check what is there.
    pub fn import(&self, table: &str, items: Vec<serde_json::Value>) -> Result<(), EngineError> {
        let items = items.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
        let (items, options) = (items.map_err(|e| refused(&e))?, ImportOptions::default());
        let storage = self.storage();
        run(import_items::execute_skip_gsi_deletes(&*storage, table, items, &options))?;
        Ok(())
    }

    /// The storage, locked. A panic in the engine leaves its transaction open, and so may a failed rollback on a full disk. The next
    /// caller ends that transaction here.
    pub(super) fn storage(&self) -> MutexGuard<'_, Storage> {
        let storage = self.tables.storage.lock();
        if !storage.conn().is_autocommit()
            && let Err(failure) = storage.rollback()
        {
            tracing::error!("a transaction of the tables could not be rolled back: {failure}");
        }
        storage
    }

    /// Reads a large page while other threads run the tasks and sockets of this one. One page at a time,
    /// so that there is a core left for small calls. On a runtime with one thread they wait.
    pub(super) fn on_blocking_thread<T>(&self, read: impl FnOnce() -> T) -> T {
        let alone = || {
            let _turn = self.tables.large_page.lock();
            read()
        };
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(alone),
            _ => alone(),
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}
