//! The order of waiting calls.
//!
//! Within a priority, calls that were sent before and came back go first, because they are nearly done. Then come the calls whose
//! work has begun least, so that 48 parallel fan-outs take turns call by call and each completes its page. How much a piece of
//! work has begun is kept with the work, so work that stops waiting and comes again does not lose its turn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use super::{Attempt, Call};

/// How much one piece of work has begun, for each priority, on the clock of the queue. Clones belong to the same work.
#[derive(Debug, Clone, Default)]
pub struct FairShare([Arc<AtomicU64>; 2]);

/// The position of one waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    fresh: bool,
    after: u64,
    nth: u64,
}

/// The waiting calls of one priority.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<Turn, Arc<Notify>>,
    /// The share of the work that was served last. New work begins there, neither before nor after what is waiting.
    clock: u64,
    next: u64,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a waiting call. It is notified when it may have become the first.
    pub(super) fn join(&mut self, call: &Call<'_>, notify: Arc<Notify>) -> Turn {
        let fresh = call.attempt == Attempt::First;
        let begun = call.share.0[call.priority as usize].load(Ordering::Relaxed);
        let after = if fresh { begun.max(self.clock) } else { 0 };
        let turn = Turn { fresh, after, nth: self.next };
        self.next += 1;
        self.waiting.insert(turn, notify);
        turn
    }

    pub(super) fn is_first(&self, turn: &Turn) -> bool {
        self.waiting.first_key_value().is_some_and(|(first, _)| first == turn)
    }

    pub(super) fn serve(&mut self, turn: &Turn, call: &Call<'_>) {
        if turn.fresh {
            self.clock = self.clock.max(turn.after);
            let begun = turn.after + call.items as u64;
            call.share.0[call.priority as usize].fetch_max(begun, Ordering::Relaxed);
        }
    }

    /// Removes a waiting call.
    pub(super) fn leave(&mut self, turn: &Turn) {
        self.waiting.remove(turn);
        self.wake();
    }

    /// Notifies the first call that something has changed.
    pub(super) fn wake(&self) {
        if let Some((_, notify)) = self.waiting.first_key_value() {
            notify.notify_one();
        }
    }
}
