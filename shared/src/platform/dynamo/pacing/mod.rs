//! The pace of writes: as fast as the table takes them, and hardly faster.
//!
//! A table takes a number of writes a second, and also unused capacity of the last minutes (its burst). A client can only find
//! out that number by being refused. Without a pace it finds out with every call, and each refusal is a request sent, signed and
//! answered in vain; backing off after refusals leaves capacity unused. So all writers of one process share one [`Pacer`]:
//!
//! ```text
//! controller   the number of items a second
//! cohort       calls that the controller judges together
//! window       the number of calls in flight: slow start, then by the pace
//! queue        the order of waiting calls
//! hot          partitions that refuse what the table would take
//! ```
//!
//! Tables take from 50 to more than 40,000 writes a second, so numbers of calls and of milliseconds follow the pace where they
//! can. A call begins only when it is admitted: at 50 a second, hundreds of queued calls would be a page that is never
//! completed. A call has at most the items that the table takes in a second, so that a table slower than 25 takes whole calls,
//! and deliveries advance with each.
//!
//! Calls have one of two priorities. Deliveries of ordinary size are normal, and may be sent before their send slots. Segments
//! of large fan-outs are bulk: they wait until that is made up for, and give way to waiting normal calls, down to a tenth of the
//! pace.
//!
//! A partition has a pacer of its own ([`Pacer::of_partition`]) for work that writes much into it. All other work ignores the few
//! items that such a partition refuses when it judges the table: an item that was sent [apart](Attempt::Apart) twice and refused
//! was refused by its partition.

mod cohort;
mod controller;
mod hot;
mod queue;
mod window;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::platform::runtime::deadline::{Deadline, DeadlineExceeded};
use cohort::{CohortId, Sent};
use controller::Controller;
use hot::HotPartitions;
use queue::{Queue, Turn};
use window::Window;

pub use queue::FairShare;

use super::BATCH_WRITE as BATCH;
/// Up to this many refusals in one call may be due to single partitions.
pub(crate) const FEW: usize = BATCH / 4;
/// Items a second to begin with: DynamoDB's default quota of one table.
const TABLE: f64 = 40_000.0;
/// Items a second that one partition takes.
const PARTITION: f64 = 1_000.0;
/// The delay that may be caught up on: that of a timer of a millisecond and of a busy processor.
const CREDIT: Duration = Duration::from_millis(20);
/// The same in items, for a slow pace: between two deliveries nothing is written.
const ITEMS_CREDIT: usize = 2 * BATCH;
/// How long before its send slot a normal call may be sent.
const AHEAD: Duration = Duration::from_millis(100);
/// The number of items that may be sent early at a slow pace, within the burst of a table.
const MOST_AHEAD: (usize, Duration) = (200, Duration::from_secs(1));
/// How long bulk waits for a normal call.
const GIVE_WAY: Duration = Duration::from_millis(1);
/// Bulk waits for its send slot at most this many times as long as without normal calls.
const PATIENCE: u32 = 10;

/// Which calls go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    #[default]
    Normal,
    Bulk,
}

/// How often the items of a call were sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Never.
    First,
    Again,
    /// The table returned them and took the rest of their call. Their partitions may be busy, so the result of this call says
    /// nothing about the table.
    Apart,
}

/// A call that waits to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub items: usize,
    pub priority: Priority,
    /// The share of the work that it belongs to.
    pub share: &'a FairShare,
    /// How often it was sent before.
    pub attempt: Attempt,
}

/// Gives calls their send slots. Clones share one pace.
#[derive(Debug, Clone)]
pub struct Pacer {
    state: Arc<Mutex<PacerState>>,
}

/// A pacer that is dropped when nobody uses it.
#[derive(Debug, Clone)]
pub(crate) struct WeakPacer(std::sync::Weak<Mutex<PacerState>>);

#[derive(Debug)]
struct PacerState {
    controller: Controller,
    window: Window,
    /// Partitions that refuse; `None` for the pacer of one partition.
    hot: Option<HotPartitions>,
    /// When the next call may be sent.
    next: Instant,
    /// The calls of each priority that wait.
    queues: [Queue; 2],
    /// How many calls of each priority are in flight.
    open: [usize; 2],
}

/// Permission to send one call. The holder reports how the call ended; a call that was given up, or that failed for other
/// reasons, reports nothing.
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
    /// Reports how many items the table took, and how many it refused for lack of capacity.
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
    pub fn of_table(most_in_flight: usize) -> Self {
        Self::new(TABLE, most_in_flight, Some(HotPartitions::default()))
    }

    /// The pace of one partition.
    pub fn of_partition(most_in_flight: usize) -> Self {
        Self::new(PARTITION, most_in_flight, None)
    }

    fn new(pace: f64, most_in_flight: usize, hot: Option<HotPartitions>) -> Self {
        let now = Instant::now();
        let state = PacerState {
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

    /// Waits until a call may be sent, or until the deadline, so that a caller with too little time does not retry in a hot loop.
    ///
    /// # Errors
    /// [`DeadlineExceeded`] if its send slot lies beyond the deadline.
    pub async fn admit(
        &self,
        call: Call<'_>,
        deadline: Deadline,
    ) -> Result<Ticket<'_>, DeadlineExceeded> {
        let mut waiting = WaitingCall::join(self, call);
        loop {
            if deadline.remaining().is_zero() {
                return Err(DeadlineExceeded);
            }
            match waiting.step() {
                NextStep::Go(call) => return Ok(Ticket { pacer: self, call, outcome: None }),
                NextStep::Until(slot) => {
                    let until = slot.min(Instant::now() + deadline.remaining());
                    let _ = timeout_at(until, waiting.notify.notified()).await;
                }
                NextStep::Behind => deadline.bound(waiting.notify.notified()).await?,
            }
        }
    }

    /// The number of items that the table takes in a second, as far as known.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "paces are bounded")]
    pub(crate) fn items_a_second(&self) -> usize {
        self.state().controller.pace() as usize
    }

    /// True if a partition is known to refuse what the table would take.
    pub(crate) fn is_hot(&self, partition: &str) -> bool {
        self.state().hot.as_ref().is_some_and(|hot| hot.contains(partition, Instant::now()))
    }

    /// Notes that a partition has refused an item again that was sent apart.
    pub(crate) fn found_hot(&self, partition: &str) {
        if let Some(hot) = &mut self.state().hot {
            hot.insert(partition, Instant::now());
        }
    }

    /// True if several partitions are written to, so that a few refusals may be due to one of them.
    pub(crate) fn has_many_partitions(&self) -> bool {
        self.state().hot.is_some()
    }

    fn state(&self) -> MutexGuard<'_, PacerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WeakPacer {
    pub(crate) fn upgrade(&self) -> Option<Pacer> {
        self.0.upgrade().map(|state| Pacer { state })
    }
}

/// What a waiting call does next.
enum NextStep {
    Go(Sending),
    /// Its send slot has not come.
    Until(Instant),
    /// Others go first, or the window is full.
    Behind,
}

/// A call in its queue, which it leaves when it is dropped.
struct WaitingCall<'a> {
    pacer: &'a Pacer,
    call: Call<'a>,
    turn: Turn,
    notify: Arc<Notify>,
    /// When it became the first of its priority.
    first_since: Option<Instant>,
    how: Sent,
}

impl<'a> WaitingCall<'a> {
    fn join(pacer: &'a Pacer, call: Call<'a>) -> Self {
        let notify = Arc::new(Notify::new());
        let turn = pacer.state().queues[call.priority as usize].join(&call, Arc::clone(&notify));
        let how = if call.attempt == Attempt::Apart { Sent::Apart } else { Sent::AtOnce };
        Self { pacer, call, turn, notify, first_since: None, how }
    }

    fn step(&mut self) -> NextStep {
        let (mut state, now) = (self.pacer.state(), Instant::now());
        let priority = self.call.priority as usize;
        if !state.queues[priority].is_first(&self.turn) {
            return NextStep::Behind;
        }
        if !state.has_room(priority) {
            if !state.controller.has_measured() {
                self.wait(Sent::WhenRoom);
            }
            return NextStep::Behind;
        }
        let since = *self.first_since.get_or_insert(now);
        if let Some(slot) = state.not_before(&self.call, since, now) {
            self.wait(Sent::InItsSlot);
            return NextStep::Until(slot);
        }
        state.queues[priority].serve(&self.turn, &self.call);
        NextStep::Go(state.send(&self.call, self.how, now))
    }

    fn wait(&mut self, how: Sent) {
        if self.how == Sent::AtOnce || how == Sent::InItsSlot && self.how != Sent::Apart {
            self.how = how;
        }
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.pacer.state().queues[self.call.priority as usize].leave(&self.turn);
    }
}

impl PacerState {
    fn has_room(&self, priority: usize) -> bool {
        self.open[priority] < self.window.calls(self.controller.pace())
    }

    /// Until when a call has to wait that is the first of its priority since `since`; `None` if it need not wait.
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
