//! How many items a second.
//!
//! When a table refuses, its burst is used up, and what it still takes is just what it can do: the
//! controller measures that and goes on a little below it, so that the burst fills again by that
//! little. Then the pace rises, slowly, until the table refuses again: some per cent up and down
//! around the capacity, of which the burst makes an even stream. The rise is by the square root of
//! the pace, not by a share of it, so that of several writers the slow ones catch up with the fast
//! ones; at slow paces that would be far too much, and it is a small share. Where nothing is refused
//! well above what was measured, the capacity has grown, and the rise becomes exponential.
//!
//! What is measured is a *cohort*: the calls sent in some tenth of a second, or in some few calls' time
//! where that is longer, judged when all of them have ended, because a refusal may come back sooner
//! than a success. Cohorts that were sent in part before the pace last changed say nothing about the
//! new pace. Those in which no call was *throttled locally*, made to wait, say nothing about what the table would
//! have taken: a writer of little among writers of much is refused for what they do, and must not be
//! made slow by it.
//!
//! Before anything is measured, and where a table has become much slower, hardly anything is taken. Then
//! the pace is at most what was taken since the first refusal and one call more, in that time: it halves
//! with each refused call, so a fall from 40,000 to 50 a second costs some ten calls.
//!
//! The numbers below were chosen in simulation; `tests/pace/table.rs` holds them to what they promise.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::BATCH;
use super::cohort::{Cohort, CohortId, Scale, Sent};

/// No pace is slower: one call in ten seconds.
const SLOWEST: f64 = 2.5;
/// No pace is faster: more than any writer does.
const FASTEST: f64 = 10_000_000.0;
/// After so long, what a writer knows of the table's capacity is no longer so.
const FORGET: Duration = Duration::from_secs(30);
/// How far below the measured capacity to go on.
const CUT: f64 = 0.03;
/// A cohort of which a part was taken brings the pace down to no less of itself. In a moment in which
/// most is refused, who of several writers gets the rest is chance; this keeps them together.
const STEEPEST: f64 = 0.5;
/// The same where a cohort is a few calls, whose chance is greater. Half of what they say is believed, as
/// a factor.
const STEEPEST_BY_FEW: f64 = 0.75;
/// Where less than so much of what was refused is taken, the pace is not near the capacity.
const HARDLY: f64 = 0.25;
/// A table that has taken no more than this before it refuses is thought to be slow.
const LITTLE: usize = 400;
/// The rise after a cohort: in square roots of the pace, and as a share of it at most.
const RISE: (f64, f64) = (1.0, 0.02);
/// A pace below this rises as this one does, so that of several writers the slow ones catch up.
const LOW: f64 = 50.0;
/// A pace of a few calls a second, at which a measurement that is too low would never be corrected.
const FEW_CALLS: f64 = 200.0;
/// How far above the measured capacity it is believed to have grown.
const BEYOND: f64 = 1.1;
/// The share by which the pace rises then: the first, and the greatest.
const BOOST: (f64, f64) = (0.01, 0.2);

#[derive(Debug)]
pub(super) struct Controller {
    pace: f64,
    /// The pace to begin with.
    start: f64,
    /// What the table took when it last refused.
    measured: f64,
    /// It took enough for that to be more than a bound.
    sure: bool,
    /// What it took before anything was measured.
    before: usize,
    /// It was measured in a short burst.
    rough: bool,
    boost: f64,
    /// Since when the table last began to refuse, and what it has taken from then on.
    taken_since: (Instant, usize),
    /// The first cohort that was sent at this pace from its beginning.
    since: CohortId,
    next_id: CohortId,
    /// Those that are not judged yet; the last is the one that calls join.
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

    /// The table has refused, and what it took is known.
    pub(super) fn has_measured(&self) -> bool {
        self.sure
    }

    fn scale(&self) -> Scale {
        let thought_slow = !self.sure && self.before <= LITTLE;
        let mut scale = Scale::of(self.pace);
        scale.is_slow |= thought_slow;
        scale
    }

    /// How long N items take at this pace.
    pub(super) fn time_for(&self, items: usize) -> Duration {
        Duration::from_secs_f64(items as f64 / self.pace)
    }

    /// Nothing was sent for so long that what is known is no longer so.
    pub(super) fn is_outdated(&self, now: Instant) -> bool {
        now - self.last_sent > FORGET
    }

    /// Begins again, as if nothing were known.
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

    /// A call has ended. None: nobody knows how. Returns whether the pace is far above what the table
    /// takes, so that what comes next has to wait.
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
            // From here on the burst is known to be used up: only now there is something to measure.
            // A pace that was rising fast is far above it, so some of the rise goes back at once.
            if cohort.delayed > 0 && pace > measured * BEYOND {
                let measured = if self.rough { (pace * measured).sqrt() } else { measured };
                // From one empty burst to the next the table took no more than its capacity.
                let alone = scale.is_slow && self.sure && pace < FEW_CALLS;
                let known = if alone { taken.min(pace) } else { 0.0 };
                self.set((pace * STEEPEST).max(measured).max(known));
            }
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
            // Nothing is measured yet, but that it is not more than one call beyond what was taken.
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
            // The pace comes near, so that it holds should there suddenly be more to send.
            self.set(fallen(took / STEEPEST));
            self.since = self.next_id;
        } else if cohort.refused > 0 {
            self.measured = fallen(took);
            self.rough = cohort.was_short();
            self.sure |= cohort.took_enough();
            self.boost = BOOST.0;
            // A moment says roughly where the capacity is; from a little above it, the next cohort
            // tells exactly.
            self.set(self.measured * if self.rough { BEYOND } else { 1.0 - CUT });
            self.since = self.next_id;
        } else if cohort.paced > 0 {
            // By time, not by cohort: those of a slow writer take longer to come together.
            let periods = cohort.length().div_duration_f64(scale.period());
            let (roots, share) = RISE;
            let rise = (roots * self.pace.sqrt()).min(share * self.pace.max(LOW));
            self.set(self.pace + rise * periods);
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
