//! The lines of a file. The file may be gzipped, as its first bytes say, and may begin with a byte
//! order mark, as spreadsheets write it.
//!
//! Each line is short enough to hold in memory: a line may have no end, and three megabytes of gzip
//! may unpack to gigabytes of it.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;

use super::{RowError, unreadable};
use crate::Failure;

/// The longest line, and the most empty lines in a row: nothing longer goes into a message.
const LONGEST: usize = 1024 * 1024;
const GZIP: &[u8] = &[0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];
/// The first bytes of files that are not read, what they are, and what to do.
const OTHERS: [(&[u8], &str); 7] = [
    (&[0xff, 0xfe], "UTF-16: save it as UTF-8, or convert it with `iconv -f UTF-16 -t UTF-8`"),
    (&[0xfe, 0xff], "UTF-16: save it as UTF-8, or convert it with `iconv -f UTF-16 -t UTF-8`"),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet: unpack it, or save the sheet as CSV"),
    (b"PAR1", "Parquet: write it as CSV or JSON lines"),
    (
        &[0x28, 0xb5, 0x2f, 0xfd],
        "packed with zstd: unpack it with `zstd -d`; gzip is read as it is",
    ),
    (&[0xfd, b'7', b'z', b'X'], "packed with xz: unpack it with `unxz`; gzip is read as it is"),
    (b"BZh", "packed with bzip2: unpack it with `bunzip2`; gzip is read as it is"),
];

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Counted from 1.
    pub(crate) number: u64,
    pub(crate) text: String,
}

/// The lines of an input that are not empty, up to the first that cannot be read.
pub(crate) struct Lines {
    name: String,
    input: Box<dyn BufRead + Send>,
    number: u64,
    has_failed: bool,
}

impl Lines {
    /// The lines of an input, which errors call by this name.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be read, or is of a kind that is not read.
    pub(crate) fn open(name: String, input: impl Read + Send + 'static) -> Result<Self, Failure> {
        let failed = |e: io::Error| broken(&name, &e);
        let (start, input) = begun(Box::new(input), GZIP.len()).map_err(failed)?;
        let input: Box<dyn Read + Send> = match start == GZIP {
            true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, input))),
            false => input,
        };
        let (start, mut input) = begun(input, 4).map_err(failed)?;
        if let Some((_, what)) = OTHERS.into_iter().find(|(first, _)| start.starts_with(first)) {
            return Err(Failure::Usage(format!("{name} is {what}")));
        }
        if start.starts_with(BYTE_ORDER_MARK) {
            input.read_exact(&mut [0; BYTE_ORDER_MARK.len()]).map_err(failed)?;
        }
        let input = Box::new(BufReader::with_capacity(1 << 16, input));
        Ok(Self { name, input, number: 0, has_failed: false })
    }

    /// The name that errors call the input by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The first character that is not blank: `{` in JSON lines.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the input cannot be read.
    pub(crate) fn first(&mut self) -> Result<Option<char>, Failure> {
        let Self { name, input, .. } = self;
        let buffer = input.fill_buf().map_err(|e| broken(name, &e))?;
        Ok(buffer.iter().find(|byte| !byte.is_ascii_whitespace()).map(|byte| char::from(*byte)))
    }

    /// The same lines, if they may be JSON objects.
    ///
    /// # Errors
    /// [`Failure::Usage`] says what they are otherwise.
    pub(crate) fn of_json(mut self) -> Result<Self, Failure> {
        match self.first()? {
            Some('[') => Err(Failure::Usage(format!(
                "{}: line 1, character 1: expected one JSON object a line, got an array; `jq -c '.[]'` \
                 writes the elements of one so",
                self.name
            ))),
            _ => Ok(self),
        }
    }

    /// The next line, empty or not.
    fn line(&mut self) -> Option<Result<String, RowError>> {
        self.number += 1;
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(RowError::File(broken(&self.name, &error)))),
        }
        match bytes.strip_suffix(b"\n") {
            Some(whole) => {
                let length = whole.strip_suffix(b"\r").unwrap_or(whole).len();
                bytes.truncate(length);
            }
            None if bytes.len() > LONGEST => return Some(Err(self.too_long())),
            None => {}
        }
        Some(String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let (good, rest) = error.as_bytes().split_at(valid);
            let character = String::from_utf8_lossy(good).chars().count() + 1;
            let found = rest.first().copied().unwrap_or_default();
            let problem = "is not UTF-8; save the file as UTF-8";
            RowError::line(
                self.number,
                format!("character {character}: byte 0x{found:02x} {problem}"),
            )
        }))
    }

    fn too_long(&self) -> RowError {
        let Self { name, number, .. } = self;
        let problem = format!("{name}: line {number}: longer than {LONGEST} bytes");
        RowError::File(Failure::Usage(problem))
    }
}

impl Iterator for Lines {
    type Item = Result<Line, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        for _ in 0..LONGEST {
            if self.has_failed {
                return None;
            }
            let line = self.line()?;
            self.has_failed = matches!(line, Err(RowError::File(_)));
            match line {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => return Some(Ok(Line { number: self.number, text })),
                Err(error) => return Some(Err(error)),
            }
        }
        self.has_failed = true;
        Some(Err(self.too_long()))
    }
}

/// The first bytes of an input, as many as there are, and all of the input.
fn begun(
    mut input: Box<dyn Read + Send>,
    bytes: usize,
) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut start = Vec::with_capacity(bytes);
    input.by_ref().take(bytes as u64).read_to_end(&mut start)?;
    Ok((start.clone(), Box::new(Cursor::new(start).chain(input))))
}

fn broken(name: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Failure::Usage(format!("{name} ends in the middle: the gzip data is cut off"))
        }
        _ => unreadable(name, error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::repeat;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// The good lines, and what is said of the others.
    fn read(input: impl Read + Send + 'static) -> (Vec<(u64, String)>, Vec<String>) {
        let lines = match Lines::open("f".to_owned(), input) {
            Ok(lines) => lines,
            Err(failure) => return (Vec::new(), vec![failure.to_string()]),
        };
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        lines.for_each(|line| match line {
            Ok(Line { number, text }) => good.push((number, text)),
            Err(error) => bad.push(error.of(&"f").to_string()),
        });
        (good, bad)
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn lines_are_read_however_they_are_packed() {
        let text = b"a\r\n\n \nb\n\"c\"".as_slice();
        let marked = [BYTE_ORDER_MARK, text].concat();
        let expected = [(1, "a"), (4, "b"), (5, "\"c\"")].map(|(n, text)| (n, text.to_owned()));
        let members = [packed(b"a\r\n\n"), packed(b" \nb\n\"c\"")].concat();
        for bytes in [text.to_vec(), packed(text), packed(&marked), marked, members] {
            assert_eq!(read(Cursor::new(bytes)), (expected.to_vec(), Vec::new()));
        }
        assert_eq!(read(Cursor::new("")), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_line_without_an_end_is_the_last() {
        let too_long = |line: u64| vec![format!("f: line {line}: longer than {LONGEST} bytes")];
        let start = || Cursor::new("a,b\nc,d\n");
        assert_eq!(read(repeat(b'x')), (Vec::new(), too_long(1)));
        assert_eq!(read(start().chain(repeat(b'x'))).1, too_long(3));
        assert_eq!(read(start().chain(repeat(b'\n'))).1, too_long(2 + LONGEST as u64));
        let longest = "x".repeat(LONGEST);
        assert_eq!(read(Cursor::new(longest.clone() + "\n")).0.len(), 1);
        assert_eq!(read(Cursor::new(longest + "x\n")).1, too_long(1));
    }

    #[test]
    fn a_line_that_is_not_text_costs_no_other() {
        let (good, bad) = read(Cursor::new(b"a\n\xc3\xa9\xff\nb".to_vec()));
        assert_eq!(good, [(1, "a".to_owned()), (3, "b".to_owned())]);
        assert!(bad[0].starts_with("f: line 2: character 2: byte 0xff is not UTF-8"), "{bad:?}");
    }

    #[test]
    fn other_files_are_called_by_what_they_are() {
        for (first, what) in OTHERS {
            let said = read(Cursor::new([first, b"anything"].concat())).1;
            assert_eq!(said, [format!("f is {what}")]);
        }
        let cut = packed(&b"follower,followee\n".repeat(999));
        let said = read(Cursor::new(cut[..cut.len() - 9].to_vec())).1;
        assert_eq!(said, ["f ends in the middle: the gzip data is cut off"]);
    }
}
