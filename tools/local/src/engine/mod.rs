//! The embedded tables: a DynamoDB-compatible engine over SQLite, in this process.
//!
//! Every operation runs in the engine's own implementation. One lock is held during an operation, so no other call comes between a
//! check and its put.
//!
//! ```text
//! tables        the tables, and the lock
//! bookkeeping   what is stored beside them
//! execute       runs an operation of the engine
//! limits        what DynamoDB refuses by size or number
//! units         the capacity that calls consume
//! transactions  `ClientRequestToken`
//! control       operations on tables themselves
//! stream        the streams of tables
//! mappings      which streams are read
//! sweep         drops what has expired
//! compact       takes what was deleted out of the file
//! ```

mod bookkeeping;
pub(crate) mod compact;
mod control;
pub(crate) mod execute;
mod limits;
pub mod mappings;
pub mod stream;
mod sweep;
mod tables;
mod transactions;
mod units;

use std::path::Path;

use dynoxide::DynoxideError;
use dynoxide::actions::query::{QueryRequest, QueryResponse};
use dynoxide::actions::scan::{ScanRequest, ScanResponse};
use dynoxide::actions::transact_write_items::{
    TransactWriteItemsRequest, TransactWriteItemsResponse,
};
use dynoxide::actions::update_item::{UpdateItemRequest, UpdateItemResponse};
use dynoxide::actions::{
    batch_get_item, batch_write_item, delete_item, describe_time_to_live, get_item, list_tables,
    put_item, query, scan, transact_get_items, update_item,
};
use dynoxide::storage::Storage;
use serde::{Serialize, de::DeserializeOwned};

use self::execute::{refused, run};
use self::limits::Limited;
pub use self::tables::{Engine, EngineError};
use self::units::{Asking, Reporting};

/// The most items that one page of a scan reads. The engine reads the whole table before it cuts a page at 1 MiB, unless a limit tells
/// it where to stop.
const MOST_SCANNED: usize = 2_000;
/// The same for a page of a query, which is full before, unless its items are tiny.
const MOST_QUERIED: usize = 20_000;

impl Engine {
    /// Executes one operation of the DynamoDB protocol. Returns the status and body of the answer.
    /// Blocks its thread while another call is in the engine.
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
            "BatchWriteItem" => self.answer(body, |s, q| run(batch_write_item::execute(s, q))),
            "DeleteItem" => self.answer(body, |s, q| run(delete_item::execute(s, q))),
            "DescribeTimeToLive" => self.answer(body, |s, q| run(describe_time_to_live::execute(s, q))),
            "GetItem" => self.answer(body, |s, q| run(get_item::execute(s, q))),
            "ListTables" => self.answer(body, |s, q| run(list_tables::execute(s, q))),
            "PutItem" => self.answer(body, |s, q| run(put_item::execute(s, q))),
            "Query" => self.answer(body, |s, q| self.query(s, q)),
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
        q.limit.get_or_insert(MOST_QUERIED);
        limits::query(storage, &mut q, &self.limits)?;
        run(query::execute(storage, q))
    }

    fn scan(&self, storage: &Storage, mut q: ScanRequest) -> Result<ScanResponse, DynoxideError> {
        q.limit.get_or_insert(MOST_SCANNED);
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
        run(update_item::execute(storage, q))
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
}

fn not_served(operation: &str) -> String {
    let operation = if operation.is_empty() { "A call without x-amz-target" } else { operation };
    format!(
        "{operation} is not served by the local stack; its docs/LOCAL.md lists the calls that are"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema;

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
