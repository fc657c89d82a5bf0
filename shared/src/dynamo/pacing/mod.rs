//! How fast to write: as fast as the table takes it, and hardly faster.
//!
//! A table takes a number of writes a second, and unused capacity of the last minutes besides (its
//! burst). Nobody tells a client how many: it finds out by what is refused. Writing
//! without a pace finds out with every call, and each refusal is a request sent, signed and
//! answered for nothing; backing off after refusals leaves capacity unused. So all writers of one
//! process go through one [`Pacer`]:
//!
//! ```text
//! controller   how many items a second
//! cohort       the calls that it judges together
//! window       how many calls are in flight: slow start, then by the pace
//! queue        whose call is next
//! hot          partitions that refuse what the table would take
//! ```
//!
//! Tables take from 50 to more than 40,000 writes a second, so nothing here is a fixed number of calls
//! or of milliseconds where it could follow the pace. A call is begun when it is admitted, not before: at
//! 50 a second, hundreds of calls in one line would be a page that nobody completes. A call has no more items than the table
//! takes in a second, so that a table slower than 25 takes whole calls, and deliveries come further with each.
//!
//! Calls have one of two priorities. Normal are deliveries of ordinary size, which may be sent before their
//! send slots; bulk are the segments of large fan-outs, which wait until that is made up for, and
//! give way to normal calls that wait, down to a tenth of the pace.
//!
//! One partition has a pacer of its own ([`Pacer::of_partition`]), for those who write much into it.
//! Everybody else ignores the few items that such a partition refuses when they judge the table: an item
//! that was sent [apart](Attempt::Apart) twice and refused is its partition's matter.

mod cohort;
mod controller;
mod hot;
mod queue;
mod window;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::runtime::deadline::{Deadline, DeadlineExceeded};
use cohort::{CohortId, Sent};
use controller::Controller;
use hot::HotPartitions;
use queue::{Queue, Turn};
use window::Window;

pub use queue::FairShare;

use super::BATCH_WRITE as BATCH;
/// As few refusals in one call may be due to single partitions.
pub(crate) const FEW: usize = BATCH / 4;
/// Items a second to begin with: what DynamoDB's default quota lets one table take.
const TABLE: f64 = 40_000.0;
/// What one partition takes.
const PARTITION: f64 = 1_000.0;
/// How much of what was not sent may be caught up on: what a timer of a millisecond and a busy
/// processor delay calls by.
const CREDIT: Duration = Duration::from_millis(20);
/// The same in items, where the pace is slow: deliveries end and others begin, and nobody writes meanwhile.
const ITEMS_CREDIT: usize = 2 * BATCH;
/// How long before its send slot a normal call may be sent.
const AHEAD: Duration = Duration::from_millis(100);
/// This many items may be sent early where the pace is slow, but no further than a table's burst reaches.
const MOST_AHEAD: (usize, Duration) = (200, Duration::from_secs(1));
/// How long bulk stands aside for a normal call.
const GIVE_WAY: Duration = Duration::from_millis(1);
/// Bulk waits for its send slot at most this many times as long as it would alone.
const PATIENCE: u32 = 10;

/// Which calls go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// Deliveries that somebody waits for.
    #[default]
    Normal,
    /// Segments of large fan-outs.
    Bulk,
}

/// How often the items of a call were sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Never.
    First,
    /// The table gave them back.
    Again,
    /// The table gave them back and took the rest of their call. Their partitions may be busy, so how this
    /// call ends says nothing about the table.
    Apart,
}

/// A call that waits to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// How many items it has.
    pub items: usize,
    /// Its priority.
    pub priority: Priority,
    /// The work that it is part of.
    pub share: &'a FairShare,
    /// How often it was sent before.
    pub attempt: Attempt,
}

/// Gives calls their send slots. Clones share one pace.
#[derive(Debug, Clone)]
pub struct Pacer {
    state: Arc<Mutex<State>>,
}

/// A pacer that is forgotten when nobody uses it.
#[derive(Debug, Clone)]
pub(crate) struct WeakPacer(std::sync::Weak<Mutex<State>>);

#[derive(Debug)]
struct State {
    controller: Controller,
    window: Window,
    /// Partitions that refuse. None where there is but one partition.
    hot: Option<HotPartitions>,
    /// When the next call may be sent.
    next: Instant,
    /// The calls of each priority that wait.
    queues: [Queue; 2],
    /// How many calls of each priority are in flight.
    open: [usize; 2],
}

/// Leave to send one call. Whoever has it tells it how the call ended; a call that was given up, or
/// that failed for other reasons, says nothing.
#[derive(Debug)]
pub struct Ticket<'a> {
    pacer: &'a Pacer,
    call: Sending,
    outcome: Option<(usize, usize)>,
}

/// A call in flight.
#[derive(Debug, Clone, Copy)]
struct Sending {
    priority: Priority,
    cohort: CohortId,
    at: Instant,
    apart: bool,
}

impl Ticket<'_> {
    /// How many of the call's items the table took, and how many it refused for want of capacity.
    pub fn ended(mut self, taken: usize, refused: usize) {
        self.outcome = Some((taken, refused));
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.pacer.state().ended(self.call, self.outcome, Instant::now());
    }
}

impl Pacer {
    /// The pace of a table, with at most N calls of each priority in flight.
    #[must_use]
    pub fn of_table(most_in_flight: usize) -> Self {
        Self::new(TABLE, most_in_flight, Some(HotPartitions::default()))
    }

    /// The pace of one partition.
    #[must_use]
    pub fn of_partition(most_in_flight: usize) -> Self {
        Self::new(PARTITION, most_in_flight, None)
    }

    fn new(pace: f64, most_in_flight: usize, hot: Option<HotPartitions>) -> Self {
        let now = Instant::now();
        let state = State {
            controller: Controller::new(pace, now),
            window: Window::new(most_in_flight),
            hot,
            next: now,
            queues: Default::default(),
            open: [0; 2],
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub(crate) fn downgrade(&self) -> WeakPacer {
        WeakPacer(Arc::downgrade(&self.state))
    }

    /// Waits until a call may be sent, or until the deadline: whoever asks again at once when time is too
    /// short would do nothing else.
    ///
    /// # Errors
    /// [`DeadlineExceeded`] if its send slot lies beyond the deadline.
    pub async fn admit(
        &self,
        call: Call<'_>,
        deadline: Deadline,
    ) -> Result<Ticket<'_>, DeadlineExceeded> {
        let mut waiting = Waiting::join(self, call);
        loop {
            if deadline.remaining().is_zero() {
                return Err(DeadlineExceeded);
            }
            match waiting.step() {
                Step::Go(call) => return Ok(Ticket { pacer: self, call, outcome: None }),
                Step::Until(slot) => {
                    let until = slot.min(Instant::now() + deadline.remaining());
                    let _ = timeout_at(until, waiting.notify.notified()).await;
                }
                Step::Behind => deadline.bound(waiting.notify.notified()).await?,
            }
        }
    }

    /// How many items the table takes in a second, as far as that is known.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "paces are bounded")]
    pub(crate) fn items_a_second(&self) -> usize {
        self.state().controller.pace() as usize
    }

    /// Whether a partition is known to refuse what the table would take.
    pub(crate) fn is_hot(&self, partition: &str) -> bool {
        self.state().hot.as_ref().is_some_and(|hot| hot.contains(partition, Instant::now()))
    }

    /// A partition has refused again what was sent apart from the rest.
    pub(crate) fn found_hot(&self, partition: &str) {
        if let Some(hot) = &mut self.state().hot {
            hot.insert(partition, Instant::now());
        }
    }

    /// Whether several partitions are written to, so that a few refusals may be due to one of them.
    pub(crate) fn has_many_partitions(&self) -> bool {
        self.state().hot.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WeakPacer {
    pub(crate) fn upgrade(&self) -> Option<Pacer> {
        self.0.upgrade().map(|state| Pacer { state })
    }
}

/// What a waiting call does next.
enum Step {
    Go(Sending),
    /// Its send slot has not come.
    Until(Instant),
    /// Others go first, or as many as may be are in flight.
    Behind,
}

/// A call in its queue, which it leaves when it is dropped.
struct Waiting<'a> {
    pacer: &'a Pacer,
    call: Call<'a>,
    turn: Turn,
    notify: Arc<Notify>,
    /// Since when it is the first of its priority.
    first_since: Option<Instant>,
    how: Sent,
}

impl<'a> Waiting<'a> {
    fn join(pacer: &'a Pacer, call: Call<'a>) -> Self {
        let notify = Arc::new(Notify::new());
        let turn = pacer.state().queues[call.priority as usize].join(&call, Arc::clone(&notify));
        let how = if call.attempt == Attempt::Apart { Sent::Apart } else { Sent::AtOnce };
        Self { pacer, call, turn, notify, first_since: None, how }
    }

    fn step(&mut self) -> Step {
        let (mut state, now) = (self.pacer.state(), Instant::now());
        let priority = self.call.priority as usize;
        if !state.queues[priority].is_first(&self.turn) {
            return Step::Behind;
        }
        if !state.has_room(priority) {
            if !state.controller.has_measured() {
                self.wait(Sent::WhenRoom);
            }
            return Step::Behind;
        }
        let since = *self.first_since.get_or_insert(now);
        if let Some(slot) = state.not_before(&self.call, since, now) {
            self.wait(Sent::InItsSlot);
            return Step::Until(slot);
        }
        state.queues[priority].serve(&self.turn, &self.call);
        Step::Go(state.send(&self.call, self.how, now))
    }

    fn wait(&mut self, how: Sent) {
        if self.how == Sent::AtOnce || how == Sent::InItsSlot && self.how != Sent::Apart {
            self.how = how;
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pacer.state().queues[self.call.priority as usize].leave(&self.turn);
    }
}

impl State {
    fn has_room(&self, priority: usize) -> bool {
        self.open[priority] < self.window.calls(self.controller.pace())
    }

    /// Until when a call that is the first since then has to wait, if it has to.
    fn not_before(&self, call: &Call<'_>, since: Instant, now: Instant) -> Option<Instant> {
        if call.priority == Priority::Normal {
            let (items, longest) = MOST_AHEAD;
            let ahead = self.controller.time_for(items).clamp(AHEAD, longest);
            return (self.next > now + ahead).then(|| self.next - ahead);
        }
        let longest = since + self.controller.time_for(call.items) * PATIENCE;
        let awaited = !self.queues[Priority::Normal as usize].is_empty();
        if longest <= now || (self.next <= now && !awaited) {
            return None;
        }
        Some(self.next.max(now + GIVE_WAY).min(longest))
    }

    fn send(&mut self, call: &Call<'_>, how: Sent, now: Instant) -> Sending {
        let credit = CREDIT.max(self.controller.time_for(ITEMS_CREDIT)).min(MOST_AHEAD.1);
        let earliest = now.checked_sub(credit).unwrap_or(now);
        self.open[call.priority as usize] += 1;
        if self.controller.is_outdated(now) {
            self.controller.restart(now);
            self.window.restart();
        }
        self.next = self.next.max(earliest) + self.controller.time_for(call.items);
        let cohort = self.controller.send(how, now);
        Sending { priority: call.priority, cohort, at: now, apart: how == Sent::Apart }
    }

    fn ended(&mut self, call: Sending, outcome: Option<(usize, usize)>, now: Instant) {
        self.open[call.priority as usize] -= 1;
        let outcome = outcome.map(|(taken, refused)| (taken, if call.apart { 0 } else { refused }));
        if self.controller.observe(call.cohort, (call.at, call.apart), outcome, now) {
            self.next = self.next.max(now + self.controller.time_for(BATCH));
        }
        match outcome {
            _ if self.controller.has_measured() => self.window.open(),
            Some((_, refused)) => self.window.ended(refused),
            None => {}
        }
        self.queues[call.priority as usize].wake();
    }
}
