//! The tables as the template declares them, for the embedded engine.

use dynoxide::DynoxideError;
use dynoxide::actions::create_table::{self, CreateTableRequest, CreateTableResponse};
use dynoxide::actions::update_time_to_live;
use dynoxide::storage::Storage;
use nagare_client::tables::TableNames;
use serde_json::{Value, json};

use super::engine::execute::run;

pub use nagare_client::local_stack::{EVENTS_PREFIX, names};

/// The key attributes of each table.
const TIMELINES: [&str; 2] = ["viewer_id", "sort_key"];
const LEDGER: [&str; 2] = ["pk", "sk"];
const FACTS: [&str; 2] = ["pk", "sk"];
const VIEWS: [&str; 2] = ["pk", "sk"];
const DEAD_LETTERS: [&str; 2] = ["id", "part"];
const EVENTS: [&str; 2] = ["pk", "sk"];

/// The tables, as CreateTable takes them.
pub fn definitions() -> [Value; 5] {
    let tables = names();
    let mut ledger = definition(&tables.ledger, LEDGER, &["follower_id", "followee_id"]);
    ledger["GlobalSecondaryIndexes"] = json!([{
        "IndexName": shared::platform::ledger::BY_FOLLOWER,
        "KeySchema": keys("follower_id", "followee_id"),
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }]);
    let facts = with_stream(definition(&tables.facts, FACTS, &[]));
    [
        definition(&tables.timelines, TIMELINES, &[]),
        ledger,
        facts,
        definition(&tables.views, VIEWS, &[]),
        definition(&tables.dead_letters, DEAD_LETTERS, &[]),
    ]
}

/// The table of a period, as CreateTable takes it.
pub fn period_table(name: &str) -> Value {
    let mut table = with_stream(definition(name, EVENTS, &[]));
    table["SSESpecification"] = json!({"Enabled": true});
    table
}

/// The key attributes of the table of that name.
pub(super) fn keys_of(table: &str) -> Option<[&'static str; 2]> {
    let TableNames { timelines, ledger, facts, views, dead_letters, events } = names();
    if table.starts_with(&events) {
        return Some(EVENTS);
    }
    let keys = [
        (timelines, TIMELINES),
        (ledger, LEDGER),
        (facts, FACTS),
        (views, VIEWS),
        (dead_letters, DEAD_LETTERS),
    ];
    keys.into_iter().find_map(|(name, keys)| (name == table).then_some(keys))
}

fn definition(name: &str, [hash, range]: [&str; 2], others: &[&str]) -> Value {
    let attributes = [hash, range].into_iter().chain(others.iter().copied());
    let attributes = attributes.map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    json!({
        "TableName": name,
        "KeySchema": keys(hash, range),
        "AttributeDefinitions": attributes.collect::<Vec<_>>(),
        "BillingMode": "PAY_PER_REQUEST",
    })
}

fn with_stream(mut table: Value) -> Value {
    table["StreamSpecification"] =
        json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    table
}

/// Creates the tables that are not there yet.
pub(super) fn create_missing(storage: &Storage) -> Result<(), DynoxideError> {
    for definition in definitions() {
        match create(storage, request(definition)?) {
            Ok(_) | Err(DynoxideError::ResourceInUseException(_)) => {}
            Err(error) => return Err(error),
        }
    }
    for (table, attribute, _) in expiries() {
        let expiry = json!({
            "TableName": table,
            "TimeToLiveSpecification": {"AttributeName": attribute, "Enabled": true},
        });
        match run(update_time_to_live::execute(storage, request(expiry)?)) {
            // Already enabled.
            Ok(_) | Err(DynoxideError::ValidationException(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Creates a table whose rows, and those of its indexes, are kept in the order of their keys and nowhere else. The engine would keep each
/// key twice, with its row and in an index that leads there: half as much memory again, and two searches for a row.
pub(super) fn create(
    storage: &Storage,
    request: CreateTableRequest,
) -> Result<CreateTableResponse, DynoxideError> {
    let sql = "SELECT name, sql FROM sqlite_master WHERE type = ?2 AND sql IS NOT NULL \
               AND (tbl_name = ?1 OR substr(tbl_name, 1, length(?1) + 2) = ?1 || '::')";
    let name = request.table_name.clone();
    let created = run(create_table::execute(storage, request))?;
    let made = |kind: &str| {
        let mut made = storage.conn().prepare(sql)?;
        let rows = made.query_map([name.as_str(), kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<Vec<(String, String)>, _>>()
    };
    let tables = made("table")?.into_iter();
    let tables = tables.map(|(name, sql)| format!("DROP TABLE \"{name}\"; {sql} WITHOUT ROWID;"));
    let indexes = made("index")?.into_iter().map(|(_, sql)| format!("{sql};"));
    let statements: String = tables.chain(indexes).collect();
    storage.conn().execute_batch(&format!("BEGIN; {statements} COMMIT;"))?;
    Ok(created)
}

/// The tables whose items expire, the attribute by which they do, and the table's keys.
pub fn expiries() -> [(String, &'static str, &'static str); 4] {
    let tables = names();
    [
        (tables.timelines, "expires_at", "viewer_id, sort_key"),
        (tables.ledger, shared::platform::ledger::FORGET_AT, "pk, sk"),
        (tables.facts, shared::platform::ledger::FORGET_AT, "pk, sk"),
        (tables.views, shared::platform::ledger::FORGET_AT, "pk, sk"),
    ]
}

fn keys(hash: &str, range: &str) -> Value {
    json!([
        {"AttributeName": hash, "KeyType": "HASH"},
        {"AttributeName": range, "KeyType": "RANGE"},
    ])
}

fn request<T: serde::de::DeserializeOwned>(definition: Value) -> Result<T, DynoxideError> {
    serde_json::from_value(definition)
        .map_err(|e| DynoxideError::SerializationException(e.to_string()))
}
