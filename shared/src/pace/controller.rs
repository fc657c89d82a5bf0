//! How many items a second.
//!
//! When a table refuses, its burst is used up, and what it still takes is just what it can do: the
//! controller measures that and goes on a little below it, so that the burst fills again by that
//! little. Then the pace rises, slowly, until the table refuses again: some per cent up and down
//! around the capacity, of which the burst makes an even stream. The rise is by the square root of
//! the pace, not by a share of it, so that of several writers the slow ones catch up with the fast
//! ones. Where nothing is refused well above what was measured, the capacity has grown, and the rise
//! becomes exponential.
//!
//! What is measured is a *cohort*: the calls sent in some tenth of a second, judged when all of them
//! have ended, because a refusal may come back sooner than a success. Cohorts that were sent in part
//! before the pace last changed say nothing about the new pace. Those in which no call was *held*, made
//! to wait for its moment, say nothing about what the table would have taken: a writer of little among
//! writers of much is refused for what they do, and must not be made slow by it. The numbers below
//! were chosen in simulation; `tests/functions/pace.rs` holds them to what they promise.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Items a second to begin with: what DynamoDB's default quota lets one table take.
const START: f64 = 40_000.0;
/// No pace is slower: one call a second.
const SLOWEST: f64 = 25.0;
/// No pace is faster: more than any writer does.
const FASTEST: f64 = 10_000_000.0;
/// How long calls join one cohort.
const COHORT: Duration = Duration::from_millis(100);
/// How many calls there are in it at least.
const CALLS: u32 = 16;
/// So many refusals are enough, after the first time if most is refused, after the second otherwise.
const REFUSALS: (u32, Duration, Duration) =
    (8, Duration::from_millis(5), Duration::from_millis(25));
/// A cohort that has not come together by then says nothing: hardly anything is sent.
const STALE: Duration = Duration::from_millis(500);
/// After so long, what a writer knows of the table's capacity is no longer so.
const FORGET: Duration = Duration::from_secs(30);
/// How far below the measured capacity to go on.
const CUT: f64 = 0.03;
/// The pace never falls to less of itself at once. In a moment in which most is refused, who of several
/// writers gets the rest is chance; this keeps them together.
const STEEPEST: f64 = 0.5;
/// The rise after a cohort, in square roots of the pace.
const RISE: f64 = 1.0;
/// How far above the measured capacity it is believed to have grown.
const BEYOND: f64 = 1.1;
/// The share by which the pace rises then: the first, and the greatest.
const BOOST: (f64, f64) = (0.01, 0.2);

/// Names a cohort.
pub(super) type CohortId = u64;

#[derive(Debug)]
pub(super) struct Controller {
    pace: f64,
    /// What the table took when it last refused.
    measured: f64,
    boost: f64,
    /// The first cohort that was sent at this pace from its beginning.
    since: CohortId,
    next_id: CohortId,
    /// Those that are not judged yet; the last is the one that calls join.
    cohorts: VecDeque<Cohort>,
    last_sent: Instant,
}

#[derive(Debug)]
struct Cohort {
    id: CohortId,
    begun: Instant,
    ended: Option<Instant>,
    calls: u32,
    /// Those that had to wait for their moments.
    held: u32,
    open: u32,
    /// It began with a refusal.
    refusing: bool,
    refusals: u32,
    taken: usize,
    refused: usize,
}

impl Cohort {
    fn new(id: CohortId, begun: Instant) -> Self {
        Self {
            id,
            begun,
            ended: None,
            calls: 0,
            held: 0,
            open: 0,
            refusing: false,
            refusals: 0,
            taken: 0,
            refused: 0,
        }
    }

    fn is_complete(&self, now: Instant) -> bool {
        let length = now - self.begun;
        let (refusals, if_most, if_some) = REFUSALS;
        let most = self.refusals * 2 > self.calls - self.open;
        (self.calls >= CALLS && length >= COHORT)
            || (self.refusals >= refusals && length >= if most { if_most } else { if_some })
    }

    fn length(&self) -> Duration {
        self.ended.map_or(COHORT, |ended| ended - self.begun)
    }

    fn per_second(&self, items: usize) -> f64 {
        items as f64 / self.length().as_secs_f64().max(1e-3)
    }
}

impl Controller {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            pace: START,
            measured: 0.0,
            boost: BOOST.1,
            since: 0,
            next_id: 1,
            cohorts: VecDeque::from([Cohort::new(0, now)]),
            last_sent: now,
        }
    }

    /// How long so many items take at this pace.
    pub(super) fn time_for(&self, items: usize) -> Duration {
        Duration::from_secs_f64(items as f64 / self.pace)
    }

    /// A call is sent, after it was `held` back or not. Returns the cohort it belongs to.
    pub(super) fn send(&mut self, held: bool, now: Instant) -> CohortId {
        if now - self.last_sent > FORGET {
            *self = Self { next_id: self.next_id, ..Self::new(now) };
            self.begin(now);
            self.since = self.current().id;
        }
        self.last_sent = now;
        let current = self.current();
        let stale = current.calls < CALLS && now - current.begun > STALE;
        if stale || current.is_complete(now) {
            current.ended = (!stale).then_some(now);
            self.begin(now);
        }
        let current = self.current();
        current.calls += 1;
        current.held += u32::from(held);
        current.open += 1;
        current.id
    }

    /// A call has ended. None: nobody knows how.
    pub(super) fn learn(&mut self, id: CohortId, outcome: Option<(usize, usize)>, now: Instant) {
        let Some(cohort) = self.cohorts.iter_mut().find(|cohort| cohort.id == id) else { return };
        cohort.open -= 1;
        let (taken, refused) = outcome.unwrap_or_default();
        cohort.taken += taken;
        cohort.refused += refused;
        cohort.refusals += u32::from(refused > 0);
        if cohort.ended.is_none() {
            if refused > 0 && !cohort.refusing {
                // From here on the burst is known to be used up: only now there is something to measure.
                // A pace that was rising fast is far above it, so some of the rise goes back at once.
                if cohort.held > 0 && self.pace > self.measured * BEYOND {
                    self.set((self.pace * STEEPEST).max(self.measured));
                }
                self.begin(now);
                self.current().refusing = true;
            } else if cohort.is_complete(now) {
                cohort.ended = Some(now);
                self.begin(now);
            }
        }
        let over = |cohort: &Cohort| cohort.ended.is_some() && cohort.open == 0;
        while let Some(nth) = self.cohorts.iter().position(over) {
            let cohort = self.cohorts.remove(nth);
            cohort.into_iter().for_each(|cohort| self.judge(&cohort));
        }
    }

    fn judge(&mut self, cohort: &Cohort) {
        if cohort.id < self.since {
            return;
        }
        let took = cohort.per_second(cohort.taken);
        let fallen = |pace: f64| pace.clamp(self.pace * STEEPEST, self.pace);
        if cohort.held == 0 && cohort.refused > 0 {
            // The pace comes near, so that it holds should there suddenly be more to send.
            self.set(fallen(took / STEEPEST));
            self.since = self.next_id;
        } else if cohort.refused > 0 {
            self.measured = fallen(took);
            self.boost = BOOST.0;
            // A moment says roughly where the capacity is; from a little above it, the next cohort
            // tells exactly.
            let roughly = cohort.length() < REFUSALS.2;
            self.set(self.measured * if roughly { BEYOND } else { 1.0 - CUT });
            self.since = self.next_id;
        } else if cohort.held > 0 {
            // By time, not by cohort: those of a slow writer take longer to come together.
            let periods = cohort.length().as_secs_f64() / COHORT.as_secs_f64();
            self.set(self.pace + RISE * self.pace.sqrt() * periods);
            if self.pace > self.measured * BEYOND {
                self.set(self.pace * (1.0 + self.boost).powf(periods));
                self.boost = (self.boost * 2.0_f64.powf(periods)).min(BOOST.1);
            }
        }
    }

    fn set(&mut self, pace: f64) {
        self.pace = pace.clamp(SLOWEST, FASTEST);
    }

    /// Begins a cohort. Those that came to nothing before are forgotten.
    fn begin(&mut self, now: Instant) {
        self.cohorts.retain(|cohort| cohort.ended.is_some());
        self.cohorts.push_back(Cohort::new(self.next_id, now));
        self.next_id += 1;
    }

    fn current(&mut self) -> &mut Cohort {
        if self.cohorts.is_empty() {
            self.begin(self.last_sent);
        }
        let last = self.cohorts.len() - 1;
        &mut self.cohorts[last]
    }
}
