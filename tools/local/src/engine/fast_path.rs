//! The fast path: the most frequent calls skip what they do not need.
//!
//! A put or an update in the ledger or the facts takes one read and one write, if its [expressions](super::expressions) are simple. A batch
//! of entries takes one write. A query of an empty partition ends with the check that finds it empty. The engine executes every other call
//! itself, and all that it may refuse.

use std::collections::{HashMap, HashSet};

use dynoxide::DynoxideError;
use dynoxide::actions::batch_write_item::{
    self, BatchWriteItemRequest, BatchWriteItemResponse, WriteRequest,
};
use dynoxide::actions::put_item::{self, PutItemRequest, PutItemResponse};
use dynoxide::actions::query::{self, QueryRequest, QueryResponse};
use dynoxide::actions::update_item::{self, UpdateItemRequest, UpdateItemResponse};
use dynoxide::storage::{Storage, compute_hash_prefix};
use dynoxide::storage_backend::BaseItemRow;
use dynoxide::types::{
    AttributeValue, ConsumedCapacity, Item, consumed_capacity, item_size,
    read_capacity_units_with_consistency, write_capacity_units,
};
use shared::platform::ledger::BY_FOLLOWER;

use super::super::schema;
use super::expressions::Expressions;
use super::limits::keeps_within;
use super::units::{asks_at_most_a_sum, of_new_ledger_item};
use super::{get, refused, run, stream};

/// The most items of one batch.
const BATCH: usize = 25;
/// Expressions and keys shorter than this are within every limit.
pub(super) const SHORT: usize = 1_024;
/// The attributes of the ledger's index.
const INDEX_KEYS: [&str; 2] = ["follower_id", "followee_id"];
/// The attributes of an entry as the writer stores it, all of them short.
const ENTRY_ATTRIBUTES: [&str; 4] = ["viewer_id", "sort_key", "actor_id", "expires_at"];

/// A write of one item of the ledger or of the facts that asks for nothing but its effect.
struct Write<'r> {
    table: &'r str,
    condition: Option<&'r str>,
    expressions: Expressions<'r>,
    /// What the answer is to say of the units.
    asked: &'r Option<String>,
}

impl<'r> Write<'r> {
    /// None for other tables.
    fn new(
        table: &'r str,
        condition: &'r Option<String>,
        names: &'r Option<HashMap<String, String>>,
        values: &'r Option<HashMap<String, AttributeValue>>,
        asked: &'r Option<String>,
    ) -> Option<Self> {
        let (tables, expressions) =
            (schema::names(), Expressions::new(names.as_ref(), values.as_ref()));
        let write = Self { table, condition: condition.as_deref(), expressions, asked };
        (table == tables.ledger || table == tables.facts).then_some(write)
    }

    /// Stores what `made` makes of the item that is there, or of none, if the condition is decided here and holds. Returns the new item,
    /// and what it has consumed; `None` if the engine has to decide.
    fn apply(
        self,
        storage: &Storage,
        key: &Item,
        made: impl FnOnce(&Expressions<'_>, Option<&Item>) -> Option<Item>,
    ) -> Result<Option<(Item, Option<ConsumedCapacity>)>, DynoxideError> {
        let Some(there) = stored(storage, self.table, key) else { return Ok(None) };
        let (nothing, there) = (Item::new(), there.as_ref());
        let before = there.unwrap_or(&nothing);
        let holds = |text| self.expressions.holds(text, before);
        let holds = self.condition.map_or(Some(true), holds) == Some(true);
        let made = made(&self.expressions, there).filter(|item| {
            holds
                && self.expressions.are_used()
                && keeps_within(item, self.condition)
                && is_storable(there, item)
        });
        let Some(item) = made else { return Ok(None) };
        let units = match self.table == schema::names().ledger {
            true => replace(storage, there, &item)?,
            false => replace_fact(storage, self.table, there, &item)?,
        };
        Ok(Some((item, consumed_capacity(self.table, units, self.asked))))
    }
}

/// Puts an item.
pub(super) fn put(
    storage: &Storage,
    request: PutItemRequest,
) -> Result<PutItemResponse, DynoxideError> {
    let is_simple = request.return_values.is_none()
        && asks_at_most_a_sum(request.return_consumed_capacity.as_deref())
        && request.return_item_collection_metrics.is_none();
    if is_simple {
        let write = Write::new(
            &request.table_name,
            &request.condition_expression,
            &request.expression_attribute_names,
            &request.expression_attribute_values,
            &request.return_consumed_capacity,
        );
        let made = |_: &Expressions<'_>, _: Option<&Item>| Some(request.item.clone());
        let apply = |write: Write<'_>| write.apply(storage, &request.item, made).transpose();
        if let Some((_, consumed_capacity)) = write.and_then(apply).transpose()? {
            return Ok(PutItemResponse { consumed_capacity, ..PutItemResponse::default() });
        }
    }
    run(put_item::execute(storage, request))
}

/// Updates an item.
pub(super) fn update(
    storage: &Storage,
    request: UpdateItemRequest,
) -> Result<UpdateItemResponse, DynoxideError> {
    let is_simple = matches!(request.return_values.as_deref(), None | Some("NONE" | "ALL_NEW"))
        && asks_at_most_a_sum(request.return_consumed_capacity.as_deref())
        && request.return_item_collection_metrics.is_none()
        && request.attribute_updates.is_none()
        && request.expected.is_none()
        && request.conditional_operator.is_none()
        && request.key.len() == 2;
    if let Some(expression) = request.update_expression.as_deref().filter(|_| is_simple) {
        let write = Write::new(
            &request.table_name,
            &request.condition_expression,
            &request.expression_attribute_names,
            &request.expression_attribute_values,
            &request.return_consumed_capacity,
        );
        let updated = |expressions: &Expressions<'_>, there: Option<&Item>| {
            expressions.updated(expression, there.unwrap_or(&request.key))
        };
        let apply = |write: Write<'_>| write.apply(storage, &request.key, updated).transpose();
        if let Some((item, consumed_capacity)) = write.and_then(apply).transpose()? {
            let is_asked = request.return_values.as_deref() == Some("ALL_NEW");
            let attributes = is_asked.then_some(item);
            let answer = UpdateItemResponse { attributes, consumed_capacity, ..Default::default() };
            return Ok(answer);
        }
    }
    run(update_item::execute(storage, request))
}

/// The item that a table has at the key of another, if it has one; `None` if that cannot be determined here.
fn stored(storage: &Storage, table: &str, item: &Item) -> Option<Option<Item>> {
    let key = ["pk", "sk"].map(|name| match item.get(name) {
        Some(AttributeValue::S(text)) if (1..SHORT).contains(&text.len()) => Some(text.as_str()),
        _ => None,
    });
    let [Some(pk), Some(sk)] = key else { return None };
    let found = get::stored(storage, table, [pk, sk]).ok()?;
    found.map(|(json, _)| serde_json::from_str(&json)).transpose().ok()
}

/// True if an item can take the place of another: if there is none, or if neither is in the ledger's index.
fn is_storable(there: Option<&Item>, item: &Item) -> bool {
    let is_indexed = |item: &Item| INDEX_KEYS.iter().any(|name| item.contains_key(*name));
    is_plain(item)
        && match there {
            Some(there) => !is_indexed(there) && !is_indexed(item),
            None => INDEX_KEYS
                .iter()
                .all(|name| matches!(item.get(*name), None | Some(AttributeValue::S(_)))),
        }
}

/// Stores an item of the ledger in place of another. Returns the units that it consumes.
fn replace(storage: &Storage, there: Option<&Item>, item: &Item) -> Result<f64, DynoxideError> {
    let ledger = schema::names().ledger;
    let before = there.map_or(0.0, |there| write_capacity_units(item_size(there)));
    let units = of_new_ledger_item(item).max(before);
    let index_key = INDEX_KEYS.map(|name| item.get(name)?.to_key_string());
    let ([Some(follower), Some(followee)], None) = (&index_key, there) else {
        store(storage, &ledger, std::slice::from_ref(item))?;
        return Ok(units);
    };
    let row = row(item, ["pk", "sk"])?;
    let keys = ["pk", "sk"].into_iter().chain(INDEX_KEYS);
    let keys: Item =
        keys.filter_map(|name| Some((name.to_owned(), item.get(name)?.clone()))).collect();
    let keys = serde_json::to_string(&keys).map_err(|e| refused(&e))?;
    storage.begin_transaction()?;
    storage.put_base_items(&ledger, std::slice::from_ref(&row))?;
    storage.insert_gsi_item(&ledger, BY_FOLLOWER, follower, followee, &row.pk, &row.sk, &keys)?;
    storage.commit()?;
    Ok(units)
}

/// Stores an item of the facts in place of another, and the record of that in their stream. Returns the units that it consumes.
fn replace_fact(
    storage: &Storage,
    table: &str,
    there: Option<&Item>,
    item: &Item,
) -> Result<f64, DynoxideError> {
    let row = row(item, ["pk", "sk"])?;
    storage.begin_transaction()?;
    storage.put_base_items(table, std::slice::from_ref(&row))?;
    stream::record(storage, table, there, &row)?;
    storage.commit()?;
    let sizes = [Some(item), there].into_iter().flatten().map(item_size);
    Ok(sizes.map(write_capacity_units).fold(0.0, f64::max))
}

/// Stores items in one write, but for their rows in an index. The engine's import checks more than these items need, and for a single
/// one it begins and ends a transaction, which SQLite does by itself.
fn store(storage: &Storage, table: &str, items: &[Item]) -> Result<(), DynoxideError> {
    let keys = schema::keys_of(table).unwrap_or_default();
    let rows = items.iter().map(|item| row(item, keys)).collect::<Result<Vec<_>, _>>()?;
    if rows.len() == 1 {
        return storage.put_base_items(table, &rows);
    }
    storage.begin_transaction()?;
    storage.put_base_items(table, &rows)?;
    storage.commit()
}

fn row(item: &Item, [hash, range]: [&str; 2]) -> Result<BaseItemRow, DynoxideError> {
    let key = |name| item.get(name).and_then(AttributeValue::to_key_string).unwrap_or_default();
    Ok(BaseItemRow {
        pk: key(hash),
        sk: key(range),
        item_json: serde_json::to_string(item).map_err(|e| refused(&e))?,
        item_size: item_size(item),
        cached_at: None,
        hash_prefix: item.get(hash).map(compute_hash_prefix).unwrap_or_default(),
    })
}

/// True for an item that has nothing to check: texts that are not empty, booleans, whole numbers.
fn is_plain(item: &Item) -> bool {
    item.iter().all(|(name, value)| match value {
        AttributeValue::S(text) => !name.is_empty() && !text.is_empty(),
        AttributeValue::BOOL(_) => !name.is_empty(),
        AttributeValue::N(number) => {
            let digits = number.as_bytes();
            (1..=18).contains(&digits.len())
                && digits.iter().all(u8::is_ascii_digit)
                && (digits[0] != b'0' || digits.len() == 1)
        }
        _ => false,
    })
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
        && request.select.is_none()
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
        && partition.is_some_and(|pk| !has_partition(storage, pk));
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

/// True if the ledger has items in a partition, or if that cannot be determined here: then the engine finds out.
fn has_partition(storage: &Storage, partition: &AttributeValue) -> bool {
    let Some(partition) = partition.to_key_string() else { return true };
    let sql = format!("SELECT 1 FROM \"{}\" WHERE pk = ?1 LIMIT 1", schema::names().ledger);
    let look = || storage.conn().prepare_cached(&sql)?.exists([partition]);
    look().unwrap_or(true)
}

/// Writes a batch. The engine commits every item of a batch on its own. A batch of entries alone is stored in
/// one write, which is one commit and several times as fast.
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
    store(storage, &table, &entries)?;
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
                && is_plain(&put.item)
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
