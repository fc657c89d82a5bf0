//! Takes what was deleted out of the file. SQLite keeps deleted values in free space and in its
//! log, and the last record of each stream stays.

use std::collections::BTreeMap;

use dynoxide::DynoxideError;
use rusqlite::{Connection, params};

use super::tables::{Engine, EngineError};
use crate::schema;

/// The last record of each stream that a function reads.
const LAST: &str = "
    SELECT table_name, MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records
    WHERE table_name = ?1 OR table_name IN (SELECT table_name FROM nagare_mappings)
    GROUP BY table_name";
const NOTED: &str = "SELECT table_name, number FROM nagare_worked_off";
/// Streams that nothing reads any more have been worked off.
const UNMAPPED: &str = "
    UPDATE nagare_worked_off SET number = MAX(number, IFNULL((
        SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records s
        WHERE s.table_name = nagare_worked_off.table_name), 0))
    WHERE table_name <> ?1 AND table_name NOT IN (SELECT table_name FROM nagare_mappings)";
/// Records that were worked off keep their numbers alone.
const EMPTY: &str = "
    UPDATE _stream_records SET keys_json = '{}', old_image = NULL, new_image = NULL
    WHERE CAST(sequence_number AS INTEGER) <=
        (SELECT number FROM nagare_worked_off w WHERE w.table_name = _stream_records.table_name)";

/// How far the streams had come at some moment, by table.
#[derive(Debug, Clone)]
pub struct StreamEnds(BTreeMap<String, i64>);

impl Engine {
    /// True if the tables are in a file.
    pub fn is_on_disk(&self) -> bool {
        self.tables.file.is_some()
    }

    /// How far the streams have come.
    pub fn stream_ends(&self) -> Result<StreamEnds, EngineError> {
        let facts = schema::names().facts;
        Ok(StreamEnds(numbers(self.storage().conn(), LAST, params![facts])?))
    }

    /// True if the streams have been worked off as far as they had come.
    pub fn has_worked_off(&self, ends: &StreamEnds) -> Result<bool, EngineError> {
        let noted = numbers(self.storage().conn(), NOTED, params![])?;
        Ok(ends.0.iter().all(|(table, end)| noted.get(table).is_some_and(|noted| noted >= end)))
    }

    /// Rewrites the file without what was deleted, and empties the records of streams that were
    /// worked off.
    pub fn compact(&self) -> Result<(), EngineError> {
        let storage = self.storage();
        let conn = storage.conn();
        let emptied = conn.execute(UNMAPPED, [schema::names().facts]);
        emptied.and_then(|_| conn.execute(EMPTY, [])).map_err(DynoxideError::from)?;
        Ok(rewrite(conn).map_err(DynoxideError::from)?)
    }
}

fn numbers(
    conn: &Connection,
    query: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> Result<BTreeMap<String, i64>, DynoxideError> {
    let mut query = conn.prepare_cached(query)?;
    let rows = query.query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Rewrites a database without what was deleted, and empties its log.
pub(crate) fn rewrite(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("VACUUM")?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}
