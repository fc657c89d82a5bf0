//! Calls that are judged together.

use std::time::Duration;

use tokio::time::Instant;

use super::BATCH;

/// How long calls join one cohort at least.
const COHORT: Duration = Duration::from_millis(100);
/// How many calls there are in it: at a slow pace and at the fastest.
const CALLS: (u32, u32) = (4, 16);
/// At less than this pace half of them are enough: somebody else has the rest of the table, and whoever
/// waits for four calls that are all taken never comes up to them.
const SLOW: f64 = 30.0;
/// However slow the pace is, it rises as often as this.
const LONGEST: Duration = Duration::from_secs(2);
/// A cohort that has not come together in this many times its length says nothing: hardly anything is
/// sent.
const STALE: u32 = 5;
/// How long refusals have to go on, if most is refused and if some is.
const MOMENTS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(25));
/// Nothing is measured with less than this taken.
const ENOUGH: usize = 2 * BATCH;

/// Names a cohort.
pub(super) type CohortId = u64;

/// How large cohorts are at some pace: a tenth of a second is 160 calls on a fast table, and a fifth of
/// one call on a slow one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) calls: u32,
    refusals: u32,
    pub(super) length: Duration,
    /// A call is a large part of a cohort.
    pub(super) is_slow: bool,
}

impl Scale {
    pub(super) fn of(pace: f64) -> Self {
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

/// How a call came to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// At once.
    AtOnce,
    /// When fewer were in flight.
    WhenRoom,
    /// In its send slot.
    InItsSlot,
    /// Apart from the rest: what the table takes of it counts, and nothing else.
    Apart,
}

#[derive(Debug)]
pub(super) struct Cohort {
    pub(super) id: CohortId,
    begun: Instant,
    pub(super) ended: Option<Instant>,
    pub(super) calls: u32,
    /// Those that had to wait, so that there was more to send.
    pub(super) delayed: u32,
    /// Those that had to wait for the pace.
    pub(super) paced: u32,
    pub(super) open: u32,
    ended_calls: u32,
    /// When each call that has ended was sent, and how many items it brought.
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

    /// A call is sent.
    pub(super) fn send(&mut self, how: Sent) {
        self.open += 1;
        if how != Sent::Apart {
            self.calls += 1;
            self.delayed += u32::from(how != Sent::AtOnce);
            self.paced += u32::from(how == Sent::InItsSlot);
        }
    }

    /// A call that was sent then has ended.
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

    /// Whether it can be judged when all its calls have ended.
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

    /// What may have been taken by now. A refusal may come back sooner than a success, so that calls in
    /// flight count as taken.
    pub(super) fn most_taken(&self) -> usize {
        self.taken + self.open as usize * BATCH
    }

    /// What was taken is enough to measure by.
    pub(super) fn took_enough(&self) -> bool {
        self.taken >= ENOUGH
    }

    /// Less was taken than this part of what was refused.
    pub(super) fn hardly_took(&self, part: f64) -> bool {
        (self.most_taken() as f64) < part * self.refused as f64
    }

    /// It goes on for long enough to say anything.
    pub(super) fn is_short(&self, now: Instant) -> bool {
        now - self.begun >= MOMENTS.0
    }

    /// It was over so soon that it says roughly how much is taken.
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

    /// What the table took, in items a second. From one refusal to another that is all it could.
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
