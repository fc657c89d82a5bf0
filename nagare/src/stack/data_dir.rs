//! Where a stack keeps its tables and queues between runs.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// A data directory that this process, and no other, works with.
#[derive(Debug)]
pub(super) struct DataDir {
    path: PathBuf,
    /// Held as long as the process lives; the system lets go of it however the process ends.
    _lock: File,
}

/// The directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// It cannot be made or written to.
    #[error(
        "the data directory {path} cannot be written to ({source}); name another with --data-dir"
    )]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process works with it.
    #[error("the data directory {0} is in use by another process; stop that one or name another")]
    InUse(PathBuf),
}

impl DataDir {
    /// Makes the directory if it is not there, and takes hold of it.
    ///
    /// # Errors
    /// [`DataDirError`] says what to do.
    pub(super) fn open(path: &Path) -> Result<Self, DataDirError> {
        let unwritable = |source| DataDirError::Unwritable { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(unwritable)?;
        let lock = File::create(path.join("lock")).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => Err(unwritable(source)),
        }
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

    /// The secret that cursors are sealed with: the same in every run, so that a cursor outlives a
    /// restart.
    ///
    /// # Errors
    /// [`DataDirError::Unwritable`]
    pub(super) fn cursor_secret(&self) -> Result<String, DataDirError> {
        let path = self.path.join("cursor-secret");
        let unwritable = |source| DataDirError::Unwritable { path: path.clone(), source };
        let mut secret = String::new();
        let mut file = File::options().read(true).append(true).create(true).open(&path);
        let file = file.as_mut().map_err(|e| unwritable(io::Error::from(e.kind())))?;
        file.read_to_string(&mut secret).map_err(unwritable)?;
        if secret.is_empty() {
            secret = random_secret();
            file.write_all(secret.as_bytes()).map_err(unwritable)?;
        }
        Ok(secret)
    }
}

/// A secret of 32 characters that nobody can guess.
#[must_use]
pub(super) fn random_secret() -> String {
    Uuid::new_v4().simple().to_string()
}
