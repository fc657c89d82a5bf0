//! `ClientRequestToken`: a transaction that is sent again within ten minutes is not applied again.
//!
//! A token is stored by the same SQLite transaction that applies the writes, so that after `kill -9` both are there or neither is.
//! The engine begins and commits that transaction itself. So the token is stored by a trigger on the tables, which exists only while
//! this one call runs. A transaction that changes no row fires no trigger, and its token is stored afterwards. That is safe: until
//! then nothing has happened, and no caller has an answer.
//!
//! The tables are locked meanwhile. A second call with the same token waits for the first and is answered from what the first has
//! stored, so `TransactionInProgressException` does not occur.

use std::collections::HashMap;

use dynoxide::DynoxideError;
use dynoxide::actions::transact_get_items;
use dynoxide::actions::transact_write_items::{
    self, TransactWriteItem, TransactWriteItemsRequest, TransactWriteItemsResponse,
};
use dynoxide::storage::Storage;
use dynoxide::types::AttributeValue;
use nagare_client::tables::TableNames;
use ring::digest::{Digest, SHA256, digest};
use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use super::execute::{refused, run};
use crate::schema;

/// How long a token is remembered, in milliseconds, as by DynamoDB.
const REMEMBERED: i64 = 10 * 60 * 1_000;

/// Stores the claimed token, once.
const STORE: &str = "INSERT INTO nagare_tokens SELECT token, digest, at FROM nagare_claim \
                     WHERE token NOT IN (SELECT token FROM nagare_tokens)";
/// The ways in which a row changes. The engine replaces rows, which SQLite treats as inserts.
const CHANGES: [&str; 3] = ["INSERT", "UPDATE", "DELETE"];

/// Forgets the tokens that are older than ten minutes.
pub(super) fn forget(storage: &Storage, now: i64) -> Result<(), DynoxideError> {
    let sql = "DELETE FROM nagare_tokens WHERE at <= ?1";
    storage.conn().prepare_cached(sql)?.execute([now.saturating_sub(REMEMBERED)])?;
    Ok(())
}

/// Applies a transaction, unless its token says that it was applied before.
pub(super) fn write(
    storage: &Storage,
    request: TransactWriteItemsRequest,
    now: i64,
) -> Result<TransactWriteItemsResponse, DynoxideError> {
    let Some(token) = request.client_request_token.clone() else {
        return run(transact_write_items::execute(storage, request));
    };
    if token.is_empty() {
        return Err(empty_token());
    }
    forget(storage, now)?;
    let content = content(&request.transact_items)?;
    match remembered(storage, &token)? {
        None => Claim::stake(storage, &token, &content, now)?.apply(request),
        Some(before) if before == content.as_ref() => again(storage, &request),
        Some(_) => Err(mismatch()),
    }
}

/// What a repetition has to have in common with the first call: the actions, in their order. Objects have
/// their members sorted, as `serde_json` keeps them.
fn content(items: &[TransactWriteItem]) -> Result<Digest, DynoxideError> {
    let items = serde_json::to_value(items).map_err(|e| refused(&e))?;
    Ok(digest(&SHA256, items.to_string().as_bytes()))
}

fn remembered(storage: &Storage, token: &str) -> Result<Option<Vec<u8>>, DynoxideError> {
    let sql = "SELECT digest FROM nagare_tokens WHERE token = ?1";
    let mut look = storage.conn().prepare_cached(sql)?;
    Ok(look.query_row([token], |row| row.get(0)).optional()?)
}

/// A token that is stored as soon as the transaction changes a row. Dropped, it leaves no trigger behind.
struct Claim<'s> {
    storage: &'s Storage,
}

impl<'s> Claim<'s> {
    fn stake(
        storage: &'s Storage,
        token: &str,
        content: &Digest,
        now: i64,
    ) -> Result<Self, DynoxideError> {
        let claim = Self { storage };
        let conn = storage.conn();
        let sql = "INSERT INTO nagare_claim VALUES (?1, ?2, ?3)";
        conn.prepare_cached(sql)?.execute(params![token, content.as_ref(), now])?;
        conn.execute_batch(&triggers(creation))?;
        Ok(claim)
    }

    fn apply(
        self,
        request: TransactWriteItemsRequest,
    ) -> Result<TransactWriteItemsResponse, DynoxideError> {
        let answer = run(transact_write_items::execute(self.storage, request))?;
        self.storage.conn().execute_batch(STORE)?;
        Ok(answer)
    }
}

impl Drop for Claim<'_> {
    /// After a panic the engine's transaction is still open, and would take this back when it is rolled back.
    fn drop(&mut self) {
        let conn = self.storage.conn();
        let closed = if conn.is_autocommit() { Ok(()) } else { self.storage.rollback() };
        let removed =
            conn.execute_batch(&format!("{}DELETE FROM nagare_claim;", triggers(removal)));
        if let Err(failure) = closed.and(removed.map_err(DynoxideError::from)) {
            tracing::error!("the triggers of a transaction could not be removed: {failure}");
        }
    }
}

/// One statement for each trigger.
fn triggers(statement: impl Fn(&str, &str) -> String) -> String {
    let TableNames { timelines, ledger, facts, views, dead_letters, .. } = schema::names();
    let tables = [timelines, ledger, facts, views, dead_letters];
    let statements = tables.iter().flat_map(|table| CHANGES.map(|change| statement(table, change)));
    statements.collect()
}

fn creation(table: &str, change: &str) -> String {
    format!(
        "CREATE TEMP TRIGGER \"{table} {change}\" AFTER {change} ON main.\"{table}\" \
         BEGIN {STORE}; END;"
    )
}

fn removal(table: &str, change: &str) -> String {
    format!("DROP TRIGGER IF EXISTS temp.\"{table} {change}\";")
}

/// Answers a repetition. DynamoDB charges it for reading the items.
fn again(
    storage: &Storage,
    request: &TransactWriteItemsRequest,
) -> Result<TransactWriteItemsResponse, DynoxideError> {
    let gets: Vec<_> = request.transact_items.iter().filter_map(key).map(get).collect();
    let reads = json!({
        "TransactItems": gets,
        "ReturnConsumedCapacity": request.return_consumed_capacity,
    });
    let reads = serde_json::from_value(reads).map_err(|e| refused(&e))?;
    let read = run(transact_get_items::execute(storage, reads))?;
    Ok(TransactWriteItemsResponse {
        consumed_capacity: read.consumed_capacity,
        ..TransactWriteItemsResponse::default()
    })
}

pub(super) type Key = HashMap<String, AttributeValue>;

/// The table and key of an action.
pub(super) fn key(action: &TransactWriteItem) -> Option<(&str, Key)> {
    let TransactWriteItem { put, update, delete, condition_check } = action;
    let put = put
        .as_ref()
        .and_then(|put| Some((put.table_name.as_str(), key_of(&put.table_name, &put.item)?)));
    let update = update.as_ref().map(|update| (update.table_name.as_str(), update.key.clone()));
    let delete = delete.as_ref().map(|delete| (delete.table_name.as_str(), delete.key.clone()));
    let check =
        condition_check.as_ref().map(|check| (check.table_name.as_str(), check.key.clone()));
    put.or(update).or(delete).or(check)
}

fn key_of(table: &str, item: &Key) -> Option<Key> {
    let names = schema::keys_of(table)?;
    Some(
        names
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())))
            .collect(),
    )
}

fn get((table, key): (&str, Key)) -> Value {
    json!({"Get": {"TableName": table, "Key": key}})
}

fn empty_token() -> DynoxideError {
    DynoxideError::ValidationException(
        "1 validation error detected: Value '' at 'clientRequestToken' failed to satisfy constraint: \
         Member must have length greater than or equal to 1"
            .to_owned(),
    )
}

fn mismatch() -> DynoxideError {
    DynoxideError::IdempotentParameterMismatchException(
        "The ClientRequestToken was sent within the last ten minutes, with other actions; send another token \
         with these"
            .to_owned(),
    )
}
