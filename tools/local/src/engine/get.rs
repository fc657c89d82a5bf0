//! Reads of one whole item, on a fast path: an item is stored as the JSON that the answer has. The engine would read and print it again.

use dynoxide::DynoxideError;
use dynoxide::storage::Storage;
use dynoxide::types::read_capacity_units_with_consistency;
use nagare_telemetry::numbers::READ_UNITS;
use rusqlite::OptionalExtension;
use serde::Deserialize;

use super::super::schema;
use super::edges::{Key, TEXT};
use super::fast_path::SHORT;
use super::{Engine, units};

/// A set of numbers, which the engine sorts.
const NUMBERS: &str = r#"{"NS":"#;

/// A `GetItem` of a table with the keys `pk` and `sk`, without a projection.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Get<'a> {
    table_name: &'a str,
    #[serde(borrow)]
    key: Key<'a>,
    #[serde(default)]
    consistent_read: bool,
}

impl<'a> Get<'a> {
    /// Parses a read. None if it is a different one, or may be invalid.
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let get: Self = serde_json::from_slice(body).ok()?;
        let tables = schema::names();
        let is_known =
            [tables.ledger, tables.facts, tables.views].iter().any(|table| table == get.table_name);
        let is_short = |key: &str| (1..SHORT).contains(&key.len());
        (is_known && is_short(get.key.pk.text) && is_short(get.key.sk.text)).then_some(get)
    }

    /// Answers from the tables. None if the engine has to.
    pub(super) fn answer(&self, engine: &Engine) -> Result<Option<String>, DynoxideError> {
        let (table, key) = (self.table_name, [self.key.pk.text, self.key.sk.text]);
        let found = stored(&engine.storage(), table, key)?;
        let (json, bytes) = found.unwrap_or_default();
        if json.contains(NUMBERS) {
            return Ok(None);
        }
        if let Some(numbers) = &engine.numbers {
            let units = read_capacity_units_with_consistency(bytes, self.consistent_read);
            numbers.add(READ_UNITS, units::table(table), units);
        }
        Ok(Some(if json.is_empty() { "{}".to_owned() } else { format!(r#"{{"Item":{json}}}"#) }))
    }
}

/// An item of a table with the keys `pk` and `sk`, in JSON, and its size in bytes.
pub(super) fn stored(
    storage: &Storage,
    table: &str,
    key: [&str; 2],
) -> rusqlite::Result<Option<(String, usize)>> {
    let sql = format!(r#"SELECT item_json, item_size FROM "{table}" WHERE pk = ?1 AND sk = ?2"#);
    let key = key.map(|key| format!("{TEXT}{key}"));
    let mut get = storage.conn().prepare_cached(&sql)?;
    get.query_row(key, |row| Ok((row.get(0)?, row.get(1)?))).optional()
}
