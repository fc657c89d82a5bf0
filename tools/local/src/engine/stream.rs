//! The streams of the table of facts and of the tables of events: each change of a row, with the row before and after.
//!
//! The engine writes a record in the SQLite transaction that changes the row, so that after `kill -9` both are there or neither is.
//! It keeps every record, so records that were worked off are deleted here. The last one stays, because the engine numbers records
//! from it.
//!
//! How far a stream was worked off is stored as well. The views keep the marks of its shards for
//! two days, and the clock of a stack may be moved on by months. Without the stored position, the
//! last record would then be delivered and folded again.

use dynoxide::DynoxideError;
use dynoxide::storage::Storage;
use rusqlite::{OptionalExtension, Row, params};
use serde_json::value::RawValue;
use shared::platform::runtime::clock::Clock;

use super::tables::{Engine, EngineError};
use crate::schema;

const NOTED: &str = "SELECT number FROM nagare_worked_off WHERE table_name = ?1";
const NOTE: &str = "INSERT OR REPLACE INTO nagare_worked_off (table_name, number) VALUES (?1, ?2)";
/// Tables of events with a mapped stream that has records left to work off.
const LEFT: &str = "
    SELECT DISTINCT s.table_name FROM _stream_records s
    JOIN nagare_mappings m ON m.table_name = s.table_name
    LEFT JOIN nagare_worked_off w ON w.table_name = s.table_name
    WHERE s.table_name GLOB ?1 AND CAST(s.sequence_number AS INTEGER) > IFNULL(w.number, 0)";
/// The instant of the oldest record that is not worked off, in unix seconds.
const OLDEST: &str = "
    SELECT MIN(s.created_at) FROM _stream_records s
    LEFT JOIN nagare_worked_off w ON w.table_name = s.table_name
    WHERE (s.table_name = ?1 OR s.table_name IN (SELECT table_name FROM nagare_mappings))
    AND CAST(s.sequence_number AS INTEGER) > IFNULL(w.number, 0)";
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

/// The age at which records are deleted: a day, as in DynamoDB. It is by the system's clock, which the engine writes into records.
const OLD: &str = "
    DELETE FROM _stream_records
    WHERE table_name GLOB ?1 AND created_at < unixepoch() - 86400
    AND id NOT IN (SELECT MAX(id) FROM _stream_records GROUP BY table_name)";

#[derive(Debug, Clone)]
pub struct StreamRecord {
    /// Its number. Later records have greater numbers.
    pub number: i64,
    /// The key of the row, in JSON as DynamoDB writes it.
    pub keys: Box<RawValue>,
    /// The row before the change.
    pub before: Option<Box<RawValue>>,
    /// The row after the change.
    pub after: Option<Box<RawValue>>,
    /// When it was changed, in unix seconds.
    pub at: i64,
}

impl StreamRecord {
    /// Bytes of its rows.
    pub(crate) fn bytes(&self) -> usize {
        let images = [&self.before, &self.after].into_iter().flatten();
        images.map(|image| image.get().len()).sum()
    }
}

/// Deletes old records of the streams of tables of events.
pub(super) fn forget_old(storage: &Storage) -> Result<(), DynoxideError> {
    storage.conn().execute(OLD, [format!("{}*", schema::EVENTS_PREFIX)])?;
    Ok(())
}

impl Engine {
    /// The next records of the stream of facts after a number, at most `at_most`.
    pub fn stream_behind(
        &self,
        number: i64,
        at_most: usize,
    ) -> Result<Vec<StreamRecord>, EngineError> {
        self.stream_of(&schema::names().facts, number, at_most)
    }

    /// The next records of the stream of a table after a number, at most `at_most`, without those that are noted as worked off.
    pub fn stream_of(
        &self,
        table: &str,
        number: i64,
        at_most: usize,
    ) -> Result<Vec<StreamRecord>, EngineError> {
        self.stream_batch(table, number, (at_most, usize::MAX))
    }

    /// The same, of so many records and bytes at most, and one record at least.
    pub(crate) fn stream_batch(
        &self,
        table: &str,
        number: i64,
        (at_most, at_most_bytes): (usize, usize),
    ) -> Result<Vec<StreamRecord>, EngineError> {
        let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
        let storage = self.storage();
        let noted: Option<i64> = storage
            .conn()
            .prepare_cached(NOTED)
            .and_then(|mut noted| noted.query_row([table], |row| row.get(0)).optional())
            .map_err(DynoxideError::from)?;
        let number = number.max(noted.unwrap_or(number));
        let mut records = storage.conn().prepare_cached(BEHIND).map_err(DynoxideError::from)?;
        let records = records.query_map(params![table, number, at_most], read);
        let (mut taken, mut bytes) = (Vec::new(), 0);
        for record in records.map_err(DynoxideError::from)? {
            let record = record.map_err(DynoxideError::from)?;
            bytes += record.bytes();
            if bytes > at_most_bytes && !taken.is_empty() {
                break;
            }
            taken.push(record);
        }
        Ok(taken)
    }

    /// The tables of events whose streams are mapped and have something left to work off.
    pub fn streams_left(&self) -> Result<Vec<String>, EngineError> {
        let storage = self.storage();
        let mut left = storage.conn().prepare_cached(LEFT).map_err(DynoxideError::from)?;
        let left = left.query_map([format!("{}*", schema::EVENTS_PREFIX)], |row| row.get(0));
        Ok(left.and_then(Iterator::collect).map_err(DynoxideError::from)?)
    }

    /// How old the oldest record is that is not worked off, in seconds; 0 if all are.
    pub fn stream_lag(&self) -> Result<i64, EngineError> {
        let (storage, facts) = (self.storage(), schema::names().facts);
        let oldest = storage.conn().prepare_cached(OLDEST);
        let oldest = oldest.and_then(|mut oldest| oldest.query_row([facts], |row| row.get(0)));
        let oldest: Option<i64> = oldest.map_err(DynoxideError::from)?;
        let now = Clock::system().now().unix_millis() / 1_000;
        Ok(oldest.map_or(0, |at| (now - at).max(0)))
    }

    /// Deletes the records of the stream of a table up to a number, all of which were worked off, and notes the number. The very last
    /// record stays.
    pub fn work_off(&self, table: &str, number: i64) -> Result<(), EngineError> {
        let storage = self.storage();
        let done = storage.conn().execute(NOTE, params![table, number]);
        let done = done.and_then(|_| storage.conn().prepare_cached(WORKED_OFF));
        let done = done.and_then(|mut delete| delete.execute(params![table, number]));
        done.map_err(DynoxideError::from)?;
        Ok(())
    }

    /// Waits until something may have been added to the stream of a table of events.
    pub async fn events_changed(&self) {
        self.tables.written_events.notified().await;
    }

    /// Waits until something may have been added to the stream of facts.
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
