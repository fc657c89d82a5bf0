//! The controller: finds out how many items a second a table takes.
//!
//! When a table refuses, its burst is used up, and what it still takes is its capacity. The controller measures that and goes
//! on a little below it, so that the burst fills up again by the difference. Then the pace rises slowly until the table refuses
//! again: it moves some per cent around the capacity, which the burst smooths. The rise is the square root of the pace, not a
//! share of it, so that slow writers catch up with fast ones; at slow paces the square root would be far too much, and the rise
//! is a small share. If nothing is refused well above what was measured, the capacity has grown, and the rise is exponential.
//!
//! The unit of measurement is a *cohort*: the calls sent in a tenth of a second, or in the time of a few calls if that is longer.
//! A cohort is judged when all its calls have ended, because a refusal may return sooner than a success. Cohorts that were
//! partly sent before the last change of the pace say nothing about the new pace. Cohorts without any call that was *throttled
//! locally*, made to wait, say nothing about the capacity: a small writer among large ones is refused for what they do, and must
//! not be slowed down by it.
//!
//! Before anything is measured, and when a table has become much slower, hardly anything is taken. Then the pace is at most what
//! was taken since the first refusal, plus one call, in that time. So it halves with each refused call, and a fall from 40,000
//! to 50 a second costs about ten calls.
//!
//! The constants below were chosen in simulation; `tests/pace/table.rs` tests what they promise.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::BATCH;
use super::cohort::{Cohort, CohortId, Scale, Sent};

/// The slowest pace: one call in ten seconds.
const SLOWEST: f64 = 2.5;
/// The fastest pace, which no writer reaches.
const FASTEST: f64 = 10_000_000.0;
/// The time after which a measurement of the capacity is outdated.
const FORGET: Duration = Duration::from_secs(30);
/// The pace after a measurement, relative to the measured capacity.
const CUT: f64 = 0.03;
/// The most that a partly taken cohort lowers the pace, as a factor. While most is refused, chance decides which of several
/// writers gets the rest; this keeps them together.
const STEEPEST: f64 = 0.5;
/// The same for a cohort of a few calls, where chance is greater: half of the change applies, as a factor.
const STEEPEST_BY_FEW: f64 = 0.75;
/// If less than this share of what was refused is taken, the pace is not near the capacity.
const HARDLY: f64 = 0.25;
/// A table that has taken no more than this before it refuses counts as slow.
const LITTLE: usize = 400;
/// The rise after a cohort, in square roots of the pace, and its limit as a share of the pace.
const RISE: (f64, f64) = (1.0, 0.02);
/// A pace below this rises like this one, so that slow writers catch up.
const LOW: f64 = 50.0;
/// A pace of a few calls a second, at which a measurement that is too low would never be corrected.
const FEW_CALLS: f64 = 200.0;
/// How far above the measured capacity the capacity counts as grown.
const BEYOND: f64 = 1.1;
/// The share by which the pace rises then: the first and the greatest.
const BOOST: (f64, f64) = (0.01, 0.2);
/// As long as the table has refused nothing: after this many cohorts, the share by which the pace rises instead. At the first refusal what
/// is in flight was sent in vain, which does not depend on how fast the pace rises. Then the pace falls back to where it started.
const UNREFUSED: (u32, f64) = (2, 2.0);

#[derive(Debug)]
pub(super) struct Controller {
    pace: f64,
    start: f64,
    /// What the table took when it last refused.
    measured: f64,
    /// True if it took enough for that to be more than a bound.
    sure: bool,
    /// What it took before anything was measured.
    before: usize,
    /// True if it was measured in a short burst.
    rough: bool,
    boost: f64,
    /// Cohorts that have ended without a refusal; `None` once there was one.
    unrefused: Option<u32>,
    /// When the table last began to refuse, and what it has taken since.
    taken_since: (Instant, usize),
    /// The first cohort that was sent at this pace from its beginning.
    since: CohortId,
    next_id: CohortId,
    /// Cohorts that are not judged yet; calls join the last one.
    cohorts: VecDeque<Cohort>,
    last_sent: Instant,
}

impl Controller {
    pub(super) fn new(start: f64, now: Instant) -> Self {
        Self {
            pace: start,
            start,
            measured: 0.0,
            sure: false,
            before: 0,
            rough: false,
            boost: BOOST.1,
            unrefused: Some(0),
            taken_since: (now, 0),
            since: 0,
            next_id: 1,
            cohorts: VecDeque::from([Cohort::new(0, now)]),
            last_sent: now,
        }
    }

    /// Items a second.
    pub(super) fn pace(&self) -> f64 {
        self.pace
    }

    /// True if the table has refused, and what it took is known.
    pub(super) fn has_measured(&self) -> bool {
        self.sure
    }

    fn scale(&self) -> Scale {
        let thought_slow = !self.sure && self.before <= LITTLE;
        let mut scale = Scale::from_pace(self.pace);
        scale.is_slow |= thought_slow;
        scale
    }

    /// How long N items take at this pace.
    pub(super) fn time_for(&self, items: usize) -> Duration {
        Duration::from_secs_f64(items as f64 / self.pace)
    }

    /// True if nothing was sent for so long that the measurement is outdated.
    pub(super) fn is_outdated(&self, now: Instant) -> bool {
        now - self.last_sent > FORGET
    }

    /// Resets to the initial state.
    pub(super) fn restart(&mut self, now: Instant) {
        *self = Self { next_id: self.next_id, ..Self::new(self.start, now) };
        self.begin(now);
        self.since = self.current().id;
    }

    /// A call is sent. Returns the cohort it belongs to.
    pub(super) fn send(&mut self, kind: Sent, now: Instant) -> CohortId {
        self.last_sent = now;
        let scale = self.scale();
        let current = self.current();
        let stale = current.is_stale(&scale, now);
        if stale || current.is_complete(&scale, now) {
            current.ended = (!stale).then_some(now);
            self.begin(now);
        }
        self.current().send(kind);
        self.current().id
    }

    /// A call has ended; `None` if its result is unknown. Returns true if the pace is far above what the table takes, so that the
    /// next call has to wait.
    pub(super) fn observe(
        &mut self,
        id: CohortId,
        (sent, apart): (Instant, bool),
        outcome: Option<(usize, usize)>,
        now: Instant,
    ) -> bool {
        let Some(cohort) = self.cohorts.iter_mut().find(|cohort| cohort.id == id) else {
            return false;
        };
        let (taken, refused) = outcome.unwrap_or_default();
        cohort.end(sent, apart, taken, refused);
        self.taken_since.1 += taken;
        if !self.sure {
            self.before += taken;
        }
        let too_fast = cohort.ended.is_none() && self.look_at_current(refused, now);
        let over = |cohort: &Cohort| cohort.ended.is_some() && cohort.open == 0;
        while let Some(nth) = self.cohorts.iter().position(over) {
            let cohort = self.cohorts.remove(nth);
            cohort.into_iter().for_each(|cohort| self.judge(&cohort));
        }
        too_fast
    }

    /// A call of the current cohort has ended.
    fn look_at_current(&mut self, refused: usize, now: Instant) -> bool {
        let (pace, measured) = (self.pace, self.measured);
        let (scale, taken) = (self.scale(), self.taken_rate(now));
        let cohort = self.current();
        if refused > 0 && !cohort.refusing {
            // From here on the burst is known to be used up, so measuring begins.
            // A pace that was rising fast is far above it, so some of the rise goes back at once.
            if cohort.delayed > 0 && pace > measured * BEYOND {
                let measured = if self.rough { (pace * measured).sqrt() } else { measured };
                // From one empty burst to the next the table took its capacity.
                let alone = scale.is_slow && self.sure && pace < FEW_CALLS;
                let known = if alone { taken.min(pace) } else { 0.0 };
                let most = if self.unrefused.is_some() { self.start } else { pace };
                self.set((pace * STEEPEST).min(most).max(measured).max(known));
            }
            self.unrefused = None;
            self.taken_since = (now, 0);
            self.begin(now);
            self.current().refusing = true;
            return false;
        }
        let too_fast = refused > 0
            && cohort.delayed > 0
            && scale.is_slow
            && cohort.hardly_took(HARDLY)
            && cohort.is_short(now);
        if too_fast {
            // Nothing is measured yet, except that the capacity is at most one call more than what was taken.
            let most = cohort.rate_at(now, cohort.most_taken() + BATCH);
            self.set(most.min(pace));
        }
        let scale = self.scale();
        if self.current().is_complete(&scale, now) {
            self.current().ended = Some(now);
            self.begin(now);
        }
        too_fast
    }

    /// What was taken since the table last began to refuse, in items a second.
    fn taken_rate(&self, now: Instant) -> f64 {
        let (since, taken) = self.taken_since;
        taken as f64 / (now - since).as_secs_f64().max(1e-3)
    }

    fn judge(&mut self, cohort: &Cohort) {
        if cohort.id < self.since {
            return;
        }
        let scale = self.scale();
        let took = if scale.is_slow { (cohort.took() * self.pace).sqrt() } else { cohort.took() };
        let steepest = if scale.is_slow { STEEPEST_BY_FEW } else { STEEPEST };
        let fallen = |pace: f64| pace.clamp(self.pace * steepest, self.pace);
        if cohort.paced == 0 && cohort.refused > 0 {
            // The pace approaches what is sent, so that it holds if there is suddenly more to send.
            self.set(fallen(took / STEEPEST));
            self.since = self.next_id;
        } else if cohort.refused > 0 {
            self.measured = fallen(took);
            self.rough = cohort.was_short();
            self.sure |= cohort.took_enough();
            self.boost = BOOST.0;
            // A short measurement is rough; from a little above it, the next cohort measures exactly.
            self.set(self.measured * if self.rough { BEYOND } else { 1.0 - CUT });
            self.since = self.next_id;
        } else if cohort.paced > 0 {
            // By time, not by cohort: cohorts of a slow writer take longer to complete.
            let periods = cohort.length().div_duration_f64(scale.period());
            let (roots, share) = RISE;
            let rise = (roots * self.pace.sqrt()).min(share * self.pace.max(LOW));
            self.set(self.pace + rise * periods);
            if self.pace > self.measured * BEYOND {
                self.unrefused = self.unrefused.map(|cohorts| cohorts + 1);
                let (cohorts, boost) = UNREFUSED;
                let is_boundless = self.unrefused.is_some_and(|number| number >= cohorts);
                let boost = if is_boundless { boost } else { self.boost };
                self.set(self.pace * (1.0 + boost).powf(periods));
                self.boost = (self.boost * 2.0_f64.powf(periods)).min(BOOST.1);
            }
        }
    }

    fn set(&mut self, pace: f64) {
        self.pace = pace.clamp(SLOWEST, FASTEST);
    }

    /// Begins a cohort. Earlier cohorts without a result are dropped.
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
