//! Where a stack keeps its tables and queues between runs.
//!
//! The directory belongs to its owner alone, and so does every file in it ([`OwnDir`]). SQLite
//! gives its journals the mode of their database.
//!
//! A damaged database is refused at start, and so are queues without their tables: answers from either
//! would be wrong and look right.

mod health;
mod times;

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nagare_client::own_dir::{OwnDir, OwnError};
use nagare_gateway::random_secret;

use health::Health;

const TABLES: &str = "tables.sqlite";
const QUEUES: &str = "queues.sqlite";
/// The suffixes of the files that SQLite puts beside a database.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// How long the check of a database may take; a gigabyte takes some seconds.
const CHECK: Duration = Duration::from_secs(10);

/// A data directory in use by this process and no other. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct DataDir {
    directory: OwnDir,
    /// Locked as long as the process lives; the system unlocks it however the process ends.
    _lock: Arc<File>,
}

/// The directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// It cannot be created or written to.
    #[error(
        "the data directory {path} cannot be written to ({source}); name another with --data-dir"
    )]
    Unwritable {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The tables are gone, and the queues are not.
    #[error(
        "{tables} is missing or empty, but {queues} is not; put the tables back, or take the queues away \
         too to begin with nothing"
    )]
    TablesMissing {
        /// Where the tables should be.
        tables: PathBuf,
        /// Where the queues are.
        queues: PathBuf,
    },
    /// A database is damaged.
    #[error(
        "{path} is damaged ({problem}); put a copy of it back, or name another directory with --data-dir. \
         `sqlite3 {path} .recover` prints what can still be read of it"
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The problem, in SQLite's words.
        problem: String,
    },
    /// A database cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// It, or something in it, is not this user's alone.
    #[error("the data directory: {0}")]
    NotOwn(#[from] OwnError),
    /// Another process uses it.
    #[error("the data directory {0} is in use by another process; stop that one or name another")]
    InUse(PathBuf),
}

impl DataDir {
    /// Creates the directory if it does not exist, locks it, and closes it and its files to others.
    ///
    /// # Errors
    /// [`DataDirError`] says what to do.
    pub(super) fn open(path: &Path) -> Result<Self, DataDirError> {
        let unwritable = |source| DataDirError::Unwritable { path: path.to_owned(), source };
        let directory = OwnDir::open(path).map_err(|error| match error {
            OwnError::Failed { source, .. } => unwritable(source),
            other => other.into(),
        })?;
        let lock = directory.file("lock")?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DataDirError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(unwritable(source)),
        }
        let dir = Self { directory, _lock: Arc::new(lock) };
        dir.close_journals()?;
        Ok(dir)
    }

    /// Closes journals that a dead process left; SQLite gives new ones the mode of their database.
    fn close_journals(&self) -> Result<(), DataDirError> {
        for database in [TABLES, QUEUES] {
            for suffix in JOURNALS {
                self.directory.existing(&format!("{database}{suffix}"))?;
            }
        }
        Ok(())
    }

    /// Checks that tables and queues are there together, and undamaged. Logs it if the queues are gone.
    ///
    /// # Errors
    /// [`DataDirError`] says what to do.
    pub(super) fn check(&self) -> Result<(), DataDirError> {
        let (tables, queues) = (self.tables(), self.queues());
        match (self.has_content(TABLES)?, self.has_content(QUEUES)?) {
            (false, true) => return Err(DataDirError::TablesMissing { tables, queues }),
            (true, false) => tracing::warn!(
                "{} is missing or empty; commands that waited there are lost, the tables are not",
                queues.display()
            ),
            _ => {}
        }
        // Missing ones are created for their owner alone.
        self.directory.file(TABLES)?;
        self.directory.file(QUEUES)?;
        check_database(tables)?;
        check_database(queues)
    }

    fn has_content(&self, name: &str) -> Result<bool, DataDirError> {
        let Some(file) = self.directory.existing(name)? else { return Ok(false) };
        Ok(file.metadata().is_ok_and(|metadata| metadata.len() > 0))
    }

    /// The file of the tables.
    pub(super) fn tables(&self) -> PathBuf {
        self.directory.path().join(TABLES)
    }

    /// The file of the queues.
    pub(super) fn queues(&self) -> PathBuf {
        self.directory.path().join(QUEUES)
    }

    /// The directory of the archive's objects.
    pub(super) fn objects(&self) -> Result<OwnDir, OwnError> {
        self.directory.create_directory("objects")
    }

    /// The secrets of the seals. They are the same in every run, so that cursors, and commands that the
    /// writer has handed on, outlive a restart.
    ///
    /// # Errors
    /// [`DataDirError::Unwritable`]
    pub(super) fn secrets(&self) -> Result<Secrets, DataDirError> {
        let (cursor, internal) = (self.secret("cursor-secret")?, self.secret("internal-secret")?);
        Ok(Secrets { cursor, internal })
    }

    fn secret(&self, name: &str) -> Result<String, DataDirError> {
        let unreadable = || io::Error::from(io::ErrorKind::InvalidData);
        let path = self.directory.path().join(name);
        let unwritable = |source| DataDirError::Unwritable { path, source };
        match self.directory.read(name)?.filter(|secret| !secret.is_empty()) {
            Some(secret) => String::from_utf8(secret).map_err(|_| unwritable(unreadable())),
            None => {
                let secret = random_secret();
                let written = self.directory.file(name)?.write_all(secret.as_bytes());
                written.map(|()| secret).map_err(unwritable)
            }
        }
    }
}

/// Refuses a damaged database.
fn check_database(path: PathBuf) -> Result<(), DataDirError> {
    match health::check(&path, CHECK) {
        Ok(Health::Whole) => Ok(()),
        Ok(Health::Unfinished) => {
            let seconds = CHECK.as_secs();
            tracing::warn!("{} was looked at for {seconds} s and not to its end", path.display());
            Ok(())
        }
        Ok(Health::Damaged(problem)) => Err(DataDirError::Damaged { path, problem }),
        Err(source) => Err(DataDirError::Unreadable { path, source }),
    }
}

/// The secrets of a stack's seals.
#[derive(Clone)]
pub(super) struct Secrets {
    /// The reader's.
    pub(super) cursor: String,
    /// The writer's.
    pub(super) internal: String,
}

impl Secrets {
    /// New random secrets.
    pub(super) fn random() -> Self {
        Self { cursor: random_secret(), internal: random_secret() }
    }
}
