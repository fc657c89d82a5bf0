//! The user's state directory: where it is, and that it is theirs alone.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::geteuid;
use shared::runtime::env;

/// The permissions of others than the owner.
const OTHERS: u32 = 0o077;

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

/// Where the logs of detached stacks are kept; created if it is missing.
///
/// # Errors
/// [`DirectoryError`]
pub fn logs() -> Result<PathBuf, DirectoryError> {
    let directory = state()?.join("logs");
    create(&directory)?;
    Ok(directory)
}

/// As the XDG Base Directory Specification says, which ignores paths that are not whole.
fn state() -> Result<PathBuf, DirectoryError> {
    let whole = |name| env::optional(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(whole("HOME")?.join(".local/state"));
    let base = whole("XDG_STATE_HOME").or_else(home);
    Ok(base.ok_or(DirectoryError::Unknown)?.join("nagare"))
}

/// Creates a directory for its owner alone, and closes one that was open to others.
///
/// # Errors
/// [`DirectoryError`]
pub(super) fn create(path: &Path) -> Result<(), DirectoryError> {
    let unusable = |source| DirectoryError::Unusable { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
    let metadata = path.metadata().map_err(unusable)?;
    if metadata.uid() != geteuid().as_raw() {
        return Err(DirectoryError::Foreign(path.to_owned()));
    }
    match metadata.mode() & OTHERS {
        0 => Ok(()),
        _ => std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(unusable),
    }
}

/// Opens a file for reading if it is an ordinary one of this user's that others may neither read nor write.
pub(super) fn open_own(path: &Path) -> Option<File> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let own = metadata.is_file() && metadata.uid() == geteuid().as_raw();
    (own && metadata.mode() & OTHERS == 0).then_some(file)
}
