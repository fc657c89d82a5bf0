//! Erasures at work. An attempt makes the calls of `nagare forget --tenant`, each of which waits for its turn like any other.

use std::task::Poll;

use nagare_client::tables::Tables;
use nagare_operator::erasure::history::events::EventErasure;
use nagare_operator::erasure::history::tenant;
use nagare_operator::erasure::letters;
use shared::history::events::{EventSettings, Events};
use shared::platform::objects::Objects;
use tests::World;

use super::super::run::{HOUR, Run};
use super::Victim;
use crate::platform::scheduler::Task;
use crate::platform::usage::count;

/// Turns per early attempt, and per attempt that is due.
const EARLY: u16 = 600;
const DUE: u16 = 20;
/// Turns per death of an attempt, and the most deaths.
const DIES: u16 = 400;
const DEATHS: u8 = 2;
/// No attempt takes longer.
const LONGEST: i64 = 3 * HOUR;
/// After so many attempts that failed nothing fails any more.
const FAILURES: u8 = 2;

pub(in super::super) struct Leaver<'a> {
    victim: Victim,
    /// What the operator works with.
    tables: Tables,
    objects: Objects,
    attempt: Option<Attempt<'a>>,
    is_gone: bool,
    /// True if attempts may begin while commands of the victim are on their way.
    is_early: bool,
    deaths: u8,
    failures: u8,
}

/// An erasure at work. It is the last one if no command of the victim was on its way, and it completes.
struct Attempt<'a> {
    is_last: bool,
    begun: i64,
    task: Task<'a, Result<bool, String>>,
}

impl Leaver<'_> {
    pub(in super::super) fn new(
        victim: Victim,
        (tables, objects): (Tables, Objects),
        random: &mut fastrand::Rng,
    ) -> Self {
        let (is_early, deaths) = (random.bool(), random.u8(0..=DEATHS));
        let (attempt, is_gone, failures) = (None, false, 0);
        Self { victim, tables, objects, attempt, is_gone, is_early, deaths, failures }
    }

    pub(in super::super) fn is_at_work(&self) -> bool {
        self.attempt.is_some()
    }

    /// Until when time may pass: no attempt takes longer.
    pub(in super::super) fn latest(&self) -> i64 {
        self.attempt.as_ref().map_or(i64::MAX, |attempt| attempt.begun + LONGEST)
    }
}

impl<'a> Run<'a> {
    /// True once the erasure is done, or if the run has none.
    pub(in super::super) fn is_gone(&self) -> bool {
        self.leaver.as_ref().is_none_or(|leaver| leaver.is_gone)
    }

    /// Goes on with the erasure, if there is one.
    pub(in super::super) fn leave(&mut self) {
        let Some(leaver) = self.leaver.as_mut().filter(|leaver| !leaver.is_gone) else { return };
        let Some(attempt) = &mut leaver.attempt else {
            let (is_early, victim) = (leaver.is_early, leaver.victim);
            let is_due = self.now() >= victim.since && !self.is_on_its_way();
            if is_due && self.random.u16(0..DUE) == 0 || is_early && self.random.u16(0..EARLY) == 0
            {
                self.begin_to_erase();
            }
            return;
        };
        if leaver.deaths > 0 && self.random.u16(0..DIES) == 0 {
            count("tenants: an erasure died");
            leaver.deaths -= 1;
            leaver.attempt = None;
            return;
        }
        let (Poll::Ready(outcome), is_last) = (attempt.task.go_on(), attempt.is_last) else {
            return;
        };
        leaver.attempt = None;
        match outcome {
            Ok(true) if is_last => self.be_gone(),
            Ok(_) => count("tenants: an erasure was done early, or in part"),
            Err(_) => {
                count("tenants: an erasure failed");
                leaver.failures = leaver.failures.saturating_add(1);
                self.is_mended |= leaver.failures == FAILURES;
            }
        }
    }

    /// True if commands of the victim are being sent or worked on, those after the erasure apart.
    fn is_on_its_way(&self) -> bool {
        let Some(leaver) = &self.leaver else { return false };
        let writing = self.writing.iter().flat_map(|writing| writing.batch.iter());
        self.queue.is_on_its_way(&leaver.victim, writing)
    }

    fn begin_to_erase(&mut self) {
        count("tenants: an erasure began");
        let (is_last, begun) = (!self.is_on_its_way(), self.now());
        let (world, settings) = (self.world, self.plan.settings);
        let Some(leaver) = &mut self.leaver else { return };
        let (victim, tables, objects) =
            (leaver.victim, leaver.tables.clone(), leaver.objects.clone());
        let task = Task::new(erase(world, victim, tables, objects, settings));
        leaver.attempt = Some(Attempt { is_last, begun, task });
        let facts = &mut *self.facts.borrow_mut();
        facts.erasing.from.get_or_insert(begun);
        facts.shown.forget(&victim);
    }

    fn be_gone(&mut self) {
        count("tenants: an erasure is done");
        let (now, last) = (self.now(), self.last_record());
        let Some(leaver) = &mut self.leaver else { return };
        leaver.is_gone = true;
        let facts = &mut *self.facts.borrow_mut();
        facts.erasing.gone_at = Some(now);
        facts.shown.forget(&leaver.victim);
        facts.taken.forget(leaver.victim, last);
        facts.announced.forget(&leaver.victim);
        self.queue.send_later_ones(&leaver.victim, now);
    }

    /// The number of the last change in the streams of events.
    fn last_record(&self) -> i64 {
        let last = |table: &String| {
            let records = self.world.engine.stream_of(table, 0, usize::MAX).unwrap();
            records.last().map(|record| record.number)
        };
        self.streams.keys().filter_map(last).max().unwrap_or(0)
    }
}

/// Erases the victim, as the command line does. True if nothing is left for another run. A letter that carries events of others as well
/// is dropped before that run.
async fn erase(
    world: &World,
    victim: Victim,
    tables: Tables,
    objects: Objects,
    settings: EventSettings,
) -> Result<bool, String> {
    let events = Events::new(settings, tables.events.tables(), &tables.ledger);
    let (stored, clock) = ((&tables.ledger, &tables.views), world.clock.clone());
    let erasure = EventErasure::new(victim.scope(), events, stored, objects, clock);
    let erased = tenant::erase(&erasure).await.map_err(|failure| failure.to_string())?;
    let (kept, now) = (&tables.dead_letters, world.clock.now());
    let found = letters::remove_events_of(kept, &erasure.scope, now).await;
    let found = found.map_err(|failure| failure.to_string())?;
    for id in &found.mixed {
        let letter = kept.get(id).await.map_err(|failure| failure.to_string())?;
        if let Some(letter) = letter {
            kept.remove(&letter).await.map_err(|failure| failure.to_string())?;
        }
    }
    Ok(erased.events.waiting.is_empty() && found.mixed.is_empty())
}
