//! Where a stack keeps its tables and queues between runs.
//!
//! The directory belongs to its owner alone (0700), and so does every file in it (0600), whatever the
//! umask is and whatever the modes were before. SQLite gives its journals the mode of their database.
//! Files are opened without following links, so that nobody leads the stack to a file that is not its
//! own.
//!
//! A damaged database is refused at start, and so are queues without their tables: answers from either
//! would be wrong and look right.

mod health;
mod times;

use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nagare_gateway::random_secret;
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use health::Health;

/// The permissions of others than the owner, and the bit of directories in which everybody may put
/// files.
const OTHERS: u32 = 0o077;
const SHARED: u32 = 0o1000;
/// The suffixes of the files that SQLite puts beside a database.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// How long the check of a database may take; a gigabyte takes some seconds.
const CHECK: Duration = Duration::from_secs(10);

/// A data directory in use by this process and no other. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct DataDir {
    path: PathBuf,
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
    /// Everybody may put files there.
    #[error("{0} is a directory that everybody on this machine shares; name one of your own")]
    Shared(PathBuf),
    /// The path of a file is a link, a pipe or the like.
    #[error("{0} is not an ordinary file; take it away, or name another directory with --data-dir")]
    NotAFile(PathBuf),
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
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unwritable)?;
        close_to_others(path)?;
        let lock = private_file(&path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DataDirError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(unwritable(source)),
        }
        let dir = Self { path: path.to_owned(), _lock: Arc::new(lock) };
        dir.close_journals()?;
        Ok(dir)
    }

    /// Closes journals that a dead process left; SQLite gives new ones the mode of their database.
    fn close_journals(&self) -> Result<(), DataDirError> {
        for database in [self.tables(), self.queues()] {
            for journal in journals(&database).filter(|journal| journal.exists()) {
                private_file(&journal)?;
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
        match (has_content(&tables), has_content(&queues)) {
            (false, true) => return Err(DataDirError::TablesMissing { tables, queues }),
            (true, false) => tracing::warn!(
                "{} is missing or empty; commands that waited there are lost, the tables are not",
                queues.display()
            ),
            _ => {}
        }
        check_database(&tables)?;
        check_database(&queues)
    }

    /// The file of the tables.
    #[must_use]
    pub(super) fn tables(&self) -> PathBuf {
        self.path.join("tables.sqlite")
    }

    /// The file of the queues.
    #[must_use]
    pub(super) fn queues(&self) -> PathBuf {
        self.path.join("queues.sqlite")
    }

    /// The directory of the archive's objects.
    #[must_use]
    pub(super) fn objects(&self) -> PathBuf {
        self.path.join("objects")
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
        let path = self.path.join(name);
        let unwritable = |source| DataDirError::Unwritable { path: path.clone(), source };
        let mut secret = String::new();
        let mut file = private_file(&path)?;
        file.read_to_string(&mut secret).map_err(unwritable)?;
        if secret.is_empty() {
            secret = random_secret();
            file.write_all(secret.as_bytes()).map_err(unwritable)?;
        }
        Ok(secret)
    }
}

fn has_content(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// Refuses a damaged database; creates a missing one for its owner alone.
fn check_database(path: &Path) -> Result<(), DataDirError> {
    private_file(path)?;
    let path = path.to_owned();
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

/// Closes the directory to everybody but its owner.
fn close_to_others(path: &Path) -> Result<(), DataDirError> {
    let unwritable = |source| DataDirError::Unwritable { path: path.to_owned(), source };
    let mode = path.metadata().map_err(unwritable)?.permissions().mode();
    match mode {
        _ if mode & SHARED != 0 => Err(DataDirError::Shared(path.to_owned())),
        _ if mode & OTHERS == 0 => Ok(()),
        _ => std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(unwritable),
    }
}

/// Opens a file with its content and closes it to everybody but its owner; creates it if it is missing.
///
/// # Errors
/// [`DataDirError::Unwritable`], [`DataDirError::NotAFile`]
pub(super) fn private_file(path: &Path) -> Result<File, DataDirError> {
    let unwritable = |source| DataDirError::Unwritable { path: path.to_owned(), source };
    let mut options = File::options();
    options.read(true).append(true).create(true).mode(0o600);
    let file = options.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path);
    let file = file.map_err(|failure| match path.symlink_metadata() {
        Ok(other) if !other.is_file() => DataDirError::NotAFile(path.to_owned()),
        _ => unwritable(failure),
    })?;
    let metadata = file.metadata().map_err(unwritable)?;
    if !metadata.is_file() {
        return Err(DataDirError::NotAFile(path.to_owned()));
    }
    if metadata.permissions().mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(0o600)).map_err(unwritable)?;
    }
    Ok(file)
}

/// The files in which SQLite keeps what is not yet in a database.
pub(super) fn journals(database: &Path) -> impl Iterator<Item = PathBuf> {
    let name = database.as_os_str().to_owned();
    JOURNALS.into_iter().map(move |end| {
        let mut journal = name.clone();
        journal.push(end);
        PathBuf::from(journal)
    })
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
    #[must_use]
    pub(super) fn random() -> Self {
        Self { cursor: random_secret(), internal: random_secret() }
    }
}
