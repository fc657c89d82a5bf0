//! Whether all that is stored is of a kind that says its bound, and within it.

use dynoxide::types::{Item, item_size};
use nagare_local::schema;
use serde_json::{Value, json};
use shared::bounds::{Kind, StoredIn};
use tests::World;

/// Weighs everything in all tables.
pub(crate) fn is_within_bounds(world: &World) -> Result<(), String> {
    let names = schema::names();
    for (table, name, [hash, range]) in [
        (StoredIn::Timelines, names.timelines, ["viewer_id", "sort_key"]),
        (StoredIn::Ledger, names.ledger, ["pk", "sk"]),
        (StoredIn::Facts, names.facts, ["pk", "sk"]),
        (StoredIn::Views, names.views, ["pk", "sk"]),
        (StoredIn::DeadLetters, names.dead_letters, ["id", "part"]),
        (StoredIn::Events, format!("{}2026-11-19", names.events), ["pk", "sk"]),
    ] {
        let mut request = json!({"TableName": name});
        loop {
            let (_, page) = world.engine.call("Scan", request.to_string().as_bytes());
            let mut page: Value = serde_json::from_str(&page).unwrap();
            for item in page["Items"].as_array().ok_or_else(|| format!("{name}: {page}"))? {
                within(table, item, hash, range)?;
            }
            match page["LastEvaluatedKey"].take() {
                Value::Null => break,
                start => request["ExclusiveStartKey"] = start,
            }
        }
    }
    Ok(())
}

fn within(table: StoredIn, item: &Value, hash: &str, range: &str) -> Result<(), String> {
    let [pk, sk] = [hash, range].map(|name| item[name]["S"].as_str().unwrap());
    let Some(kind) = Kind::of(table, pk, sk) else {
        return Err(format!("{table:?}: {pk} {sk} is of no kind"));
    };
    let item: Item = serde_json::from_value(item.clone()).unwrap();
    let bytes = item_size(&item);
    if bytes > kind.bound() {
        return Err(format!("{}: {pk} {sk} weighs {bytes} bytes", kind.name()));
    }
    Ok(())
}
