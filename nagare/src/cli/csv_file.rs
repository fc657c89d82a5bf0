//! CSV files, gzipped or not, read row by row with errors that name the line.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use csv::{ErrorKind, ReaderBuilder, StringRecord, StringRecordsIntoIter};
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

impl From<RowError> for Failure {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Line(line) => Self::Usage(line.to_string()),
            RowError::File(failure) => failure,
        }
    }
}

impl Source {
    /// Opens the source and checks its header.
    pub(crate) fn rows(&self, header: &[&str]) -> Result<Rows, Failure> {
        let name = self.to_string();
        let input = File::open(self.path()).map_err(|e| unreadable(&name, &e))?;
        Rows::of(input, name, header)
    }
}

/// The rows of a source.
pub(crate) struct Rows {
    name: String,
    columns: usize,
    records: StringRecordsIntoIter<Box<dyn Read + Send>>,
}

impl Rows {
    /// Reads rows out of an input that errors call by this name, and checks its header.
    pub(crate) fn of(
        input: impl Read + Send + 'static,
        name: String,
        header: &[&str],
    ) -> Result<Self, Failure> {
        let text = unpacked(Box::new(input)).map_err(|e| unreadable(&name, &e))?;
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(text);
        let found = reader.headers().map_err(|e| broken(&name, &e))?;
        // Some spreadsheets begin a file with a byte order mark.
        let names = found.iter().map(|name| name.trim_start_matches('\u{feff}'));
        if names.ne(header.iter().copied()) {
            let (expected, found) = (header.join(","), shown(found));
            let problem = format!("{name}: line 1: expected the header {expected}, got {found}");
            return Err(Failure::Usage(problem));
        }
        Ok(Self { name, columns: header.len(), records: reader.into_records() })
    }
}

/// The text of an input that may be gzipped.
fn unpacked(mut input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::with_capacity(GZIP.len());
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut start)?;
    let gzipped = start == GZIP;
    let whole = BufReader::with_capacity(1 << 16, io::Cursor::new(start).chain(input));
    Ok(if gzipped { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::Usage(format!("{name} cannot be read: {error}"))
}

fn broken(name: &str, error: &csv::Error) -> Failure {
    match error.kind() {
        ErrorKind::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Failure::Usage(format!("{name} ends in the middle: the gzip data is cut off"))
        }
        ErrorKind::Io(e) => unreadable(name, e),
        ErrorKind::Utf8 { .. } => Failure::Usage(format!("{name}: line 1: expected UTF-8")),
        _ => Failure::Usage(format!("{name}: {error}")),
    }
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
                _ => Some(Err(RowError::File(broken(&self.name, &error)))),
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
