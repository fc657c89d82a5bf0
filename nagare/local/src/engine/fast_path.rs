//! The fast path: the most frequent calls skip what they do not need.
//!
//! A batch of entries, and the put of a new item under a condition that a new item meets, use the
//! engine's import. A query of an empty partition ends with the check that finds it empty. The engine
//! executes every other call itself.

use std::collections::HashSet;

use dynoxide::actions::batch_write_item::{
    self, BatchWriteItemRequest, BatchWriteItemResponse, WriteRequest,
};
use dynoxide::actions::import_items;
use dynoxide::actions::put_item::{self, PutItemRequest, PutItemResponse};
use dynoxide::actions::query::{self, QueryRequest, QueryResponse};
use dynoxide::storage::Storage;
use dynoxide::types::{
    AttributeValue, Item, consumed_capacity, item_size, read_capacity_units_with_consistency,
    write_capacity_units,
};
use dynoxide::{DynoxideError, ImportOptions};
use rusqlite::params_from_iter;

use super::super::schema;
use super::limits::keeps_within;
use super::run;
use super::units::{asks_at_most_a_sum, of_new_ledger_item};

/// The most items of one batch.
const BATCH: usize = 25;
/// Expressions and keys shorter than this are within every limit.
const SHORT: usize = 1_024;
/// The attributes of an entry as the writer stores it, all of them short.
const ENTRY_ATTRIBUTES: [&str; 4] = ["viewer_id", "sort_key", "actor_id", "expires_at"];

/// Puts an item. If there is none at its key, and the condition holds for that, the item is imported. An import does not read what it
/// replaces.
pub(super) fn put(
    storage: &Storage,
    request: PutItemRequest,
) -> Result<PutItemResponse, DynoxideError> {
    let ledger = schema::names().ledger;
    let key = request.item.get("pk").zip(request.item.get("sk"));
    let new = request.table_name == ledger
        && request.condition_expression.as_deref().is_some_and(is_met_by_a_new_item)
        && request.return_values.is_none()
        && asks_at_most_a_sum(request.return_consumed_capacity.as_deref())
        && request.return_item_collection_metrics.is_none()
        && keeps_within(&request.item, request.condition_expression.as_deref())
        && key.is_some_and(|(pk, sk)| !ledger_holds(storage, "pk = ?1 AND sk = ?2", &[pk, sk]));
    if !new {
        return run(put_item::execute(storage, request));
    }
    let units = of_new_ledger_item(&request.item);
    let (item, options) = (vec![request.item], ImportOptions::default());
    run(import_items::execute_skip_gsi_deletes(storage, &ledger, item, &options))?;
    let consumed_capacity = consumed_capacity(&ledger, units, &request.return_consumed_capacity);
    Ok(PutItemResponse { consumed_capacity, ..PutItemResponse::default() })
}

/// Queries a partition. An empty one, as most outboxes and most lists of followers are, is answered at
/// once.
pub(super) fn query(
    storage: &Storage,
    request: QueryRequest,
) -> Result<QueryResponse, DynoxideError> {
    let values = request.expression_attribute_values.as_ref();
    let partition = values.and_then(|values| values.get(":pk"));
    let empty = request.table_name == schema::names().ledger
        && request.index_name.is_none()
        && request.key_condition_expression.as_deref().is_some_and(|keys| {
            // The engine checks whether a range between two sort keys is valid.
            keys.strip_prefix("pk = :pk").is_some_and(|rest| {
                (rest.is_empty() || rest.starts_with(' '))
                    && !rest.contains(" BETWEEN ")
                    && rest.len() < SHORT
            })
        })
        && request.filter_expression.as_deref().is_none_or(|filter| filter.len() < SHORT)
        && partition.is_some_and(|pk| pk.size() < SHORT)
        && asks_at_most_a_sum(request.return_consumed_capacity.as_deref())
        && partition.is_some_and(|pk| !ledger_holds(storage, "pk = ?1", &[pk]));
    if !empty {
        return run(query::execute(storage, request));
    }
    let is_consistent = request.consistent_read.unwrap_or_default();
    let units = read_capacity_units_with_consistency(0, is_consistent);
    let mode = &request.return_consumed_capacity;
    let consumed_capacity = consumed_capacity(&request.table_name, units, mode);
    Ok(QueryResponse { items: Some(Vec::new()), consumed_capacity, ..QueryResponse::default() })
}

/// True if the ledger has such an item, or if that cannot be determined here: then the engine finds out.
fn ledger_holds(storage: &Storage, condition: &str, key: &[&AttributeValue]) -> bool {
    let sql = format!("SELECT 1 FROM \"{}\" WHERE {condition} LIMIT 1", schema::names().ledger);
    let Some(key) = key.iter().map(|value| value.to_key_string()).collect::<Option<Vec<_>>>()
    else {
        return true;
    };
    let look = |sql| storage.conn().prepare_cached(sql)?.exists(params_from_iter(key));
    look(&sql).unwrap_or(true)
}

/// True for `attribute_not_exists(name)`, alone or before an `OR`, which binds weakest.
fn is_met_by_a_new_item(condition: &str) -> bool {
    let name_and_rest = condition.strip_prefix("attribute_not_exists(");
    name_and_rest.and_then(|text| text.split_once(')')).is_some_and(|(name, rest)| {
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            && (rest.is_empty() || rest.starts_with(" OR "))
    })
}

/// Writes a batch. The engine commits every item of a batch on its own. A batch of entries alone goes in
/// as one import, which is one commit and several times as fast.
pub(super) fn batch_write(
    storage: &Storage,
    request: BatchWriteItemRequest,
) -> Result<BatchWriteItemResponse, DynoxideError> {
    let table = schema::names().timelines;
    if !is_only_entries(&table, &request) {
        return run(batch_write_item::execute(storage, request));
    }
    let writes = request.request_items.into_values().flatten();
    let entries: Vec<_> = writes.filter_map(|write| Some(write.put_request?.item)).collect();
    let units = entries.iter().map(|entry| write_capacity_units(item_size(entry))).sum();
    run(import_items::execute(storage, &table, entries, &ImportOptions::default()))?;
    let consumed = consumed_capacity(&table, units, &request.return_consumed_capacity);
    let consumed_capacity = consumed.map(|table| vec![table]);
    Ok(BatchWriteItemResponse { consumed_capacity, ..BatchWriteItemResponse::default() })
}

/// True for a batch that puts entries into this one table, each under another key.
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
                && keeps_within(&put.item, None)
                && keys.insert(key_of(&put.item))
        }
        _ => false,
    };
    let asks_nothing = asks_at_most_a_sum(request.return_consumed_capacity.as_deref())
        && request.return_item_collection_metrics.is_none();
    asks_nothing
        && name == table
        && (1..=BATCH).contains(&writes.len())
        && writes.iter().all(&mut is_entry)
}

fn key_of(item: &Item) -> [String; 2] {
    ["viewer_id", "sort_key"]
        .map(|name| item.get(name).and_then(AttributeValue::to_key_string).unwrap_or_default())
}
