//! Printing to standard output, which may be closed or full: lines, JSON, and strangers' texts made safe for a terminal.
//!
//! All output goes through `say!` and `tell!`, on terminals and in pipes, and contains no character that steers a terminal
//! ([`visible`]). JSON is escaped before, in JSON's own way, so that its value stays the same.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use nagare_client::visible::{visible, visible_json, visible_line};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Failure;

/// Prints a line, as `println!` does, but returns an error where that panics: the reader may be gone, or
/// the disk full.
///
/// # Errors
/// [`Failure::Output`]
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::print::line(format_args!($($text)*)) };
}
pub use say;

pub fn line(text: fmt::Arguments<'_>) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let text = format!("{text}\n");
    let printed = output.write_all(visible(&text).as_bytes());
    printed.and_then(|()| output.flush()).map_err(unwritable)
}

/// Prints a line to standard error, as `eprintln!` does. Where that panics, because nobody reads it any
/// more, there is nobody to tell, and the work goes on.
macro_rules! tell {
    ($($text:tt)*) => { $crate::print::note(format_args!($($text)*)) };
}
pub(crate) use tell;

pub(crate) fn note(text: fmt::Arguments<'_>) {
    let text = format!("{text}\n");
    let _ = io::stderr().lock().write_all(visible(&text).as_bytes());
}

/// Prints a line in yellow where that is a terminal which takes colours: what is done and does not count. The text itself
/// steers nothing.
///
/// # Errors
/// [`Failure::Output`]
pub(crate) fn caution(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let text = yellow(&visible(text), output.is_terminal());
    let printed = writeln!(output, "{text}");
    printed.and_then(|()| output.flush()).map_err(unwritable)
}

/// The same on standard error, for the command that fails by it.
pub(crate) fn note_caution(text: &str) {
    let mut output = io::stderr().lock();
    let text = yellow(&visible(text), output.is_terminal());
    let _ = writeln!(output, "{text}");
}

fn yellow(text: &str, is_terminal: bool) -> String {
    // https://no-color.org: whatever its value is.
    let has_colours = is_terminal && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    if has_colours { format!("\u{1b}[33m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// The failure of standard output, with its path if it is a file that has one.
pub(crate) fn unwritable(error: io::Error) -> Failure {
    // Pipes and sockets have a name there too, but it is no path.
    let path = std::fs::read_link("/dev/fd/1").ok().filter(|path| path.is_absolute());
    let place = path.map_or_else(String::new, |path| format!(": {}", path.display()));
    Failure::Output { error, place }
}

/// A text on one line.
pub(crate) fn printable(text: &str) -> String {
    visible_line(text).into_owned()
}

/// A number of something, in the right form: `1 entry`, `2 entries`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// [`Failure::No`] if it cannot be written as JSON, [`Failure::Output`] if it cannot be printed.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    say!("{}", printable_json(&serde_json::to_string(value)?))?;
    Ok(())
}

/// Prints a value as JSON over several lines.
///
/// # Errors
/// [`Failure::No`] if it cannot be written as JSON, [`Failure::Output`] if it cannot be printed.
pub(crate) fn print_pretty_json(value: &impl Serialize) -> Result<(), Failure> {
    say!("{}", printable_json(&serde_json::to_string_pretty(value)?))?;
    Ok(())
}

/// JSON whose strings have escapes (`\u001b`) for what would steer a terminal. Parsers read the same value from it.
pub(crate) fn printable_json(json: &str) -> String {
    visible_json(json).into_owned()
}

/// JSON on one line. Line ends occur between its tokens only (in strings they are escaped), so what it says stays the
/// same. A payload may have them, because it comes back as it was sent.
pub(crate) fn one_line(json: &RawValue) -> String {
    visible_json(json.get()).replace('\n', " ")
}
