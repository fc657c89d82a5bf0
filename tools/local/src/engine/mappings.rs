//! The mappings of streams of tables of events to the history projector. A stream without a mapping is not read.

use dynoxide::DynoxideError;
use rusqlite::{OptionalExtension, Row, params};

use super::tables::{Engine, EngineError};

const ADD: &str = "
    INSERT OR IGNORE INTO nagare_mappings (uuid, stream, function, table_name, request)
    VALUES (?1, ?2, ?3, ?4, ?5)";
const ALL: &str = "
    SELECT uuid, stream, function, table_name, request FROM nagare_mappings ORDER BY uuid";
const REMOVE: &str = "
    DELETE FROM nagare_mappings WHERE uuid = ?1
    RETURNING uuid, stream, function, table_name, request";

/// The mapping of a stream to a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamMapped {
    /// Its id.
    pub uuid: String,
    /// The ARN of the stream.
    pub stream: String,
    /// The function, by the name that the request has.
    pub function: String,
    pub table: String,
    /// The request that has made it, in JSON.
    pub request: String,
}

impl Engine {
    /// Adds a mapping. False if that stream is mapped to that function.
    pub fn add_mapping(&self, mapping: &StreamMapped) -> Result<bool, EngineError> {
        let StreamMapped { uuid, stream, function, table, request } = mapping;
        let values = params![uuid, stream, function, table, request];
        let added = self.storage().conn().execute(ADD, values).map_err(DynoxideError::from)?;
        // What was written before it was mapped is read now.
        self.tables.written_events.notify_one();
        Ok(added > 0)
    }

    /// All mappings.
    pub fn mappings(&self) -> Result<Vec<StreamMapped>, EngineError> {
        let storage = self.storage();
        let mut all = storage.conn().prepare_cached(ALL).map_err(DynoxideError::from)?;
        let all = all.query_map([], read).and_then(Iterator::collect);
        Ok(all.map_err(DynoxideError::from)?)
    }

    /// Removes a mapping. Returns it, if there was one.
    pub fn remove_mapping(&self, uuid: &str) -> Result<Option<StreamMapped>, EngineError> {
        let removed = self.storage().conn().query_row(REMOVE, [uuid], read).optional();
        Ok(removed.map_err(DynoxideError::from)?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<StreamMapped> {
    Ok(StreamMapped {
        uuid: row.get(0)?,
        stream: row.get(1)?,
        function: row.get(2)?,
        table: row.get(3)?,
        request: row.get(4)?,
    })
}
