//! The tables, and how SQLite is set up to hold them.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::error::QueueError;

/// A queue's number in the file. It outlives restarts, whatever the order of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueKey(pub(super) i64);

/// Raised whenever the tables change: files of another version are refused, not misread.
const VERSION: i64 = 1;

/// `queues.messages` counts all rows of a queue, so that asking for the depth of a backlog scans only
/// what is hidden. The first index finds what to hand out next, and when; it carries `receives` to tell
/// messages in flight from delayed ones, and whose they are, without touching a row. The second finds what has expired. While
/// `receives` is 0, `receipt` and `first_received_at` are only placeholders for what the first receive
/// writes: a row that grew then would split its page.
const TABLES: &str = "
    CREATE TABLE queues (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        created_at INTEGER NOT NULL,
        messages INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY,
        queue INTEGER NOT NULL,
        visible_at INTEGER NOT NULL,
        receives INTEGER NOT NULL DEFAULT 0,
        sent_at INTEGER NOT NULL,
        first_received_at INTEGER NOT NULL,
        receipt BLOB NOT NULL,
        message_id BLOB NOT NULL,
        dead_letter_source TEXT,
        group_id TEXT,
        attributes TEXT,
        body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX by_visibility ON messages (queue, visible_at, receives, group_id);
    CREATE INDEX by_age ON messages (queue, sent_at);
";

/// In KiB. Small on purpose: a commit that has moved pages looks at every page in SQLite's cache,
/// so that a cache as large as a long backlog would make each call as slow as the backlog is long.
const CACHE: i64 = -4_096;

/// How many pages of a database in memory messages may fill: 15/16 of the 1 GiB that SQLite gives
/// it. The rest is for receives and moves, which need a little room themselves: without it a full
/// queue could not be emptied.
pub(super) const MEMORY_PAGES: u64 = 245_760;

/// A database in SQLite's in-memory file system, and not `:memory:`, which *is* one large page
/// cache.
pub(super) fn open_in_memory() -> Result<Connection, QueueError> {
    let connection = Connection::open("file:queues?vfs=memdb")?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    // A rollback journal, in memory too: without one a failed statement would leave half a batch.
    connection.pragma_update(None, "journal_mode", "MEMORY")?;
    prepare(connection)
}

pub(super) fn open_file(path: &Path) -> Result<Connection, QueueError> {
    let connection = Connection::open(path)?;
    // Waits for a predecessor that is just dying; a living one never lets go.
    connection.busy_timeout(Duration::from_millis(500))?;
    // Exclusive before WAL: a second process is refused, and no shared-memory file is needed.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    prepare(connection)
}

fn prepare(mut connection: Connection) -> Result<Connection, QueueError> {
    connection.pragma_update(None, "cache_size", CACHE)?;
    connection.set_prepared_statement_cache_capacity(32);
    let setup = connection.transaction()?;
    match setup.pragma_query_value(None, "user_version", |row| row.get(0))? {
        0 => {
            setup.execute_batch(TABLES)?;
            setup.pragma_update(None, "user_version", VERSION)?;
        }
        VERSION => {}
        other => {
            let sentence = format!("the file is of version {other}, not {VERSION}");
            return Err(QueueError::Configuration(sentence));
        }
    }
    setup.commit()?;
    Ok(connection)
}
