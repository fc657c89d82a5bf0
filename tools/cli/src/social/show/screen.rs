//! Where the state of a poll or battle is shown: in place on a terminal, line after line elsewhere.

use console::{Term, measure_text_width, truncate_str};

use crate::Failure;
use crate::print::{printable, say, unwritable};

/// How wide lines are where there is no terminal.
const WIDTH: usize = 80;

/// Standard output.
pub(super) struct Screen {
    /// None if it is no terminal.
    term: Option<Term>,
    /// What is drawn there.
    drawn: Vec<String>,
}

impl Screen {
    pub(super) fn new() -> Self {
        let term = Some(Term::buffered_stdout()).filter(|term| term.is_term());
        Self { term, drawn: Vec::new() }
    }

    /// True if what is shown can be drawn again in its place.
    pub(super) fn is_terminal(&self) -> bool {
        self.term.is_some()
    }

    pub(super) fn width(&self) -> usize {
        let size = self.term.as_ref().and_then(Term::size_checked);
        size.map_or(WIDTH, |(_, columns)| usize::from(columns))
    }

    /// Draws lines in the place of those that were drawn before.
    ///
    /// # Errors
    /// [`Failure::Output`]
    pub(super) fn draw(&mut self, lines: &[String]) -> Result<(), Failure> {
        let width = self.width();
        let Some(term) = &self.term else {
            return lines.iter().try_for_each(|line| say!("{line}"));
        };
        let height = term.size_checked().map_or(usize::MAX, |(rows, _)| usize::from(rows));
        let fitting = fitting(lines, width, height);
        if fitting == self.drawn {
            return Ok(());
        }
        let write = || {
            term.clear_last_lines(self.drawn.len())?;
            fitting.iter().try_for_each(|line| term.write_line(line))?;
            term.flush()
        };
        write().map_err(unwritable)?;
        self.drawn = fitting;
        Ok(())
    }
}

/// What of some lines fits. A terminal cannot draw again what has left it at its upper end, or lines that it has broken.
fn fitting(lines: &[String], width: usize, height: usize) -> Vec<String> {
    // The cursor has a row for itself.
    let most = height.saturating_sub(1).max(1);
    let kept = if lines.len() > most { most - 1 } else { lines.len() };
    let mut fitting: Vec<_> = lines[..kept].iter().map(|line| printable(line)).collect();
    if kept < lines.len() {
        fitting.push(format!("… and {} more lines, for a higher terminal", lines.len() - kept));
    }
    let cut = |line: String| match measure_text_width(&line) > width {
        true => truncate_str(&line, width, "…").into_owned(),
        false => line,
    };
    fitting.into_iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut() {
        let lines = ["one", "two", "three", "four"].map(str::to_owned);
        assert_eq!(fitting(&lines, 80, 24), lines);
        assert_eq!(fitting(&lines, 3, 5), ["one", "two", "th…", "fo…"]);
        let some = ["one".to_owned(), "… and 3 more lines, for a higher terminal".to_owned()];
        assert_eq!(fitting(&lines, 80, 3), some);
        assert_eq!(fitting(&lines, 80, 0).len(), 1);
    }
}
