//! The stream of the table of facts: each change of a row, with what it was before and after.
//!
//! The engine writes a record in the SQLite transaction that changes the row, so that after `kill -9` both are
//! there or neither is. It keeps every record, so they are deleted here once they were worked off. The last one
//! stays: the engine numbers records from it.

use dynoxide::DynoxideError;
use dynoxide::storage::Storage;
use rusqlite::{Row, params};
use serde_json::value::RawValue;

use super::super::schema;
use super::{Engine, EngineError};

/// The engine looks for the last number with each record, and for records behind a number.
const INDEX: &str = "
    CREATE INDEX IF NOT EXISTS nagare_stream_by_number
        ON _stream_records (table_name, CAST(sequence_number AS INTEGER));
";
const BEHIND: &str = "
    SELECT CAST(sequence_number AS INTEGER), keys_json, old_image, new_image, created_at
    FROM _stream_records
    WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > ?2
    ORDER BY CAST(sequence_number AS INTEGER) LIMIT ?3";
const WORKED_OFF: &str = "
    DELETE FROM _stream_records
    WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) <= ?2
    AND CAST(sequence_number AS INTEGER) <
        (SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = ?1)";

/// A stream keeps records for a day, as DynamoDB's do; by the system's clock, by which the engine notes them.
const OLD: &str = "
    DELETE FROM _stream_records
    WHERE table_name GLOB ?1 AND created_at < unixepoch() - 86400
    AND id NOT IN (SELECT MAX(id) FROM _stream_records GROUP BY table_name)";

/// A record.
#[derive(Debug, Clone)]
pub struct StreamRecord {
    /// Its number: those of later records are greater.
    pub number: i64,
    /// The key of the row, in JSON as DynamoDB writes it.
    pub keys: Box<RawValue>,
    /// What the row was.
    pub before: Option<Box<RawValue>>,
    /// What it is.
    pub after: Option<Box<RawValue>>,
    /// When it was changed, in unix seconds.
    pub at: i64,
}

/// Prepares a connection.
pub(super) fn create_missing(storage: &Storage) -> Result<(), DynoxideError> {
    Ok(storage.conn().execute_batch(INDEX)?)
}

/// Deletes what is old in the streams of tables of events, which nothing here works off.
pub(super) fn forget_old(storage: &Storage) -> Result<(), DynoxideError> {
    storage.conn().execute(OLD, [format!("{}*", schema::EVENTS_PREFIX)])?;
    Ok(())
}

impl Engine {
    /// The next records behind a number, at most N.
    ///
    /// # Errors
    /// [`EngineError`]
    pub fn stream_behind(
        &self,
        number: i64,
        at_most: usize,
    ) -> Result<Vec<StreamRecord>, EngineError> {
        let (facts, at_most) = (schema::names().facts, i64::try_from(at_most).unwrap_or(i64::MAX));
        let storage = self.storage();
        let mut records = storage.conn().prepare_cached(BEHIND).map_err(DynoxideError::from)?;
        let records = records.query_map(params![facts, number, at_most], read);
        let records = records.and_then(Iterator::collect).map_err(DynoxideError::from)?;
        Ok(records)
    }

    /// Deletes the records up to a number, all of which were worked off, but for the last there is.
    ///
    /// # Errors
    /// [`EngineError`]
    pub fn forget_stream_up_to(&self, number: i64) -> Result<(), EngineError> {
        let storage = self.storage();
        let deleted = storage.conn().prepare_cached(WORKED_OFF);
        let deleted = deleted.and_then(|mut d| d.execute(params![schema::names().facts, number]));
        deleted.map_err(DynoxideError::from)?;
        Ok(())
    }

    /// Waits until something may have been added to the stream.
    pub async fn stream_changed(&self) {
        self.tables.written.notified().await;
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<StreamRecord> {
    let json = |column, text: String| {
        RawValue::from_string(text).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(
                column,
                rusqlite::types::Type::Text,
                Box::new(error),
            )
        })
    };
    let image = |column| {
        let text: Option<String> = row.get(column)?;
        text.map(|text| json(column, text)).transpose()
    };
    Ok(StreamRecord {
        number: row.get(0)?,
        keys: json(1, row.get(1)?)?,
        before: image(2)?,
        after: image(3)?,
        at: row.get(4)?,
    })
}
