//! The latest log lines of the functions, kept as fields that can be searched.
//!
//! ```text
//! layer    turns an event of the functions into a line
//! line     one line, packed
//! filter   which lines a reader wants to see
//! ```
//!
//! The journal has two bounds. [`LINES`] is what a load of a thousand commands a second logs in a minute and a half, and as much as a
//! search reads in a fraction of a second. [`BYTES`] is what these lines take if they are of the usual length. If lines are long,
//! such as those of failures, the journal keeps fewer of them. Lines beyond either bound are dropped, the oldest first, and counted.
//!
//! Writers do not wait for readers. A line is put together before the lock is taken, and dropped lines are freed after it is
//! released. A reader holds the lock for a few hundred lines at a time, and examines them without it.

mod filter;
mod layer;
mod line;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use shared::platform::runtime::clock::Clock;

pub use filter::{Filter, OUTCOMES};
pub use layer::FUNCTIONS;
pub use line::Line;

/// The most lines that are kept.
pub const LINES: usize = 100_000;
/// The most bytes that they take.
pub const BYTES: usize = 32 * 1024 * 1024;
/// Lines that a reader takes at once.
const AT_ONCE: u64 = 500;

/// The latest lines. Cheap to clone: clones share them.
#[derive(Debug, Clone)]
pub struct Journal {
    ring: Arc<Mutex<Ring>>,
    clock: Clock,
    most_lines: usize,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<Arc<Line>>,
    bytes: usize,
    /// The number of the next line. They begin at 1.
    next: u64,
}

/// Some lines of the journal.
#[derive(Debug, Clone)]
pub struct Page {
    /// The lines, the newest first.
    pub lines: Vec<Arc<Line>>,
    /// The number before which the next page begins, if there may be older lines that match.
    pub older: Option<u64>,
    /// The number of the newest line, whether it matches or not.
    pub latest: u64,
}

impl Default for Journal {
    fn default() -> Self {
        Self::new(Clock::system(), LINES, BYTES)
    }
}

impl Journal {
    /// A journal that keeps at most N lines and M bytes.
    pub fn new(clock: Clock, lines: usize, bytes: usize) -> Self {
        let ring = Arc::new(Mutex::new(Ring { next: 1, ..Ring::default() }));
        Self { ring, clock, most_lines: lines, most_bytes: bytes }
    }

    /// The newest lines that match, of all or of those before a number.
    pub fn newest(&self, filter: &Filter, before: Option<u64>, limit: usize) -> Page {
        let kept = self.numbers();
        let latest = kept.end.saturating_sub(1);
        let mut end = before.unwrap_or(kept.end).min(kept.end);
        let mut lines = Vec::new();
        while end > kept.start {
            let start = end.saturating_sub(AT_ONCE).max(kept.start);
            for line in self.between(start..end).into_iter().rev() {
                if lines.len() == limit {
                    return Page { lines, older: Some(line.number + 1), latest };
                }
                if filter.fits(&line) {
                    lines.push(line);
                }
            }
            end = start;
        }
        Page { lines, older: None, latest }
    }

    /// The newest lines after a number that match.
    pub fn behind(&self, number: u64, filter: &Filter, limit: usize) -> Page {
        let kept = self.numbers();
        let mut page = Page { lines: Vec::new(), older: None, latest: kept.end.saturating_sub(1) };
        let mut end = kept.end;
        let first = number.saturating_add(1).max(kept.start);
        while end > first && page.lines.len() < limit {
            let start = end.saturating_sub(AT_ONCE).max(first);
            let fitting =
                self.between(start..end).into_iter().rev().filter(|line| filter.fits(line));
            page.lines.extend(fitting.take(limit - page.lines.len()));
            end = start;
        }
        page
    }

    /// The lines about a message, the oldest first: its deliveries, and its dead letter. If there are too many, the newest of them.
    pub fn story(&self, message_id: &str, limit: usize) -> Vec<Arc<Line>> {
        let filter = Filter { message: Some(message_id.to_owned()), ..Filter::default() };
        let mut lines = self.newest(&filter, None, limit).lines;
        lines.reverse();
        lines
    }

    /// How many lines there are, and how many have been dropped.
    pub fn counts(&self) -> (u64, u64) {
        let kept = self.numbers();
        (kept.end - kept.start, kept.start - 1)
    }

    /// The numbers of the lines that are kept.
    fn numbers(&self) -> Range<u64> {
        self.ring.lock().numbers()
    }

    /// The lines of these numbers that are still kept.
    fn between(&self, numbers: Range<u64>) -> Vec<Arc<Line>> {
        let ring = self.ring.lock();
        let kept = ring.numbers();
        let index = |number: u64| (number.clamp(kept.start, kept.end) - kept.start) as usize;
        ring.lines.range(index(numbers.start)..index(numbers.end)).cloned().collect()
    }

    /// Adds a line under the next number.
    fn push(&self, mut line: Line) {
        let bytes = line.bytes();
        let mut ring = self.ring.lock();
        line.number = ring.next;
        ring.next += 1;
        ring.bytes += bytes;
        ring.lines.push_back(Arc::new(line));
        let mut dropped = Vec::new();
        while ring.lines.len() > self.most_lines || ring.bytes > self.most_bytes {
            let Some(oldest) = ring.lines.pop_front() else { break };
            ring.bytes -= oldest.bytes();
            dropped.push(oldest);
        }
        drop(ring);
    }
}

impl Ring {
    fn numbers(&self) -> Range<u64> {
        self.next - self.lines.len() as u64..self.next
    }
}
