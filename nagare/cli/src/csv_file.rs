//! CSV files, gzipped or not, read row by row with errors that name the line.

use std::io::{self, Read};
use std::path::Path;

use csv::StringRecord;

use super::Failure;
use super::input::{Input, unreadable};
use super::records::{RecordError, Records};

/// The source of rows.
#[derive(Debug, Clone)]
pub(crate) struct Source(Input);

impl Source {
    /// The file of this name; `-` is standard input.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        Input::of(path, read_through).map(Self)
    }
}

/// Reads an input to its end, or to the first record that has no end.
fn read_through(name: &str, input: Box<dyn Read + Send>) -> Result<(), Failure> {
    let mut records = Records::of(input).map_err(|e| unreadable(name, &e))?;
    while let Some(record) = records.next() {
        match record {
            Ok(_) | Err(RecordError::NotText(_)) => {}
            Err(error) => return Err(broken(name, error)),
        }
    }
    Ok(())
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One row, and the number of its line.
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) fields: StringRecord,
}

/// A line that cannot be read or used.
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
    /// Nothing after it can be read.
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
        Rows::of(self.0.open()?, self.to_string(), header)
    }
}

/// The rows of a source.
pub(crate) struct Rows {
    name: String,
    columns: usize,
    records: Records,
}

impl Rows {
    /// Reads rows from an input, which errors call by this name, and checks its header.
    pub(crate) fn of(
        input: impl Read + Send + 'static,
        name: String,
        header: &[&str],
    ) -> Result<Self, Failure> {
        let mut records = Records::of(input).map_err(|e| unreadable(&name, &e))?;
        let found = records.next().unwrap_or_else(|| Ok(StringRecord::new()));
        let found = found.map_err(|e| broken(&name, e))?;
        // Some spreadsheets begin a file with a byte order mark.
        let names = found.iter().map(|name| name.trim_start_matches('\u{feff}'));
        if names.ne(header.iter().copied()) {
            let (expected, found) = (header.join(","), shown(&found));
            let problem = format!("{name}: line 1: expected the header {expected}, got {found}");
            return Err(Failure::Usage(problem));
        }
        Ok(Self { name, columns: header.len(), records })
    }
}

fn broken(name: &str, error: RecordError) -> Failure {
    match error {
        RecordError::Unreadable(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Failure::Usage(format!("{name} ends in the middle: the gzip data is cut off"))
        }
        RecordError::Unreadable(e) => unreadable(name, &e),
        other => Failure::Usage(format!("{name}: {other}")),
    }
}

impl Iterator for Rows {
    type Item = Result<Line, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bad = |number, problem| Some(Err(RowError::Line(BadLine { number, problem })));
        match self.records.next()? {
            Ok(fields) => {
                let number = fields.position().map_or(0, csv::Position::line);
                if fields.len() == self.columns {
                    return Some(Ok(Line { number, fields }));
                }
                let (expected, found) = (self.columns, fields.len());
                bad(number, format!("expected {expected} columns, got {found}"))
            }
            Err(RecordError::NotText(number)) => bad(number, "expected UTF-8".to_owned()),
            Err(error) => Some(Err(RowError::File(broken(&self.name, error)))),
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
