//! Records of CSV, gzipped or not, each short enough to hold in memory: a line may have no end, and
//! three megabytes of gzip may unpack to gigabytes of it.
//!
//! A record is a line. No field of these files contains a comma or a line end, so a quoted field ends
//! with its line at the latest: an unclosed quote makes one bad line, and does not swallow all lines that
//! follow.

use std::io::{self, BufReader, Read};

use csv::{ErrorKind, Position, Reader, ReaderBuilder, StringRecord};
use flate2::read::MultiGzDecoder;

/// The first bytes of every gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The longest record. Reading ahead may let a slightly longer one through.
const LONGEST: usize = 64 * 1024;

/// Reads record by record.
pub(super) struct Records {
    reader: Reader<Allowance<Box<dyn Read + Send>>>,
}

/// A record cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    /// It is not UTF-8. The records after it can be read.
    #[error("line {0}: expected UTF-8")]
    NotText(u64),
    /// It is too long, or has no end. Nothing after it is read.
    #[error("line {0}: longer than {LONGEST} bytes")]
    TooLong(u64),
    /// The input failed.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is not CSV.
    #[error("{0}")]
    Other(String),
}

impl Records {
    /// Reads an input that may be gzipped.
    ///
    /// # Errors
    /// The input failed.
    pub(super) fn of(input: impl Read + Send + 'static) -> io::Result<Self> {
        let input = Allowance { inside: unpacked(Box::new(input))?, left: LONGEST };
        let mut builder = ReaderBuilder::new();
        builder.flexible(true).has_headers(false).quoting(false);
        Ok(Self { reader: builder.from_reader(input) })
    }

    /// The next record. Where it stands is its [`position`](StringRecord::position).
    pub(super) fn next(&mut self) -> Option<Result<StringRecord, RecordError>> {
        self.reader.get_mut().left = LONGEST;
        let line = self.reader.position().line();
        let mut record = StringRecord::new();
        match self.reader.read_record(&mut record) {
            Ok(true) => Some(Ok(without_quotes(record))),
            Ok(false) => None,
            Err(error) => Some(Err(RecordError::of(error, line))),
        }
    }
}

/// The record without the quotes around its fields.
fn without_quotes(record: StringRecord) -> StringRecord {
    if !record.as_slice().contains('"') {
        return record;
    }
    let inside = |field| str::strip_suffix(str::strip_prefix(field, '"')?, '"');
    let mut bare: StringRecord =
        record.iter().map(|field| inside(field).unwrap_or(field)).collect();
    bare.set_position(record.position().cloned());
    bare
}

impl RecordError {
    fn of(error: csv::Error, line: u64) -> Self {
        match error.into_kind() {
            ErrorKind::Io(cause) if cause.get_ref().is_some_and(|e| e.is::<Exhausted>()) => {
                Self::TooLong(line)
            }
            ErrorKind::Io(cause) => Self::Unreadable(cause),
            ErrorKind::Utf8 { pos, .. } => Self::NotText(pos.as_ref().map_or(line, Position::line)),
            other => Self::Other(csv_problem(&other)),
        }
    }
}

fn csv_problem(kind: &ErrorKind) -> String {
    format!("cannot be read as CSV: {kind:?}")
}

/// The text of an input that may be gzipped.
pub(super) fn unpacked(mut input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::with_capacity(GZIP.len());
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut start)?;
    let gzipped = start == GZIP;
    let whole = BufReader::with_capacity(1 << 16, io::Cursor::new(start).chain(input));
    Ok(if gzipped { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

/// A reader that fails after `left` bytes, unless `left` is raised in time.
struct Allowance<R> {
    inside: R,
    left: usize,
}

/// All bytes allowed have been read.
#[derive(Debug, thiserror::Error)]
#[error("too long")]
struct Exhausted;

impl<R: Read> Read for Allowance<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other(Exhausted));
        }
        let read = self.inside.read(buffer)?;
        self.left = self.left.saturating_sub(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::repeat;

    use super::*;

    /// The number of good records, and the error that ends them.
    fn read(input: impl Read + Send + 'static) -> (usize, Option<String>) {
        let mut records = Records::of(input).unwrap();
        let mut good = 0;
        while let Some(record) = records.next() {
            match record {
                Ok(_) => good += 1,
                Err(error) => return (good, Some(error.to_string())),
            }
        }
        (good, None)
    }

    #[test]
    fn a_record_without_an_end_is_an_error_with_its_line() {
        let too_long = |line: u64| Some(format!("line {line}: longer than {LONGEST} bytes"));
        let start = || io::Cursor::new("a,b\nc,d\n");
        assert_eq!(read(repeat(b'x')), (0, too_long(1)));
        assert_eq!(read(start().chain(repeat(b'x'))), (2, too_long(3)));
        assert_eq!(read(start().chain(repeat(b'\n'))), (2, too_long(3)));
        assert_eq!(read(start().chain(repeat(b','))), (2, too_long(3)));
    }

    #[test]
    fn a_quotation_reaches_no_further_than_its_field() {
        let text = "\"a\",b\n\"c,d\ne\",\"f\ng,\"\"\n";
        let mut records = Records::of(io::Cursor::new(text)).unwrap();
        let read: Vec<_> = std::iter::from_fn(|| records.next())
            .map(|record| record.unwrap())
            .map(|record| (record.position().unwrap().line(), Vec::from_iter(&record).join("|")))
            .collect();
        let expected = [(1, "a|b"), (2, "\"c|d"), (3, "e\"|\"f"), (4, "g|")];
        assert_eq!(read, expected.map(|(line, fields)| (line, fields.to_owned())));
    }

    #[test]
    fn many_records_are_no_long_one() {
        assert_eq!(read(io::Cursor::new("a,b\n".repeat(100_000))), (100_000, None));
        let longest = format!("{},b\n", "x".repeat(LONGEST - 10_000));
        assert_eq!(read(io::Cursor::new(longest.repeat(10))), (10, None));
    }
}
