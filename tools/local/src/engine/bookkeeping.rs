//! SQLite tables of the stack itself, beside those of the engine.

use std::collections::HashSet;

use dynoxide::DynoxideError;
use dynoxide::storage::Storage;

/// Each with the module that reads it.
const TABLES: &str = "
    -- transactions: tokens, with a digest of their actions, and the token that a call is about to store.
    PRAGMA temp_store = MEMORY;
    CREATE TABLE IF NOT EXISTS nagare_tokens
        (token TEXT PRIMARY KEY, digest BLOB NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS nagare_tokens_by_time ON nagare_tokens (at);
    CREATE TEMP TABLE nagare_claim (token TEXT, digest BLOB, at INTEGER);
    -- stream: with each record the engine looks up the last number, and readers look up records after a number.
    CREATE INDEX IF NOT EXISTS nagare_stream_by_number
        ON _stream_records (table_name, CAST(sequence_number AS INTEGER));
    CREATE TABLE IF NOT EXISTS nagare_worked_off (
        table_name TEXT PRIMARY KEY, number INTEGER NOT NULL
    ) WITHOUT ROWID;
    -- mappings
    CREATE TABLE IF NOT EXISTS nagare_mappings (
        uuid TEXT PRIMARY KEY, stream TEXT NOT NULL, function TEXT NOT NULL, table_name TEXT NOT NULL,
        request TEXT NOT NULL, UNIQUE (stream, function)
    ) WITHOUT ROWID;
    -- control
    CREATE TABLE IF NOT EXISTS nagare_control (
        name TEXT PRIMARY KEY, created INTEGER NOT NULL, restorable INTEGER NOT NULL DEFAULT 0, policy TEXT
    ) WITHOUT ROWID;
";
/// Tables whose policy denies something.
const WITH_POLICY: &str = "SELECT name FROM nagare_control WHERE policy IS NOT NULL";

/// Prepares a connection.
pub(super) fn create_missing(storage: &Storage) -> Result<(), DynoxideError> {
    Ok(storage.conn().execute_batch(TABLES)?)
}

/// The tables that have a policy.
pub(super) fn with_policy(storage: &Storage) -> Result<HashSet<String>, DynoxideError> {
    let mut select = storage.conn().prepare(WITH_POLICY)?;
    let names = select.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}
