//! Printing to standard output, which may be gone or full: lines, JSON, and strangers' texts made safe
//! for a terminal.
//!
//! A dead letter may hold whatever somebody sent: sequences that move the cursor, change colours or the
//! window's title, and marks that change the direction of what follows. All such characters are printed
//! as escapes, so that a line shows what is there and nothing hides or forges another line.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::value::RawValue;

use super::Failure;

/// Prints a line, as `println!` does, but returns an error where that panics: the reader may be gone, or
/// the disk full.
///
/// # Errors
/// [`Failure::Output`]
macro_rules! say {
    ($($text:tt)*) => { $crate::cli::print::line(format_args!($($text)*)) };
}
pub(super) use say;

pub(super) fn line(text: fmt::Arguments<'_>) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let printed = output.write_fmt(text).and_then(|()| output.write_all(b"\n"));
    printed.and_then(|()| output.flush()).map_err(unwritable)
}

/// Prints a line to standard error, as `eprintln!` does. Where that panics, because nobody reads it any
/// more, there is nobody to tell, and the work goes on.
macro_rules! tell {
    ($($text:tt)*) => { $crate::cli::print::note(format_args!($($text)*)) };
}
pub(super) use tell;

pub(super) fn note(text: fmt::Arguments<'_>) {
    let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// The failure of standard output, with its path if it is a file that has one.
pub(super) fn unwritable(error: io::Error) -> Failure {
    // Pipes and sockets have a name there too, but it is no path.
    let path = std::fs::read_link("/dev/fd/1").ok().filter(|path| path.is_absolute());
    let place = path.map_or_else(String::new, |path| format!(": {}", path.display()));
    Failure::Output { error, place }
}

/// A text with every character escaped (`\u{1b}`) that is not printed as itself.
pub(super) fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut printed, c| {
        match shows_itself(c) {
            true => printed.push(c),
            false => printed.extend(c.escape_debug()),
        }
        printed
    })
}

/// A number of something, in the right form: `1 entry`, `2 entries`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// [`Failure::No`] if it cannot be written as JSON, [`Failure::Output`] if it cannot be printed.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    say!("{}", printable_json(&serde_json::to_string(value)?))?;
    Ok(())
}

/// Prints a value as JSON over several lines.
///
/// # Errors
/// [`Failure::No`] if it cannot be written as JSON, [`Failure::Output`] if it cannot be printed.
pub(super) fn print_pretty_json(value: &impl Serialize) -> Result<(), Failure> {
    say!("{}", printable_json(&serde_json::to_string_pretty(value)?))?;
    Ok(())
}

/// JSON with every such character escaped (`\u001b`). Parsers read the same value from it: outside of
/// strings JSON has only characters that are printed as themselves, and line ends.
pub(super) fn printable_json(json: &str) -> String {
    json.chars().fold(String::with_capacity(json.len()), |mut printed, c| {
        if c == '\n' || shows_itself(c) {
            printed.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(printed, "\\u{unit:04x}");
            }
        }
        printed
    })
}

/// JSON without line ends. They occur between its tokens only (in strings they are escaped), so what it says
/// stays the same. A payload may have them, because it comes back as it was sent.
pub(super) fn one_line(json: &RawValue) -> Cow<'_, str> {
    match json.get().contains(['\n', '\r']) {
        true => json.get().replace(['\n', '\r'], " ").into(),
        false => json.get().into(),
    }
}

/// False for control and format characters, direction marks, and characters that join the one before.
fn shows_itself(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRICKS: [&str; 12] = [
        "\u{1b}[2J",
        "\u{1b}]0;title\u{7}",
        "\r",
        "\n",
        "\u{8}",
        "\u{7f}",
        "\u{9b}31m",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "\u{2028}",
        "\u{e0041}",
    ];

    #[test]
    fn nothing_steers_a_terminal() {
        for trick in TRICKS {
            let text = format!("a{trick}b");
            let json = serde_json::to_string(&text).unwrap();
            let [line, json] = [printable(&text), printable_json(&json)];
            for printed in [&line, &json] {
                assert!(!printed.chars().any(|c| trick.starts_with(c)), "{printed}");
                assert!(printed.chars().all(shows_itself), "{printed}");
            }
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn what_can_be_read_stays_as_it_is() {
        for text in ["plain 'and' \"quoted\" \\n", "日本語", "é", "😀"] {
            assert_eq!(printable(text), text);
        }
        assert_eq!(printable_json("[\n  \"é😀\"\n]"), "[\n  \"é😀\"\n]");
    }
}
