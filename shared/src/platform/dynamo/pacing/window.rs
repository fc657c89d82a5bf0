//! The number of calls in flight.

use super::BATCH;

/// Calls in flight to begin with.
const FEWEST: usize = 4;
/// A table that refuses before this many are in flight counts as slow.
const SOON: usize = 8;
/// Calls in flight on the slowest table: those that are sent before their send slots.
const AHEAD: usize = 8;
/// The latency of the table up to which the window does not limit the pace, in seconds.
const LATENCY: f64 = 0.25;

/// Slow start, then Little's law: as many calls as begin within the latency of one.
///
/// At first it is unknown what the table takes, and every call in flight at the first refusal was sent in vain. Four calls, and
/// one more for each that is taken, reach 64 within five round trips. After the first refusal the window does not grow until the
/// capacity is measured.
#[derive(Debug)]
pub(super) struct Window {
    most: usize,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Nothing was refused yet.
    Growing(usize),
    /// Something was refused, nothing is measured.
    Waiting(usize),
    Open,
}

impl Window {
    pub(super) fn new(most: usize) -> Self {
        Self { most, phase: Phase::Growing(FEWEST) }
    }

    /// The number of calls that may be in flight at this pace.
    pub(super) fn calls(&self, pace: f64) -> usize {
        let calls = match self.phase {
            Phase::Growing(calls) | Phase::Waiting(calls) => calls,
            Phase::Open => ((pace / BATCH as f64 * LATENCY) as usize).max(AHEAD),
        };
        calls.clamp(1, self.most.max(1))
    }

    /// A call has ended before anything was measured.
    pub(super) fn ended(&mut self, refused: usize) {
        self.phase = match self.phase {
            Phase::Growing(calls) if refused == 0 => Phase::Growing((calls + 1).min(self.most)),
            // A table that refuses this soon is slow, and one call at a time finds out how slow.
            Phase::Growing(calls) if calls <= SOON => Phase::Waiting(1),
            Phase::Growing(calls) => Phase::Waiting(calls / 2),
            Phase::Waiting(calls) => Phase::Waiting(calls),
            Phase::Open => Phase::Open,
        };
    }

    pub(super) fn open(&mut self) {
        self.phase = Phase::Open;
    }

    /// Resets to the initial state.
    pub(super) fn restart(&mut self) {
        self.phase = Phase::Growing(FEWEST);
    }
}
