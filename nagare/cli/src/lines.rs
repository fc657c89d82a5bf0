//! The lines of a file, each short enough to hold in memory.

use std::io::{self, BufRead, Read};

/// The longest line: nothing longer goes into a message.
const LONGEST: u64 = 1024 * 1024;

/// A line, and its number from 1.
pub(super) type Numbered = (u64, Result<String, LineError>);

/// A line cannot be read, and neither can those after it.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    /// It is too long, or has no end.
    #[error("longer than {LONGEST} bytes")]
    TooLong,
    /// The input failed, or is not text.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
}

/// The lines of an input, up to the first that cannot be read.
pub(super) fn numbered(mut input: impl BufRead) -> impl Iterator<Item = Numbered> {
    let mut number = 0;
    let mut has_failed = false;
    std::iter::from_fn(move || {
        if has_failed {
            return None;
        }
        number += 1;
        let line = next(&mut input).transpose()?;
        has_failed = line.is_err();
        Some((number, line))
    })
}

fn next(input: &mut impl BufRead) -> Result<Option<String>, LineError> {
    let mut line = String::new();
    let read = input.by_ref().take(LONGEST + 1).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(whole) => Ok(Some(whole.strip_suffix('\r').unwrap_or(whole).to_owned())),
        None if read as u64 > LONGEST => Err(LineError::TooLong),
        None if read == 0 => Ok(None),
        None => Ok(Some(line)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor, repeat};

    use super::*;

    fn all(input: impl BufRead) -> Vec<(u64, Option<String>)> {
        numbered(input).map(|(number, line)| (number, line.ok())).collect()
    }

    #[test]
    fn lines_end_as_lines_do() {
        let some = |number, line: &str| (number, Some(line.to_owned()));
        assert_eq!(all(Cursor::new("a\r\n\nb")), [some(1, "a"), some(2, ""), some(3, "b")]);
        assert!(all(Cursor::new("")).is_empty());
    }

    #[test]
    fn a_line_without_an_end_is_the_last() {
        let endless = BufReader::new(Cursor::new("one\n").chain(repeat(b'x')));
        assert_eq!(all(endless), [(1, Some("one".to_owned())), (2, None)]);
        let longest = "x".repeat(LONGEST as usize);
        assert_eq!(all(Cursor::new(longest.clone() + "\n")).len(), 1);
        assert_eq!(all(Cursor::new(longest + "x\n")), [(1, None)]);
    }
}
