//! The user's state directory: where it is, and that it is theirs alone.

use std::io;
use std::path::PathBuf;

use shared::platform::runtime::env;

use crate::own_dir::{OwnDir, OwnError};

/// The state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Nothing says where it is.
    #[error(
        "the state directory is unknown: neither XDG_STATE_HOME nor HOME is set to a whole path"
    )]
    Unknown,
    /// It is somebody else's.
    #[error("{0} belongs to another user; set XDG_STATE_HOME to a directory of your own")]
    Foreign(PathBuf),
    /// It cannot be created, read or written.
    #[error("{path} cannot be used ({source}); set XDG_STATE_HOME to a directory of your own")]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Where running stacks are noted.
///
/// # Errors
/// [`DirectoryError::Unknown`]
pub(super) fn stacks() -> Result<PathBuf, DirectoryError> {
    Ok(state()?.join("stacks"))
}

impl From<OwnError> for DirectoryError {
    fn from(error: OwnError) -> Self {
        match error {
            OwnError::Foreign(path) => Self::Foreign(path),
            OwnError::Shared(path) | OwnError::NotAFile(path) | OwnError::NotADirectory(path) => {
                Self::Unusable { path, source: io::ErrorKind::InvalidInput.into() }
            }
            OwnError::Failed { path, source } => Self::Unusable { path, source },
        }
    }
}

/// Where the logs of detached stacks are kept; created if it is missing.
pub fn logs() -> Result<OwnDir, DirectoryError> {
    Ok(OwnDir::open(&state()?.join("logs"))?)
}

/// As the XDG Base Directory Specification says, which ignores paths that are not whole.
fn state() -> Result<PathBuf, DirectoryError> {
    let whole = |name| env::optional(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(whole("HOME")?.join(".local/state"));
    let base = whole("XDG_STATE_HOME").or_else(home);
    Ok(base.ok_or(DirectoryError::Unknown)?.join("nagare"))
}
