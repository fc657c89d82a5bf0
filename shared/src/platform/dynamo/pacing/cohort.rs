//! Calls that are judged together.

use std::time::Duration;

use tokio::time::Instant;

use super::BATCH;

/// The least time for which calls join one cohort.
const COHORT: Duration = Duration::from_millis(100);
/// The number of calls in a cohort, at a slow pace and at the fastest.
const CALLS: (u32, u32) = (4, 16);
/// Below this pace half of them are enough. Somebody else uses the rest of the table, and a writer that waits for four taken
/// calls would never catch up.
const SLOW: f64 = 30.0;
/// The longest time between two rises, however slow the pace is.
const LONGEST: Duration = Duration::from_secs(2);
/// A cohort that is not complete after this many times its length says nothing: hardly anything is sent.
const STALE: u32 = 5;
/// How long refusals have to last, if most is refused and if some is.
const MOMENTS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(25));
/// The least number of items taken for a measurement.
const ENOUGH: usize = 2 * BATCH;

/// Names a cohort.
pub(super) type CohortId = u64;

/// The size of cohorts at some pace: a tenth of a second is 160 calls on a fast table, and a fifth of a call on a slow one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) calls: u32,
    refusals: u32,
    pub(super) length: Duration,
    /// True if one call is a large part of a cohort.
    pub(super) is_slow: bool,
}

impl Scale {
    pub(super) fn from_pace(pace: f64) -> Self {
        let a_second = pace / BATCH as f64;
        let (fewest, most) = CALLS;
        let fewest = if pace < SLOW { fewest / 2 } else { fewest };
        let calls = ((a_second * COHORT.as_secs_f64()) as u32).clamp(fewest, most);
        let length = COHORT.max(Duration::from_secs_f64(f64::from(calls) / a_second));
        Self { calls, refusals: (calls / 2).max(2), length, is_slow: calls <= CALLS.0 }
    }

    /// How often the pace rises.
    pub(super) fn period(&self) -> Duration {
        self.length.min(LONGEST)
    }
}

/// Why a call was sent when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    AtOnce,
    /// Once fewer were in flight.
    WhenRoom,
    InItsSlot,
    /// Apart from the rest: only what the table takes of it counts.
    Apart,
}

#[derive(Debug)]
pub(super) struct Cohort {
    pub(super) id: CohortId,
    begun: Instant,
    pub(super) ended: Option<Instant>,
    pub(super) calls: u32,
    /// Calls that had to wait, so there was more to send.
    pub(super) delayed: u32,
    /// Calls that had to wait for the pace.
    pub(super) paced: u32,
    pub(super) open: u32,
    ended_calls: u32,
    /// For each call that has ended: when it was sent, and how many of its items were taken.
    taken_of: Vec<(Instant, usize)>,
    last_refused: Option<Instant>,
    /// It began with a refusal.
    pub(super) refusing: bool,
    refusals: u32,
    pub(super) taken: usize,
    pub(super) refused: usize,
}

impl Cohort {
    pub(super) fn new(id: CohortId, begun: Instant) -> Self {
        Self {
            id,
            begun,
            ended: None,
            calls: 0,
            delayed: 0,
            paced: 0,
            open: 0,
            ended_calls: 0,
            taken_of: Vec::new(),
            last_refused: None,
            refusing: false,
            refusals: 0,
            taken: 0,
            refused: 0,
        }
    }

    pub(super) fn send(&mut self, how: Sent) {
        self.open += 1;
        if how != Sent::Apart {
            self.calls += 1;
            self.delayed += u32::from(how != Sent::AtOnce);
            self.paced += u32::from(how == Sent::InItsSlot);
        }
    }

    /// A call that was sent at `sent` has ended.
    pub(super) fn end(&mut self, sent: Instant, apart: bool, taken: usize, refused: usize) {
        self.open -= 1;
        self.ended_calls += u32::from(!apart);
        self.taken += taken;
        self.refused += refused;
        self.refusals += u32::from(refused > 0);
        self.taken_of.push((sent, taken));
        if refused > 0 {
            self.last_refused = self.last_refused.max(Some(sent));
        }
    }

    /// True if it can be judged once all its calls have ended.
    pub(super) fn is_complete(&self, scale: &Scale, now: Instant) -> bool {
        let length = now - self.begun;
        let most = self.refusals * 2 > self.ended_calls;
        let refusing = if most { MOMENTS.0 } else { MOMENTS.1 };
        if !scale.is_slow && self.most_taken() == 0 && self.refusals > 1 {
            return length >= MOMENTS.0;
        }
        let measured = self.refused == 0 || !scale.is_slow || self.took_enough();
        measured
            && ((self.calls >= scale.calls && length >= COHORT)
                || (self.refusals >= scale.refusals && length >= refusing))
    }

    pub(super) fn is_stale(&self, scale: &Scale, now: Instant) -> bool {
        self.calls < scale.calls && now - self.begun > scale.length * STALE
    }

    /// The items that may have been taken. A refusal may return sooner than a success, so calls in flight count as taken.
    pub(super) fn most_taken(&self) -> usize {
        self.taken + self.open as usize * BATCH
    }

    /// True if enough was taken for a measurement.
    pub(super) fn took_enough(&self) -> bool {
        self.taken >= ENOUGH
    }

    /// True if less was taken than this part of what was refused.
    pub(super) fn hardly_took(&self, part: f64) -> bool {
        (self.most_taken() as f64) < part * self.refused as f64
    }

    /// True if it lasts long enough to say anything.
    pub(super) fn is_short(&self, now: Instant) -> bool {
        now - self.begun >= MOMENTS.0
    }

    /// True if it was so short that it only says roughly how much is taken.
    pub(super) fn was_short(&self) -> bool {
        self.length() < MOMENTS.1
    }

    pub(super) fn length(&self) -> Duration {
        self.ended.map_or(COHORT, |ended| ended - self.begun)
    }

    /// Items by now, in items a second.
    pub(super) fn rate_at(&self, now: Instant, items: usize) -> f64 {
        items as f64 / (now - self.begun).as_secs_f64().max(1e-3)
    }

    /// What the table took, in items a second. Between two refusals that is its capacity.
    pub(super) fn took(&self) -> f64 {
        let rate = |items: usize, time: Duration| items as f64 / time.as_secs_f64().max(1e-3);
        let until = self.last_refused.map_or(Duration::ZERO, |last| last - self.begun);
        if self.calls >= CALLS.1 || until * 2 < self.length() {
            return rate(self.taken, self.length());
        }
        let before = self.taken_of.iter().filter(|(sent, _)| Some(*sent) <= self.last_refused);
        rate(before.map(|(_, taken)| taken).sum(), until)
    }
}
