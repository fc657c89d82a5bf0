//! Files of rows, as people have them: CSV and JSON lines, gzipped or not.
//!
//! ```text
//! lines   unpacked, without a byte order mark, each short enough to hold in memory
//! table   CSV: columns by the names in its header
//! instant an instant as databases and spreadsheets write it
//! ```
//!
//! A command reads all of its input before it acts on any, so it reads twice. A pipe, `<(…)` and
//! standard input can be read only once, and are copied into a temporary file first.

mod instant;
mod lines;
mod table;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::NamedTempFile;

use super::Failure;
use super::print::{counted, tell};

pub(crate) use instant::instant;
pub(crate) use lines::{Line, Lines};
pub(crate) use table::{Columns, Row, Table};

/// Something that can be read from its beginning any number of times.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// A copy of something that could be read only once, and its name.
    Copy(String, Arc<NamedTempFile>),
    /// A file.
    File(PathBuf),
}

/// A row that cannot be read or used.
#[derive(Debug, thiserror::Error)]
#[error("line {number}: {problem}")]
pub(crate) struct BadLine {
    pub(crate) number: u64,
    pub(crate) problem: String,
}

/// A problem with one row, or with the file as a whole.
#[derive(Debug)]
pub(crate) enum RowError {
    /// The rows after it can be read.
    Line(BadLine),
    /// Nothing after it can be read.
    File(Failure),
}

impl RowError {
    pub(crate) fn line(number: u64, problem: impl ToString) -> Self {
        Self::Line(BadLine { number, problem: problem.to_string() })
    }

    /// The failure of a command that leaves no row out.
    pub(crate) fn of(self, name: &dyn fmt::Display) -> Failure {
        match self {
            Self::Line(line) => Failure::Usage(format!("{name}: {line}")),
            Self::File(failure) => failure,
        }
    }
}

impl Input {
    /// The file of this name; `-` is standard input. Something that can be read only once is
    /// copied, up to where its lines are found to have no end.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be read, and [`Failure::Unwritable`] if the copy cannot be
    /// written.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        if name == "-" {
            return Self::copy("standard input".to_owned(), Box::new(io::stdin()));
        }
        let file = File::open(path).map_err(|e| unreadable(&name, &e))?;
        match file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            true => Ok(Self::File(path.to_owned())),
            false => Self::copy(name, Box::new(file)),
        }
    }

    fn copy(name: String, from: Box<dyn Read + Send>) -> Result<Self, Failure> {
        let copy = NamedTempFile::new().map_err(|e| no_copy(&name, &e, None))?;
        let to = copy.reopen().map_err(|e| no_copy(&name, &e, Some(&copy)))?;
        let failed = Arc::new(Mutex::new(None));
        let copied = Copied { from, to, failed: Arc::clone(&failed) };
        let read = Lines::open(name.clone(), copied).and_then(|mut lines| {
            let broken = lines.find_map(|line| match line {
                Err(RowError::File(failure)) => Some(failure),
                _ => None,
            });
            broken.map_or(Ok(()), Err)
        });
        if let Some(error) = failed.lock().take() {
            return Err(no_copy(&name, &error, Some(&copy)));
        }
        read?;
        Ok(Self::Copy(name, Arc::new(copy)))
    }

    /// Its lines, from the first on.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be read.
    pub(crate) fn lines(&self) -> Result<Lines, Failure> {
        let path = match self {
            Self::Copy(_, copy) => copy.path(),
            Self::File(path) => path,
        };
        let file = File::open(path).map_err(|e| unreadable(&self.to_string(), &e))?;
        Lines::open(self.to_string(), file)
    }

    /// Its rows as CSV, from the first on.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be read, or has no such header.
    pub(crate) fn table(&self, columns: Columns) -> Result<Table, Failure> {
        Table::open(self.lines()?, columns)
    }

    /// Reads all rows before anything is sent, and reports each bad one. Returns the number of the
    /// others, and that of bad ones.
    ///
    /// # Errors
    /// [`Failure::Usage`] if some are bad and are not to be skipped.
    pub(crate) fn check<T>(
        &self,
        rows: impl Iterator<Item = Result<T, RowError>>,
        skip_bad: bool,
    ) -> Result<(u64, u64), Failure> {
        let (mut good, mut bad) = (0, 0);
        for row in rows {
            match row {
                Ok(_) => good += 1,
                Err(RowError::File(failure)) => return Err(failure),
                Err(RowError::Line(line)) => {
                    tell!("{self}: {line}");
                    bad += 1;
                }
            }
        }
        if bad > 0 && !skip_bad {
            let problem = "nothing was sent; correct what is named above, or pass --skip-bad";
            let bad = counted(bad, "bad line", "bad lines");
            return Err(Failure::Usage(format!("{self} has {bad}: {problem}")));
        }
        Ok((good, bad))
    }
}

/// The rows that can be used. The others were reported when the file was checked.
pub(crate) fn good<T>(
    rows: impl Iterator<Item = Result<T, RowError>>,
) -> impl Iterator<Item = Result<T, Failure>> {
    rows.filter_map(|row| match row {
        Ok(row) => Some(Ok(row)),
        Err(RowError::File(failure)) => Some(Err(failure)),
        Err(RowError::Line(_)) => None,
    })
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
fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::Usage(format!("{name} cannot be read: {error}"))
}

/// The failure for an input whose copy cannot be written. An error in making the copy names its
/// path.
fn no_copy(name: &str, error: &io::Error, copy: Option<&NamedTempFile>) -> Failure {
    let place = copy.map_or_else(String::new, |copy| format!(" to {}", copy.path().display()));
    let remedy = "make room there, or set TMPDIR to another folder";
    Failure::Unwritable(format!("{name} cannot be copied{place}: {error}; {remedy}"))
}

/// An input that is copied as it is read.
struct Copied<R> {
    from: R,
    to: File,
    /// Why it could not be copied. The reader is told that the input has failed, which is not so.
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
