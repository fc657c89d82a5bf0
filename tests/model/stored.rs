//! Whether all that is stored is of a kind that says its bound, and within it.

use nagare::local::schema;
use shared::bounds::{Kind, StoredIn};
use shared::dynamo::item::Item;
use shared::dynamo::limits::item_bytes;
use tests::World;

/// Weighs everything in all tables.
pub(crate) async fn is_within_bounds(world: &World) -> Result<(), String> {
    let names = schema::names();
    for (table, name, [hash, range]) in [
        (StoredIn::Timelines, names.timelines, ["viewer_id", "sort_key"]),
        (StoredIn::Ledger, names.ledger, ["pk", "sk"]),
        (StoredIn::Facts, names.facts, ["pk", "sk"]),
        (StoredIn::Views, names.views, ["pk", "sk"]),
        (StoredIn::DeadLetters, names.dead_letters, ["id", "part"]),
    ] {
        let client = world.tables.ledger.table().client();
        let mut start = None;
        loop {
            let scan = client.scan().table_name(&name).set_exclusive_start_key(start);
            let page = scan.send().await.map_err(|e| format!("{name}: {e:?}"))?;
            page.items().iter().try_for_each(|item| within(table, item, hash, range))?;
            start = page.last_evaluated_key;
            if start.is_none() {
                break;
            }
        }
    }
    Ok(())
}

fn within(table: StoredIn, item: &Item, hash: &str, range: &str) -> Result<(), String> {
    let key = |name: &str| item[name].as_s().unwrap().as_str();
    let (pk, sk) = (key(hash), key(range));
    let Some(kind) = Kind::of(table, pk, sk) else {
        return Err(format!("{table:?}: {pk} {sk} is of no kind"));
    };
    let bytes = item_bytes(item);
    if bytes > kind.bound() {
        return Err(format!("{}: {pk} {sk} weighs {bytes} bytes", kind.name()));
    }
    Ok(())
}
