//! All that is stored: whether it is of a kind that says its bound, and within it.

use dynoxide::types::{Item, item_size};
use nagare_local::schema;
use serde_json::{Value, json};
use shared::platform::stored::{Stored, StoredIn};
use shared::stored;
use tests::World;

/// An item, as DynamoDB writes it.
pub(crate) struct StoredItem {
    pub(crate) table: StoredIn,
    pub(crate) pk: String,
    pub(crate) sk: String,
    pub(crate) item: Value,
}

impl StoredItem {
    /// What it is, if any feature writes such a thing.
    pub(crate) fn kind(&self) -> Option<&'static Stored> {
        stored::of_key(self.table, &self.pk, &self.sk)
    }
}

/// The items of all tables, and of these tables of events.
pub(crate) fn items(world: &World, events: &[String]) -> Result<Vec<StoredItem>, String> {
    let names = schema::names();
    let mut tables = vec![
        (StoredIn::Timelines, names.timelines, ["viewer_id", "sort_key"]),
        (StoredIn::Ledger, names.ledger, ["pk", "sk"]),
        (StoredIn::Facts, names.facts, ["pk", "sk"]),
        (StoredIn::Views, names.views, ["pk", "sk"]),
        (StoredIn::DeadLetters, names.dead_letters, ["id", "part"]),
    ];
    tables.extend(events.iter().map(|table| (StoredIn::Events, table.clone(), ["pk", "sk"])));
    let mut found = Vec::new();
    for (table, name, keys) in tables {
        let mut request = json!({"TableName": name});
        loop {
            let (_, page) = world.engine.call("Scan", request.to_string().as_bytes());
            let mut page: Value = serde_json::from_str(&page).unwrap();
            let Value::Array(items) = page["Items"].take() else {
                return Err(format!("{name}: {page}"));
            };
            found.extend(items.into_iter().map(|item| {
                let [pk, sk] = keys.map(|key| item[key]["S"].as_str().unwrap().to_owned());
                StoredItem { table, pk, sk, item }
            }));
            match page["LastEvaluatedKey"].take() {
                Value::Null => break,
                start => request["ExclusiveStartKey"] = start,
            }
        }
    }
    Ok(found)
}

/// Weighs everything in all tables.
pub(crate) fn is_within_bounds(world: &World) -> Result<(), String> {
    let events = format!("{}2026-11-19", schema::names().events);
    items(world, &[events])?.iter().try_for_each(is_within)
}

fn is_within(found: &StoredItem) -> Result<(), String> {
    let StoredItem { table, pk, sk, item } = found;
    let Some(kind) = found.kind() else {
        return Err(format!("{table:?}: {pk} {sk} is of no kind"));
    };
    let item: Item = serde_json::from_value(item.clone()).unwrap();
    let bytes = item_size(&item);
    if bytes > kind.most_bytes {
        return Err(format!("{kind}: {pk} {sk} weighs {bytes} bytes"));
    }
    Ok(())
}
