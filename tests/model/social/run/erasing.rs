//! A person who is erased in a run: once all that they sent is in effect, and perhaps before; by several attempts, of which some
//! die or fail.

use std::task::Poll;

use fastrand::Rng;
use serde_json::Value;

use super::Run;
use crate::platform::letters::redrive_all;
use crate::platform::scheduler::Task;
use crate::platform::usage::count;
use crate::social::commands::{Sent, What};
use crate::social::delivery::arrivals;
use crate::social::leaving::{Leaving, postpone, repair};
use crate::social::observed::Observed;

/// Turns per death of an attempt, and the most deaths.
const DIES: u16 = 500;
const DEATHS: u8 = 2;
/// Of how many turns a repair begins in one, and how many there are in a run.
const REPAIRED: u8 = 80;
const REPAIRS: u8 = 40;
/// After so many attempts that failed nothing fails any more.
const FAILURES: u8 = 2;

pub(super) struct Leaver<'a> {
    pub(super) leaving: Leaving,
    /// What names the person and is not in effect yet.
    unfinished: Vec<What>,
    /// What names the person and some handler was given.
    sent: Vec<What>,
    /// What names the person and is sent after the erasure.
    later: Vec<Sent>,
    attempt: Option<Attempt<'a>>,
    pub(super) is_gone: bool,
    /// Whether an attempt may begin before all is in effect.
    is_early: bool,
    has_redriven: bool,
    failures: u8,
    deaths: u8,
    repairs: u8,
}

/// An erasure at work. It is the last one if it began when all was in effect, and ends well.
struct Attempt<'a> {
    is_last: bool,
    task: Task<'a, Result<(), String>>,
}

impl Leaver<'_> {
    pub(super) fn new(leaving: Leaving, history: &[Sent], random: &mut Rng) -> Self {
        let (later, before): (Vec<_>, Vec<_>) =
            history.iter().partition(|sent| leaving.is_later(sent));
        let unfinished = before.iter().filter(|sent| leaving.names(&sent.what));
        Self {
            leaving,
            unfinished: unfinished.map(|sent| sent.what.clone()).collect(),
            sent: Vec::new(),
            later: later.into_iter().cloned().collect(),
            attempt: None,
            is_gone: false,
            is_early: random.u8(0..3) == 0,
            has_redriven: false,
            failures: 0,
            deaths: random.u8(0..=DEATHS),
            repairs: REPAIRS,
        }
    }

    pub(super) fn is_at_work(&self) -> bool {
        self.attempt.is_some()
    }

    /// Whether the last erasure begins no sooner than a command is in effect.
    pub(super) fn waits_for(&self, what: &What) -> bool {
        self.unfinished.contains(what)
    }

    /// Notes that a handler is given a command. What begins beside an erasure may be erased by it.
    pub(super) fn begin(&mut self, what: &What, observed: &mut Observed) {
        if self.is_gone || !self.leaving.names(what) {
            return;
        }
        self.sent.push(what.clone());
        let implied = self.leaving.implied(what).filter(|_| observed.is_erasing);
        implied.iter().for_each(|what| observed.begin(what));
    }

    /// Notes that a client has made a command of an answer.
    pub(super) fn sends(&mut self, body: &Value) {
        let what = What::Feature(body.clone());
        if self.leaving.names(&what) && !self.is_gone {
            self.unfinished.push(what);
        }
    }

    /// Notes that a command is in effect, but for segments of a fan-out.
    pub(super) fn finished(&mut self, what: &What) {
        self.unfinished.retain(|unfinished| unfinished != what);
    }
}

impl Run<'_> {
    /// Goes on with the erasure, if there is one.
    pub(super) fn leave(&mut self) {
        let Some(leaver) = &mut self.leaver else { return };
        if leaver.repairs > 0 && self.random.u8(0..REPAIRED) == 0 {
            leaver.repairs -= 1;
            let random = Rng::with_seed(self.random.u64(..));
            self.operators.push(Task::new(repair(self.world, random)));
        }
        let Some(attempt) = &mut leaver.attempt else {
            let is_due = leaver.unfinished.is_empty() || leaver.is_early;
            if is_due && !leaver.is_gone && self.random.u8(0..20) == 0 {
                self.begin_to_leave();
            }
            return;
        };
        if leaver.deaths > 0 && self.random.u16(0..DIES) == 0 {
            count("erasure: died");
            leaver.deaths -= 1;
            leaver.attempt = None;
            return;
        }
        let Poll::Ready(outcome) = attempt.task.go_on() else { return };
        let is_last = attempt.is_last;
        leaver.attempt = None;
        match outcome {
            Ok(()) if is_last => self.be_gone(),
            Ok(()) => count("erasure: done early"),
            Err(_) => {
                count("erasure: failed");
                leaver.failures += 1;
                if leaver.failures == FAILURES {
                    self.fault_plan.is_mended();
                }
            }
        }
    }

    fn begin_to_leave(&mut self) {
        count("erasure: begun");
        let (world, leaver) = (self.world, self.leaver.as_mut().unwrap());
        let (leaving, is_last) = (leaver.leaving, leaver.unfinished.is_empty());
        leaver.is_early &= is_last;
        leaver.attempt = Some(Attempt { is_last, task: Task::new(leaving.erase(world)) });
        let mut observed = self.observed.borrow_mut();
        let Observed { away, is_erasing, feeds, answers, .. } = &mut *observed;
        (*away, *is_erasing) = (Some(leaving.person), true);
        feeds.retain(|feed| feed.walk.viewer != leaving.person);
        answers.clear();
        for what in leaver.sent.iter().filter_map(|what| leaving.implied(what)) {
            observed.begin(&what);
        }
    }

    fn be_gone(&mut self) {
        count("erasure: done");
        let leaver = self.leaver.as_mut().unwrap();
        leaver.is_gone = true;
        let mut observed = self.observed.borrow_mut();
        for what in leaver.sent.iter().filter_map(|what| leaver.leaving.implied(what)) {
            observed.take_effect(&what);
        }
        if leaver.leaving.comes_back {
            observed.away = None;
        }
        let (now, later) =
            (self.world.clock.now().unix_millis(), std::mem::take(&mut leaver.later));
        let is_later = |sent: &&mut Sent| later.iter().any(|later| later.number == sent.number);
        self.history.iter_mut().filter(is_later).for_each(|sent| postpone(&mut sent.what, now));
        let is_later = |sent: &&Sent| later.iter().any(|later| later.number == sent.number);
        for delivery in arrivals(self.history.iter().filter(is_later)) {
            let index = self.random.usize(0..=self.arriving.len());
            self.arriving.insert(index, delivery);
        }
    }

    /// Whether all is done, now that nothing is on its way. If it is not, goes on to erase the person.
    pub(super) async fn has_left(&mut self) -> bool {
        match &self.leaver {
            Some(leaver) if !leaver.is_gone => {}
            _ => return true,
        }
        let alerters = self.alerters.len();
        self.alert().await;
        let leaver = self.leaver.as_mut().unwrap();
        if self.alerters.len() > alerters {
            return false;
        }
        if !leaver.unfinished.is_empty() && !leaver.has_redriven {
            leaver.has_redriven = true;
            self.operators.push(Task::new(redrive_all(self.world)));
            return false;
        }
        // What is a dead letter is erased with the letter.
        leaver.unfinished.clear();
        self.begin_to_leave();
        false
    }
}
