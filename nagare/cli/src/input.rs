//! The input of a command: a file, or something that can be read only once.
//!
//! A command reads all of its input before it acts on any, so it reads twice. A pipe, `<(…)` and
//! standard input can be read only once, and are copied into a temporary file first.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::NamedTempFile;

use super::Failure;

/// Something that can be read from its beginning any number of times.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// A copy of something that could be read only once, and its name.
    Copy(String, Arc<NamedTempFile>),
    /// A file.
    File(PathBuf),
}

impl Input {
    /// The file of this name; `-` is standard input. Something that can be read only once is passed to
    /// `read_through`, and what that reads is copied: it stops where it finds that the input has no end.
    ///
    /// # Errors
    /// What `read_through` says, [`Failure::Usage`] if it cannot be read, and [`Failure::Unwritable`] if the
    /// copy cannot be written.
    pub(crate) fn of(
        path: &Path,
        read_through: impl FnOnce(&str, Box<dyn Read + Send>) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let name = path.display().to_string();
        if name == "-" {
            return Self::copy("standard input".to_owned(), Box::new(io::stdin()), read_through);
        }
        let file = File::open(path).map_err(|e| unreadable(&name, &e))?;
        match file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            true => Ok(Self::File(path.to_owned())),
            false => Self::copy(name, Box::new(file), read_through),
        }
    }

    fn copy(
        name: String,
        from: Box<dyn Read + Send>,
        read_through: impl FnOnce(&str, Box<dyn Read + Send>) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let copy = NamedTempFile::new().map_err(|e| no_copy(&name, &e, None))?;
        let to = copy.reopen().map_err(|e| no_copy(&name, &e, Some(&copy)))?;
        let failed = Arc::new(Mutex::new(None));
        let read = read_through(&name, Box::new(Copied { from, to, failed: Arc::clone(&failed) }));
        if let Some(error) = failed.lock().take() {
            return Err(no_copy(&name, &error, Some(&copy)));
        }
        read?;
        Ok(Self::Copy(name, Arc::new(copy)))
    }

    /// Opens it at its beginning.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be read.
    pub(crate) fn open(&self) -> Result<File, Failure> {
        let path = match self {
            Self::Copy(_, copy) => copy.path(),
            Self::File(path) => path,
        };
        File::open(path).map_err(|e| unreadable(&self.to_string(), &e))
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copy(name, _) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The failure for an input that cannot be read.
pub(super) fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::Usage(format!("{name} cannot be read: {error}"))
}

/// The failure for an input whose copy cannot be written. An error in making the copy names its path.
fn no_copy(name: &str, error: &io::Error, copy: Option<&NamedTempFile>) -> Failure {
    let place = copy.map_or_else(String::new, |copy| format!(" to {}", copy.path().display()));
    let remedy = "make room there, or set TMPDIR to another folder";
    Failure::Unwritable(format!("{name} cannot be copied{place}: {error}; {remedy}"))
}

/// An input that is copied as it is read.
struct Copied<R> {
    from: R,
    to: File,
    /// Why it could not be copied. Whoever reads is told that the input has failed, which is not so.
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl<R: Read> Read for Copied<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.to.write_all(&buffer[..read]).map_err(|error| {
            let told = io::Error::from(error.kind());
            *self.failed.lock() = Some(error);
            told
        })?;
        Ok(read)
    }
}
