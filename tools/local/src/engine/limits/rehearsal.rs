//! Tries updates on copies of items, to see how large the items become.
//!
//! Only the engine can say how large an item is after an update, and it knows DynamoDB's own limit alone. So if the limit is smaller,
//! an update, or a transaction with one, is first executed on copies of the items that it names, in separate tables.

use dynoxide::actions::delete_item;
use dynoxide::actions::get_item::{self, GetItemRequest};
use dynoxide::actions::import_items;
use dynoxide::actions::transact_write_items::{self, TransactWriteItemsRequest};
use dynoxide::actions::update_item::{self, UpdateItemRequest};
use dynoxide::errors::CancellationReason;
use dynoxide::storage::Storage;
use dynoxide::types::{Item, item_size};
use dynoxide::{DynoxideError, ImportOptions};
use serde_json::{Value, json};
use shared::platform::dynamo::Limits;

use super::super::execute::{refused, run};
use super::super::transactions::{self, Key};
use super::refusal;
use crate::schema;

const TOO_LARGE: &str = "Item size to update has exceeded the maximum allowed size";

/// Tables aside. Nothing stays in them from one call to the next but what later calls overwrite.
pub(in super::super) struct Rehearsal {
    tables: Storage,
    item_bytes: usize,
}

impl Rehearsal {
    pub(in super::super) fn new(limits: &Limits) -> Result<Self, DynoxideError> {
        let tables = Storage::memory()?;
        schema::create_missing(&tables)?;
        Ok(Self { tables, item_bytes: limits.item_bytes })
    }

    /// Refuses an update of an item that would become too large.
    pub(in super::super) fn update(
        &self,
        storage: &Storage,
        request: &UpdateItemRequest,
    ) -> Result<(), DynoxideError> {
        let target = (request.table_name.as_str(), request.key.clone());
        self.copy(storage, &target)?;
        let same = UpdateItemRequest {
            table_name: request.table_name.clone(),
            key: request.key.clone(),
            update_expression: request.update_expression.clone(),
            condition_expression: request.condition_expression.clone(),
            expression_attribute_names: request.expression_attribute_names.clone(),
            expression_attribute_values: request.expression_attribute_values.clone(),
            ..UpdateItemRequest::default()
        };
        let done = run(update_item::execute(&self.tables, same));
        // What fails on a copy fails in its place, in the same words.
        match done {
            Ok(_) if self.is_too_large(&target)? => Err(refusal(TOO_LARGE)),
            _ => Ok(()),
        }
    }

    /// Refuses a transaction after which an item would be too large.
    pub(in super::super) fn transaction(
        &self,
        storage: &Storage,
        request: &TransactWriteItemsRequest,
    ) -> Result<(), DynoxideError> {
        if request.transact_items.iter().all(|action| action.update.is_none()) {
            return Ok(());
        }
        let targets: Vec<_> = request.transact_items.iter().filter_map(transactions::key).collect();
        targets.iter().try_for_each(|target| self.copy(storage, target))?;
        let same = TransactWriteItemsRequest { client_request_token: None, ..request.clone() };
        if run(transact_write_items::execute(&self.tables, same)).is_err() {
            return Ok(());
        }
        let too_large: Result<Vec<_>, _> =
            targets.iter().map(|target| self.is_too_large(target)).collect();
        let too_large = too_large?;
        if too_large.iter().any(|too_large| *too_large) {
            return Err(cancelled(&too_large));
        }
        Ok(())
    }

    /// Makes an item aside what it is in its place.
    fn copy(&self, storage: &Storage, (table, key): &(&str, Key)) -> Result<(), DynoxideError> {
        let delete = serde_json::from_value(of_item(table, key)).map_err(|e| refused(&e))?;
        run(delete_item::execute(&self.tables, delete))?;
        let Some(item) = read(storage, table, key)? else { return Ok(()) };
        let options = ImportOptions::default();
        run(import_items::execute(&self.tables, table, vec![item], &options))?;
        Ok(())
    }

    fn is_too_large(&self, (table, key): &(&str, Key)) -> Result<bool, DynoxideError> {
        let item = read(&self.tables, table, key)?;
        Ok(item.is_some_and(|item| item_size(&item) > self.item_bytes))
    }
}

fn read(storage: &Storage, table: &str, key: &Key) -> Result<Option<Item>, DynoxideError> {
    let request: GetItemRequest =
        serde_json::from_value(of_item(table, key)).map_err(|e| refused(&e))?;
    Ok(run(get_item::execute(storage, request))?.item)
}

fn of_item(table: &str, key: &Key) -> Value {
    json!({"TableName": table, "Key": key})
}

fn cancelled(too_large: &[bool]) -> DynoxideError {
    let reason = |too_large: &bool| {
        let (code, message) = match too_large {
            true => ("ValidationError", Some(TOO_LARGE.to_owned())),
            false => ("None", None),
        };
        CancellationReason { code: code.to_owned(), message, item: None }
    };
    let reasons: Vec<_> = too_large.iter().map(reason).collect();
    let codes: Vec<_> = reasons.iter().map(|reason| reason.code.as_str()).collect();
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    );
    DynoxideError::TransactionCanceledException(message, reasons)
}
