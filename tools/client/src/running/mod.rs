//! Which stacks run on this machine: how commands find one without being told.
//!
//! A stack that is ready notes where it is, in a file of its own below the user's state directory (`$XDG_STATE_HOME/nagare/stacks`,
//! by default `~/.local/state/nagare/stacks`). The note holds all that the `export` lines say, secrets included, so the directory
//! (0700) and the file (0600) are its owner's alone.
//!
//! # Why a stale note leads nowhere
//!
//! - **The process is gone.** A stack holds a lock on its note for as long as its process lives; the system releases the lock however
//!   the process ends. A note that is not locked is ignored. A note is locked before it gets its name, so a note that can be found
//!   and is not locked has no living stack.
//! - **Names are not used again.** Each note has a random name. So the next stack, which removes stale notes, never removes that of a
//!   living stack.
//! - **It is of another machine.** A home directory may be shared with containers and other machines, where the same port and process
//!   id mean something else. A note says where it is valid (`place`), and is ignored elsewhere.
//! - **It is somebody else's.** A note that another user owns, or that others may write, is ignored. So nobody else can lead commands
//!   to a stack of theirs.

mod directory;
mod note;
mod place;

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use shared::platform::runtime::deadline::Deadline;

pub use directory::{DirectoryError, logs};
pub use note::Note;

use crate::own_dir::{OwnDir, OwnError};

/// How often to look whether a process has ended.
const INTERVAL: Duration = Duration::from_millis(20);

/// The note of this process's stack. The stack can be found until it is [withdrawn](Self::withdraw), and
/// counts as running until this is dropped.
#[derive(Debug)]
pub struct Noted {
    directory: OwnDir,
    name: String,
    /// Locked; the system unlocks it however the process ends.
    _file: File,
}

impl Noted {
    /// Notes a stack, and removes the notes of stacks that are gone.
    ///
    /// # Errors
    /// [`DirectoryError`] if it cannot be noted. The stack runs without.
    pub fn write(note: &Note) -> Result<Self, DirectoryError> {
        Self::write_in(&directory::stacks()?, note)
    }

    fn write_in(directory: &Path, note: &Note) -> Result<Self, DirectoryError> {
        let directory = OwnDir::open(directory)?;
        remove_stale(&directory);
        let (name, file) = note.write(&directory)?;
        Ok(Self { directory, name, _file: file })
    }

    /// Removes the note: from then on no command finds the stack.
    pub fn withdraw(&self) {
        if let Err(failure) = self.directory.remove(&self.name) {
            tracing::warn!("the note of this stack could not be removed: {failure}");
        }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        // It may have been withdrawn before.
        let _ = self.directory.remove(&self.name);
    }
}

/// A stack that runs.
#[derive(Debug)]
pub struct Running {
    /// What it noted.
    pub note: Note,
    /// Its note, which its process has locked.
    file: File,
}

impl Running {
    /// Asks the process to end.
    ///
    /// # Errors
    /// The process belongs to somebody else.
    pub fn ask_to_end(&self) -> io::Result<()> {
        if !is_locked(&self.file) {
            return Ok(());
        }
        // The lock is held, so the process lives, and the id is still its own.
        match kill(Pid::from_raw(self.note.pid.cast_signed()), Signal::SIGTERM) {
            Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the process has ended. False if it has not by the deadline.
    pub async fn has_ended(&self, deadline: Deadline) -> bool {
        while is_locked(&self.file) {
            if deadline.sleep(INTERVAL).await.is_err() {
                return false;
            }
        }
        true
    }
}

/// The stacks of this user that run on this machine, by port.
///
/// # Errors
/// [`DirectoryError`] if that cannot be known.
pub fn stacks() -> Result<Vec<Running>, DirectoryError> {
    stacks_in(&directory::stacks()?)
}

fn stacks_in(path: &Path) -> Result<Vec<Running>, DirectoryError> {
    let directory = match OwnDir::open_existing(path) {
        Ok(directory) => directory,
        // What another user has noted there is not this user's.
        Err(OwnError::Foreign(_)) => None,
        Err(error) => return Err(error.into()),
    };
    // Where no stack ever ran there is no directory.
    let Some(directory) = directory else { return Ok(Vec::new()) };
    let names = notes(&directory)?.into_iter();
    let mut running: Vec<_> = names.filter_map(|name| running(&directory, &name)).collect();
    running.sort_by_key(|stack| stack.note.port);
    Ok(running)
}

fn running(directory: &OwnDir, name: &str) -> Option<Running> {
    let mut file = directory.closed(name)?;
    if !is_locked(&file) {
        return None;
    }
    let note = Note::read(&mut file)?;
    (note.place == place::here()).then_some(Running { note, file })
}

/// The names of files that may be notes.
fn notes(directory: &OwnDir) -> Result<Vec<String>, OwnError> {
    let files = directory.names()?.into_iter().filter(|(_, is_directory)| !is_directory);
    Ok(files.map(|(name, _)| name).filter(|name| note::is_named_like_one(name)).collect())
}

/// Removes the notes of stacks that are gone. What fails is tried again by the next stack.
fn remove_stale(directory: &OwnDir) {
    for name in notes(directory).into_iter().flatten() {
        if directory.closed(&name).is_some_and(|file| !is_locked(&file)) {
            let _ = directory.remove(&name);
        }
    }
}

/// True as long as the process that wrote a note lives. The lock is tried in the mode that several may hold at
/// once, so that those who look do not take each other for a stack.
fn is_locked(note: &File) -> bool {
    match note.try_lock_shared() {
        Ok(()) => {
            let _ = note.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    }
}

#[cfg(test)]
mod tests;
