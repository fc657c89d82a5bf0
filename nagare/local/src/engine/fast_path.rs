//! The fast path: the most frequent calls skip what they do not need.
//!
//! A batch of entries, and what makes a new item under a condition that a new item meets (a put, or an update that sets attributes),
//! use the engine's import. A query of an empty partition ends with the check that finds it empty. The engine executes every other
//! call itself.

use std::collections::{HashMap, HashSet};

use dynoxide::actions::batch_write_item::{
    self, BatchWriteItemRequest, BatchWriteItemResponse, WriteRequest,
};
use dynoxide::actions::import_items;
use dynoxide::actions::put_item::{self, PutItemRequest, PutItemResponse};
use dynoxide::actions::query::{self, QueryRequest, QueryResponse};
use dynoxide::actions::update_item::{self, UpdateItemRequest, UpdateItemResponse};
use dynoxide::storage::Storage;
use dynoxide::types::{
    AttributeValue, ConsumedCapacity, Item, consumed_capacity, item_size,
    read_capacity_units_with_consistency, write_capacity_units,
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
pub(super) const SHORT: usize = 1_024;
/// The attributes of an entry as the writer stores it, all of them short.
const ENTRY_ATTRIBUTES: [&str; 4] = ["viewer_id", "sort_key", "actor_id", "expires_at"];

/// Puts an item. If there is none at its key, and the condition holds for that, the item is imported. An import does not read what it
/// replaces.
pub(super) fn put(
    storage: &Storage,
    request: PutItemRequest,
) -> Result<PutItemResponse, DynoxideError> {
    let new = request.table_name == schema::names().ledger
        && request.condition_expression.as_deref().is_some_and(|condition| {
            is_met_by_a_new_item(condition, request.expression_attribute_names.as_ref())
        })
        && request.return_values.is_none()
        && asks_at_most_a_sum(request.return_consumed_capacity.as_deref())
        && request.return_item_collection_metrics.is_none()
        && keeps_within(&request.item, request.condition_expression.as_deref())
        && is_new(storage, &request.item);
    if !new {
        return run(put_item::execute(storage, request));
    }
    let consumed_capacity = import(storage, request.item, &request.return_consumed_capacity)?;
    Ok(PutItemResponse { consumed_capacity, ..PutItemResponse::default() })
}

/// Updates an item. If there is none at its key, the condition holds for that, and the update sets attributes to values, the item is
/// imported.
pub(super) fn update(
    storage: &Storage,
    request: UpdateItemRequest,
) -> Result<UpdateItemResponse, DynoxideError> {
    let made = made(&request).filter(|item| {
        keeps_within(item, request.condition_expression.as_deref()) && is_new(storage, item)
    });
    let Some(item) = made else { return run(update_item::execute(storage, request)) };
    let consumed_capacity = import(storage, item, &request.return_consumed_capacity)?;
    Ok(UpdateItemResponse { consumed_capacity, ..UpdateItemResponse::default() })
}

/// The item that an update makes if there is none, as far as that is determined here: it sets attributes (`#a=:a,#b=:b`), and may remove
/// others.
fn made(request: &UpdateItemRequest) -> Option<Item> {
    let names = request.expression_attribute_names.as_ref()?;
    let values = request.expression_attribute_values.as_ref()?;
    let condition = request.condition_expression.as_deref();
    let condition = condition.filter(|text| is_met_by_a_new_item(text, Some(names)))?;
    let says_nothing_else = request.table_name == schema::names().ledger
        && matches!(request.return_values.as_deref(), None | Some("NONE"))
        && asks_at_most_a_sum(request.return_consumed_capacity.as_deref())
        && request.return_item_collection_metrics.is_none()
        && request.attribute_updates.is_none()
        && request.expected.is_none()
        && request.conditional_operator.is_none();
    let expression = request.update_expression.as_deref().filter(|_| says_nothing_else)?;
    let sets = expression.strip_prefix("SET ")?;
    let (sets, removes) = sets.split_once(" REMOVE ").unwrap_or((sets, ""));
    let (mut item, mut used) = (request.key.clone(), HashSet::new());
    for set in sets.split(',') {
        let (name, value) = set.split_once('=')?;
        let (name, value) = (names.get_key_value(name)?, values.get_key_value(value)?);
        if item.insert(name.1.clone(), value.1.clone()).is_some() {
            return None;
        }
        used.extend([name.0.as_str(), value.0.as_str()]);
    }
    for name in removes.split(',').filter(|name| !name.is_empty()) {
        let (name, of) = names.get_key_value(name)?;
        if item.contains_key(of) || !used.insert(name) {
            return None;
        }
    }
    // The engine refuses placeholders that nothing uses.
    let is_used = |name: &str| used.contains(name) || condition.contains(name);
    names.keys().chain(values.keys()).all(|name| is_used(name)).then_some(item)
}

/// True if the ledger has no item at the key of this one.
fn is_new(storage: &Storage, item: &Item) -> bool {
    let key = item.get("pk").zip(item.get("sk"));
    key.is_some_and(|(pk, sk)| !ledger_holds(storage, "pk = ?1 AND sk = ?2", &[pk, sk]))
}

/// Puts a new item into the ledger. Returns what it has consumed, if that is asked.
fn import(
    storage: &Storage,
    item: Item,
    asked: &Option<String>,
) -> Result<Option<ConsumedCapacity>, DynoxideError> {
    let (ledger, units) = (schema::names().ledger, of_new_ledger_item(&item));
    run(import_items::execute_skip_gsi_deletes(
        storage,
        &ledger,
        vec![item],
        &ImportOptions::default(),
    ))?;
    Ok(consumed_capacity(&ledger, units, asked))
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
        && request.exclusive_start_key.is_none()
        && request.exclusive_start_key_raw.is_none()
        && request.key_condition_expression.as_deref().is_some_and(|keys| {
            keys.strip_prefix("pk = :pk").is_some_and(|rest| {
                let may_be_a_range = rest.contains(" BETWEEN ");
                (rest.is_empty() || rest.starts_with(' '))
                    && rest.len() < SHORT
                    && (!may_be_a_range || values.is_some_and(|values| is_range(rest, values)))
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

/// True for a range of sort keys that the engine takes.
fn is_range(condition: &str, values: &HashMap<String, AttributeValue>) -> bool {
    let bounds = values.get(":first").zip(values.get(":last"));
    condition == " AND sk BETWEEN :first AND :last"
        && matches!(bounds, Some((AttributeValue::S(first), AttributeValue::S(last)))
            if !first.is_empty() && first <= last && last.len().max(first.len()) < SHORT)
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

/// True for `attribute_not_exists(name)`, alone or before an `OR`, which binds weakest. The name may be a placeholder.
fn is_met_by_a_new_item(condition: &str, names: Option<&HashMap<String, String>>) -> bool {
    let name_and_rest = condition.strip_prefix("attribute_not_exists(");
    name_and_rest.and_then(|text| text.split_once(')')).is_some_and(|(name, rest)| {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        (is_plain || names.is_some_and(|names| names.contains_key(name)))
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
