//! How fast to write: as fast as the table takes it, and hardly faster.
//!
//! A table takes so many writes a second, and what it could not do in the last moments may be made
//! good (its burst). Nobody tells a client how many: it finds out by what is refused. Writing
//! without a pace finds out with every call, and each refusal is a request sent, signed and
//! answered for nothing; backing off after refusals leaves capacity unused. So all writers of one
//! process go through one [`Pacer`]: a controller says how many items a second, and here each call
//! waits for its moment.
//!
//! Calls come in two lanes. In front are deliveries of ordinary size, which may be sent ahead of their
//! moments; behind is bulk, the parts of large fan-outs, which waits until that is made up for, and
//! gives way to what waits in front, down to a tenth of the pace.

mod controller;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync;
use tokio::time::{Instant, sleep_until};

use crate::deadline::{Deadline, DeadlineExceeded};
use controller::{CohortId, Controller};

/// How much of what was not sent may be caught up on: what a timer of a millisecond and a busy
/// processor delay calls by.
const CREDIT: Duration = Duration::from_millis(20);
/// How far ahead of their moments calls in front may be sent.
const AHEAD: Duration = Duration::from_millis(100);
/// So many items may be sent ahead however slow the pace is.
const ITEMS_AHEAD: usize = 200;
/// How long bulk stands aside for somebody in front.
const GIVE_WAY: Duration = Duration::from_millis(1);
/// Bulk waits for its moment at most so many times as long as it would alone.
const PATIENCE: u32 = 10;

/// Which calls go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lane {
    /// Deliveries that somebody waits for.
    #[default]
    Front,
    /// Parts of large fan-outs.
    Bulk,
}

/// Gives calls their moments. Clones share one pace.
#[derive(Debug, Clone, Default)]
pub struct Pacer {
    state: Arc<Mutex<State>>,
    /// The calls of a lane come one after another: the first of them waits for its moment, the others
    /// for it.
    turns: [Arc<sync::Mutex<()>>; 2],
}

#[derive(Debug)]
struct State {
    controller: Controller,
    /// When the next call may be sent.
    next: Instant,
    /// Somebody in front waits for it.
    awaited: bool,
}

impl Default for State {
    fn default() -> Self {
        let now = Instant::now();
        Self { controller: Controller::new(now), next: now, awaited: false }
    }
}

/// Leave to send one call. Whoever has it tells it how the call ended; a call that was given up, or
/// that failed for other reasons, says nothing.
#[derive(Debug)]
pub struct Ticket<'a> {
    pacer: &'a Pacer,
    cohort: CohortId,
    outcome: Option<(usize, usize)>,
}

impl Ticket<'_> {
    /// The table took so many of the call's items, and refused so many for want of capacity.
    pub fn ended(mut self, taken: usize, refused: usize) {
        self.outcome = Some((taken, refused));
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.pacer.state().controller.learn(self.cohort, self.outcome, Instant::now());
    }
}

impl Pacer {
    /// Waits until a call with so many items may be sent.
    ///
    /// # Errors
    /// [`DeadlineExceeded`] if that moment lies beyond the deadline.
    pub async fn admit(
        &self,
        items: usize,
        lane: Lane,
        deadline: Deadline,
    ) -> Result<Ticket<'_>, DeadlineExceeded> {
        let _turn = deadline.bound(self.turns[lane as usize].lock()).await?;
        let _awaited = (lane == Lane::Front).then(|| Awaited::new(self));
        let (begun, mut held) = (Instant::now(), false);
        loop {
            let not_before = self.state().not_before(items, lane, begun, Instant::now());
            let Some(moment) = not_before else { break };
            wait_until(moment, deadline).await?;
            held = true;
        }
        let cohort = self.state().send(items, held, Instant::now());
        Ok(Ticket { pacer: self, cohort, outcome: None })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Until when a call that has waited since `begun` has to wait, if it has to.
    fn not_before(
        &mut self,
        items: usize,
        lane: Lane,
        begun: Instant,
        now: Instant,
    ) -> Option<Instant> {
        if lane == Lane::Front {
            let ahead = AHEAD.max(self.controller.time_for(ITEMS_AHEAD));
            return (self.next > now + ahead).then(|| self.next - ahead);
        }
        let longest = begun + self.controller.time_for(items) * PATIENCE;
        if longest <= now || (self.next <= now && !self.awaited) {
            return None;
        }
        Some(self.next.max(now + GIVE_WAY).min(longest))
    }

    fn send(&mut self, items: usize, held: bool, now: Instant) -> CohortId {
        let earliest = now.checked_sub(CREDIT).unwrap_or(now);
        self.next = self.next.max(earliest) + self.controller.time_for(items);
        self.controller.send(held, now)
    }
}

/// Tells bulk that somebody in front waits.
struct Awaited<'a>(&'a Pacer);

impl<'a> Awaited<'a> {
    fn new(pacer: &'a Pacer) -> Self {
        pacer.state().awaited = true;
        Self(pacer)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.state().awaited = false;
    }
}

async fn wait_until(moment: Instant, deadline: Deadline) -> Result<(), DeadlineExceeded> {
    let wait = moment.saturating_duration_since(Instant::now());
    if wait.is_zero() {
        return Ok(());
    }
    if wait >= deadline.remaining() {
        return Err(DeadlineExceeded);
    }
    sleep_until(moment).await;
    Ok(())
}
