//! The embedded tables: a DynamoDB-compatible engine over SQLite, in this process.
//!
//! Every operation runs in the engine's own implementation; the most frequent ones take a fast path (`fast_path`, `edges`, `get`). One lock
//! is held during an operation, so no other call comes between a check and its put. Only pages of followers are read in several
//! steps, with other calls in between.
//!
//! `transactions` honours `ClientRequestToken`. `stream` reads the streams of tables. `control` has the operations on tables
//! themselves. `sweep` drops what has expired.

pub(crate) mod compact;
mod control;
pub mod edges;
mod expressions;
mod fast_path;
mod get;
mod limits;
pub mod mappings;
pub mod stream;
mod sweep;
mod transactions;
mod units;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dynoxide::actions::query::{QueryRequest, QueryResponse};
use dynoxide::actions::scan::{ScanRequest, ScanResponse};
use dynoxide::actions::transact_write_items::{
    TransactWriteItemsRequest, TransactWriteItemsResponse,
};
use dynoxide::actions::update_item::{UpdateItemRequest, UpdateItemResponse};
use dynoxide::actions::{
    batch_get_item, delete_item, describe_time_to_live, get_item, import_items, list_tables, scan,
    transact_get_items,
};
use dynoxide::storage::Storage;
use dynoxide::{DynoxideError, ImportOptions};
use futures::FutureExt;
use nagare_telemetry::numbers::Numbers;
use parking_lot::{Mutex, MutexGuard};
use serde::{Serialize, de::DeserializeOwned};
use shared::platform::dynamo::Limits;
use shared::platform::runtime::clock::Clock;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;

use self::edges::EdgesQuery;
use self::get::Get;
use self::limits::{Limited, Rehearsal};
use self::units::{Asking, Reporting};
use super::schema;

/// The most items that one page of a scan reads.
const MOST_SCANNED: usize = 2_000;

/// Prepared statements that are kept.
const STATEMENTS: usize = 256;

/// A clock, in unix milliseconds.
type Now = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    tables: Arc<Tables>,
    now: Now,
    /// Where the capacity that calls consume is counted.
    numbers: Option<Numbers>,
    limits: Limits,
    /// Where updates are tried, if limits are smaller than DynamoDB's.
    rehearsal: Option<Arc<Mutex<Rehearsal>>>,
}

struct Tables {
    storage: Mutex<Storage>,
    /// The database file; `None` in memory.
    file: Option<PathBuf>,
    /// Held while a large page is read.
    large_page: Mutex<()>,
    /// Notified when something was written.
    written: Notify,
    /// The same, for readers of the streams of events.
    written_events: Notify,
    /// The tables that have a policy.
    with_policy: Mutex<HashSet<String>>,
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
    ///
    /// # Errors
    /// [`EngineError`]
    pub fn in_memory() -> Result<Self, EngineError> {
        let storage = Storage::new("file:tables?vfs=memdb")?;
        let exclusive = storage.conn().pragma_update(None, "locking_mode", "EXCLUSIVE");
        exclusive.map_err(DynoxideError::from)?;
        Self::start(storage, None)
    }

    /// Tables in a file, with the items that it has.
    ///
    /// # Errors
    /// [`EngineError`]
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
        transactions::create_missing(&storage)?;
        stream::create_missing(&storage)?;
        mappings::create_missing(&storage)?;
        let with_policy = Mutex::new(control::create_missing(&storage)?);
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
    ///
    /// # Errors
    /// [`EngineError`]
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
    ///
    /// # Errors
    /// [`EngineError`]
    pub fn import(&self, table: &str, items: Vec<serde_json::Value>) -> Result<(), EngineError> {
        let items = items.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
        let (items, options) = (items.map_err(|e| refused(&e))?, ImportOptions::default());
        let storage = self.storage();
        run(import_items::execute_skip_gsi_deletes(&*storage, table, items, &options))?;
        Ok(())
    }

    /// Executes one operation of the DynamoDB protocol. Returns the status and body of the answer.
    /// Blocks its thread while another call is in the engine.
    #[must_use]
    pub fn call(&self, operation: &str, body: &[u8]) -> (u16, String) {
        match self.dispatch(operation, body) {
            Ok(answer) => {
                if matches!(
                    operation,
                    "PutItem"
                        | "UpdateItem"
                        | "DeleteItem"
                        | "BatchWriteItem"
                        | "TransactWriteItems"
                ) {
                    self.tables.written.notify_one();
                    self.tables.written_events.notify_one();
                }
                (200, answer)
            }
            Err(error) => {
                if let Some(numbers) = &self.numbers {
                    units::count_refusal(numbers, &error);
                }
                if error.status_code() >= 500 {
                    let file =
                        self.tables.file.as_deref().unwrap_or(Path::new("in memory")).display();
                    tracing::error!("a call of the tables failed: {operation}: {file}: {error}");
                }
                (error.status_code(), error.to_json())
            }
        }
    }

    #[rustfmt::skip]
    fn dispatch(&self, operation: &str, body: &[u8]) -> Result<String, DynoxideError> {
        limits::check_body(body)?;
        self.check_policies(operation, body)?;
        if let Some(answer) = self.control(operation, body) {
            return answer;
        }
        match operation {
            "BatchGetItem" => self.answer(body, |s, q| run(batch_get_item::execute(s, q))),
            "BatchWriteItem" => self.answer(body, fast_path::batch_write),
            "DeleteItem" => self.answer(body, |s, q| run(delete_item::execute(s, q))),
            "DescribeTimeToLive" => self.answer(body, |s, q| run(describe_time_to_live::execute(s, q))),
            "GetItem" => match Get::read(body).map(|get| get.answer(self)).transpose()?.flatten() {
                Some(answer) => Ok(answer),
                None => self.answer(body, |s, q| run(get_item::execute(s, q))),
            }
            "ListTables" => self.answer(body, |s, q| run(list_tables::execute(s, q))),
            "PutItem" => self.answer(body, fast_path::put),
            "Query" => match EdgesQuery::read(body) {
                Some(query) => query.answer(self),
                None => self.answer(body, |s, q| self.query(s, q)),
            }
            "Scan" => self.on_blocking_thread(|| self.answer(body, |s, q| self.scan(s, q))),
            "TransactGetItems" => self.answer(body, |s, q| limits::within_a_transaction(run(transact_get_items::execute(s, q))?)),
            "TransactWriteItems" => self.answer(body, |s, q| self.transact(s, q)),
            "UpdateItem" => self.answer(body, |s, q| self.update(s, q)),
            other => Err(DynoxideError::ValidationException(not_served(other))),
        }
    }

    fn query(
        &self,
        storage: &Storage,
        mut q: QueryRequest,
    ) -> Result<QueryResponse, DynoxideError> {
        limits::query(storage, &mut q, &self.limits)?;
        fast_path::query(storage, q)
    }

    fn scan(&self, storage: &Storage, q: ScanRequest) -> Result<ScanResponse, DynoxideError> {
        let mut q = in_pages(q);
        limits::scan(storage, &mut q, &self.limits)?;
        run(scan::execute(storage, q))
    }

    fn update(
        &self,
        storage: &Storage,
        q: UpdateItemRequest,
    ) -> Result<UpdateItemResponse, DynoxideError> {
        if let Some(rehearsal) = &self.rehearsal {
            rehearsal.lock().update(storage, &q)?;
        }
        fast_path::update(storage, q)
    }

    fn transact(
        &self,
        storage: &Storage,
        q: TransactWriteItemsRequest,
    ) -> Result<TransactWriteItemsResponse, DynoxideError> {
        if let Some(rehearsal) = &self.rehearsal {
            rehearsal.lock().transaction(storage, &q)?;
        }
        transactions::write(storage, q, (self.now)())
    }

    /// Parses and serialises outside of the lock.
    fn answer<Q: DeserializeOwned + Asking + Limited, A: Serialize + Reporting>(
        &self,
        body: &[u8],
        operation: impl FnOnce(&Storage, Q) -> Result<A, DynoxideError>,
    ) -> Result<String, DynoxideError> {
        let mut request: Q = serde_json::from_slice(body).map_err(|e| refused(&e))?;
        request.check(&self.limits)?;
        let numbers = self.numbers.as_ref().filter(|_| units::ask(&mut request));
        let mut answer = operation(&self.storage(), request)?;
        if let Some(numbers) = numbers {
            units::count::<Q>(numbers, &mut answer);
        }
        serde_json::to_string(&answer).map_err(|e| refused(&e))
    }

    /// The storage, locked. A panic in the engine leaves its transaction open, and so may a failed rollback on a full disk. The next
    /// caller ends that transaction here.
    fn storage(&self) -> MutexGuard<'_, Storage> {
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
    fn on_blocking_thread<T>(&self, read: impl FnOnce() -> T) -> T {
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

/// Runs a future of the engine, which is written for asynchronous storage. Over SQLite it never waits.
pub(super) fn run<T>(
    operation: impl Future<Output = Result<T, DynoxideError>>,
) -> Result<T, DynoxideError> {
    let waited = || DynoxideError::InternalServerError("the engine waited".to_owned());
    operation.now_or_never().unwrap_or_else(|| Err(waited()))
}

fn not_served(operation: &str) -> String {
    let operation = if operation.is_empty() { "A call without x-amz-target" } else { operation };
    format!(
        "{operation} is not served by the local stack; its docs/LOCAL.md lists the calls that are"
    )
}

/// The error of a request that cannot be parsed. The engine reports its own rules through serde, behind a marker and before the
/// position.
fn refused(error: &serde_json::Error) -> DynoxideError {
    let message = error.to_string();
    let Some(rule) = message.strip_prefix("VALIDATION:") else {
        return DynoxideError::SerializationException(message);
    };
    let rule = rule.rsplit_once(" at line ").map_or(rule, |(rule, _)| rule);
    DynoxideError::ValidationException(rule.to_owned())
}

/// Limits a page of a scan: the engine reads the whole table before it cuts a page at 1 MiB, unless a
/// limit tells it where to stop.
fn in_pages(mut request: ScanRequest) -> ScanRequest {
    request.limit.get_or_insert(MOST_SCANNED);
    request
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_transaction_that_a_panic_left_open_is_rolled_back() {
        let engine = Engine::in_memory().unwrap();
        let panicking = engine.clone();
        let panicked = std::thread::spawn(move || {
            let storage = panicking.storage();
            assert!(storage.begin_transaction().is_err(), "a panic in the middle of a write");
        });
        assert!(panicked.join().is_err());
        let put = json!({
            "TableName": schema::names().timelines,
            "Item": {"viewer_id": {"S": "bob"}, "sort_key": {"S": "1"}},
        });
        assert_eq!(engine.call("PutItem", put.to_string().as_bytes()).0, 200);
    }
}
