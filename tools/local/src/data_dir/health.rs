//! Checks whether a database is intact, before anything is served from it.

use std::ffi::c_int;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

/// How many steps SQLite takes between two looks at the clock.
const STEPS: c_int = 100;

/// The result of checking a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Health {
    /// Every page is intact.
    Whole,
    /// Nothing was found in the given time.
    Unfinished,
    /// Something is wrong with the file.
    Damaged(String),
}

/// Checks all pages of a database, for at most `patience`.
///
/// # Errors
/// The file cannot be read, which says nothing about what is in it.
pub(super) fn check(database: &Path, patience: Duration) -> Result<Health, rusqlite::Error> {
    let connection = Connection::open(database)?;
    let end = Instant::now() + patience;
    connection.progress_handler(STEPS, Some(move || Instant::now() >= end));
    let found = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match found {
        Ok(found) if found == "ok" => Ok(Health::Whole),
        Ok(found) => Ok(Health::Damaged(found)),
        Err(failure) => judge(failure),
    }
}

fn judge(failure: rusqlite::Error) -> Result<Health, rusqlite::Error> {
    match failure.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => Ok(Health::Unfinished),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Ok(Health::Damaged(failure.to_string()))
        }
        _ => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_has_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tables.sqlite");
        // More rows than SQLite checks between two looks at the clock.
        let rows = format!(
            "CREATE TABLE t (x); CREATE INDEX i ON t (x);
             WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {STEPS})
             INSERT INTO t SELECT x FROM n;"
        );
        Connection::open(&file).unwrap().execute_batch(&rows).unwrap();
        assert_eq!(check(&file, Duration::ZERO).unwrap(), Health::Unfinished);
        assert_eq!(check(&file, Duration::from_secs(600)).unwrap(), Health::Whole);
    }
}
