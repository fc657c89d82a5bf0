//! CSV files, gzipped or not, read row by row with errors that name the line.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord, StringRecordsIntoIter};
use flate2::read::MultiGzDecoder;
use tempfile::NamedTempFile;

use super::Failure;

/// The first bytes of every gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Where rows come from. Everything can be read more than once: what comes by standard input is put
/// into a temporary file first, so that it can be checked before anything is done with it.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// What came by standard input.
    StandardInput(Arc<NamedTempFile>),
    /// A file.
    File(PathBuf),
}

impl Source {
    /// The file of that name; `-` is standard input.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        if path.to_str() != Some("-") {
            return Ok(Self::File(path.to_owned()));
        }
        let mut spool = NamedTempFile::new()?;
        io::copy(&mut io::stdin().lock(), &mut spool)?;
        Ok(Self::StandardInput(Arc::new(spool)))
    }

    fn path(&self) -> &Path {
        match self {
            Self::StandardInput(spool) => spool.path(),
            Self::File(path) => path,
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::StandardInput(_) => f.write_str("standard input"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// One row and the line it stands on.
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) fields: StringRecord,
}

/// A line that cannot be read, or not be used.
#[derive(Debug, thiserror::Error)]
#[error("line {number}: {problem}")]
pub(crate) struct BadLine {
    pub(crate) number: u64,
    pub(crate) problem: String,
}

/// A problem with one line, or with the file as a whole.
#[derive(Debug)]
pub(crate) enum RowError {
    /// The rows after it can be read.
    Line(BadLine),
    /// Nothing after it can be.
    File(Failure),
}

impl Source {
    /// Opens the source and checks its header.
    pub(crate) fn rows(&self, header: &[&str]) -> Result<Rows, Failure> {
        let input = Box::new(File::open(self.path()).map_err(|e| self.unreadable(&e))?);
        let mut reader = self.reader(input)?;
        let found = reader.headers().map_err(|e| self.broken(&e))?;
        // Some spreadsheets begin a file with a byte order mark.
        let names = found.iter().map(|name| name.trim_start_matches('\u{feff}'));
        if names.ne(header.iter().copied()) {
            let (expected, found) = (header.join(","), shown(found));
            let problem = format!("{self}: line 1: expected the header {expected}, got {found}");
            return Err(Failure::Usage(problem));
        }
        Ok(Rows { source: self.clone(), columns: header.len(), records: reader.into_records() })
    }

    fn reader(
        &self,
        mut input: Box<dyn Read + Send>,
    ) -> Result<Reader<Box<dyn Read + Send>>, Failure> {
        let mut start = Vec::with_capacity(GZIP.len());
        let taken = input.by_ref().take(GZIP.len() as u64).read_to_end(&mut start);
        taken.map_err(|e| self.unreadable(&e))?;
        let gzipped = start == GZIP;
        let whole = BufReader::with_capacity(1 << 16, io::Cursor::new(start).chain(input));
        let text: Box<dyn Read + Send> =
            if gzipped { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
        Ok(ReaderBuilder::new().flexible(true).from_reader(text))
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        Failure::Usage(format!("{self} cannot be read: {error}"))
    }

    fn broken(&self, error: &csv::Error) -> Failure {
        match error.kind() {
            ErrorKind::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Failure::Usage(format!("{self} ends in the middle: the gzip data is cut off"))
            }
            ErrorKind::Io(e) => self.unreadable(e),
            ErrorKind::Utf8 { .. } => Failure::Usage(format!("{self}: line 1: expected UTF-8")),
            _ => Failure::Usage(format!("{self}: {error}")),
        }
    }
}

/// The rows of a source.
pub(crate) struct Rows {
    source: Source,
    columns: usize,
    records: StringRecordsIntoIter<Box<dyn Read + Send>>,
}

impl Iterator for Rows {
    type Item = Result<Line, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        let bad = |number, problem| Some(Err(RowError::Line(BadLine { number, problem })));
        match record {
            Ok(fields) => {
                let number = fields.position().map_or(0, csv::Position::line);
                if fields.len() == self.columns {
                    return Some(Ok(Line { number, fields }));
                }
                let (expected, found) = (self.columns, fields.len());
                bad(number, format!("expected {expected} columns, got {found}"))
            }
            Err(error) => match error.kind() {
                ErrorKind::Utf8 { pos, .. } => {
                    bad(pos.as_ref().map_or(0, csv::Position::line), "expected UTF-8".to_owned())
                }
                _ => Some(Err(RowError::File(self.source.broken(&error)))),
            },
        }
    }
}

fn shown(header: &StringRecord) -> String {
    if header.is_empty() {
        return "an empty file".to_owned();
    }
    let text: String = header.iter().collect::<Vec<_>>().join(",").chars().take(60).collect();
    format!("{text:?}")
}
