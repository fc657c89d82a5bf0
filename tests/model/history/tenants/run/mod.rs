//! One history against the functions. The seed chooses what happens next: a message is delivered, a keeper ticks, a waiting call gets its
//! turn or fails, somebody dies, changes are folded, a reader sets out, time passes over days and weeks.

mod ending;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use dlq_alerter::Alerter;
use fanout_writer::Writer;
use fastrand::Rng;
use nagare_local::faults::Fault;
use shared::history::events::{EventSettings, Events};
use shared::platform::values::Timestamp;
use tests::{EVENTS_TABLE_PREFIX, World, event, soon, unfinished_ids};

use super::calendar::millis;
use super::commands::Sent;
use super::erasing::{Leaver, Victim};
use super::facts::{Facts, Tick};
use super::plan::Plan;
use super::queue::{Delivery, Queue};
use super::reading;
use crate::history::periods::edge::{Done, Log, Watched, may_befall};
use crate::history::periods::folding::TableStream;
use crate::platform::instants::{DAY, MINUTE, START};
use crate::platform::scheduler::{Scheduler, Task, Waiting};
use crate::platform::usage::{count, count_fault};

/// How many of each work at once.
const WRITERS: usize = 3;
const READERS: usize = 2;
/// No tick lives for longer: an invocation has five minutes.
const LONGEST_TICK: i64 = 6 * HOUR;
/// Somebody has decided days within this, of the 35 that are caught up.
const LONGEST_UNDECIDED: i64 = 25 * DAY;
pub(super) const HOUR: i64 = 60 * MINUTE;
/// Turns of a run, of which a usual one has some thousands.
const MOST_TURNS: usize = 200_000;

/// Runs a history. Returns what went wrong, if something did.
pub(super) fn run(seed: u64, history: &[Sent]) -> Result<(), String> {
    with(seed, history, None)
}

/// Runs a history with an erasure, if there is a victim.
pub(super) fn with(seed: u64, history: &[Sent], victim: Option<Victim>) -> Result<(), String> {
    // What the retries' jitter draws from.
    fastrand::seed(seed);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let (waiting, log, plan) = (Waiting::default(), Log::default(), Plan::of(seed));
    let mut world = runtime.block_on(async {
        let wrap = |inside| {
            let inside = SharedHttpConnector::new(Watched { inside, log: log.clone() });
            SharedHttpConnector::new(Scheduler { inside, waiting: waiting.clone(), may_befall })
        };
        match victim {
            None => World::within(&plan.limits, wrap),
            Some(victim) if victim.is_telling => {
                World::with_bus_within(&victim.limits(&plan), wrap)
            }
            Some(victim) => World::within(&victim.limits(&plan), wrap),
        }
    });
    world.history_reader.events = events(&world, plan.settings);
    world.writer.events = Some(events(&world, plan.settings));
    world.keeper.settings = plan.settings;
    world.clock.set(Timestamp::from_unix_millis(START));
    let facts = RefCell::default();
    runtime.block_on(tokio::task::unconstrained(async {
        let mut run = Run::new(&world, &facts, &plan, history, (&waiting, &log), seed);
        run.awaits(victim);
        run.until_all_is_sent().await?;
        run.go_to_the_end().await
    }))
}

/// Events, of which nothing is known yet.
fn events(world: &World, settings: EventSettings) -> Events {
    Events::new(settings, world.writer.events.as_ref().unwrap().tables(), &world.writer.ledger)
}

/// A batch that a writer works on.
pub(super) struct Writing<'a> {
    pub(super) batch: Vec<Delivery>,
    task: Task<'a, SqsBatchResponse>,
}

/// A tick at work: which of those that are noted, and whether it has done all.
struct Keeping<'a> {
    nth: usize,
    is_whole: Rc<Cell<bool>>,
    task: Task<'a, ()>,
}

pub(super) struct Run<'a> {
    pub(super) world: &'a World,
    pub(super) facts: &'a RefCell<Facts>,
    pub(super) plan: &'a Plan,
    history: &'a [Sent],
    waiting: &'a Waiting,
    log: &'a Log,
    pub(super) random: Rng,
    pub(super) queue: Queue<'a>,
    writer: Writer,
    pub(super) writing: Vec<Writing<'a>>,
    keeping: Vec<Keeping<'a>>,
    pub(super) streams: BTreeMap<String, TableStream<'a>>,
    readers: Vec<Task<'a, Result<(), String>>>,
    pub(super) leaver: Option<Leaver<'a>>,
    /// Nothing fails any more.
    pub(super) is_mended: bool,
    /// Until when time passes, as soon as it may.
    until: i64,
}

impl<'a> Run<'a> {
    fn new(
        world: &'a World,
        facts: &'a RefCell<Facts>,
        plan: &'a Plan,
        history: &'a [Sent],
        (waiting, log): (&'a Waiting, &'a Log),
        seed: u64,
    ) -> Self {
        Self {
            world,
            facts,
            plan,
            history,
            waiting,
            log,
            random: Rng::with_seed(seed ^ 0x5EED),
            queue: Queue::new(history),
            writer: world.writer.clone(),
            writing: Vec::new(),
            keeping: Vec::new(),
            streams: BTreeMap::new(),
            readers: Vec::new(),
            leaver: None,
            is_mended: false,
            until: START,
        }
    }

    /// Adds the erasure of a victim to this run. Letters are kept until then.
    fn awaits(&mut self, victim: Option<Victim>) {
        let Some(victim) = victim else { return };
        let waiting = self.waiting.clone();
        let operator = self
            .world
            .operator(|inside| SharedHttpConnector::new(Scheduler { inside, waiting, may_befall }));
        self.leaver = Some(Leaver::new(victim, operator, &mut self.random));
        let (tables, _) = self.world.operator(|inside| inside);
        self.queue.leaving = Some(victim);
        self.queue.alerter =
            Some(Alerter { letters: tables.dead_letters, ..self.world.alerter.clone() });
        self.facts.borrow_mut().erasing.victim = Some(victim);
    }

    async fn until_all_is_sent(&mut self) -> Result<(), String> {
        let end = START + self.plan.span;
        for _ in 0..MOST_TURNS {
            self.go_on().await?;
            if self.queue.is_empty() && self.now() >= end && self.is_gone() {
                return Ok(());
            }
            match self.random.u8(0..200) {
                0..14 if self.writing.len() < WRITERS => self.deliver(),
                14..19 if self.keeping.len() < self.plan.keepers => self.tick(),
                19..21 if self.readers.len() < READERS => self.read(),
                21 => self.die(),
                22..46 => self.fold(),
                46..56 => self.let_time_pass(),
                _ if self.waiting.any() => self.release(),
                _ if self.anybody_at_work() => tokio::time::advance(Duration::from_secs(1)).await,
                _ => {}
            }
        }
        Err("not all is in effect, however often it is tried".to_owned())
    }

    fn anybody_at_work(&self) -> bool {
        !(self.writing.is_empty() && self.keeping.is_empty() && self.readers.is_empty())
            || self.streams.values().any(TableStream::is_at_work)
            || self.leaver.as_ref().is_some_and(Leaver::is_at_work)
    }

    pub(super) fn now(&self) -> i64 {
        self.world.clock.now().unix_millis()
    }

    fn set_time(&self, now: i64) {
        self.world.clock.set(Timestamp::from_unix_millis(now));
    }

    /// Time passes, often just to where a day ends or is decided, and mostly when nobody is at work.
    fn let_time_pass(&mut self) {
        let now = self.now();
        if self.until <= now && (!self.anybody_at_work() || self.random.u8(0..16) == 0) {
            let midnight = now - now.rem_euclid(DAY) + DAY;
            self.until = match self.random.u8(0..6) {
                0 => now + self.random.i64(0..HOUR),
                1 => now + self.random.i64(0..12 * HOUR),
                2 => midnight - 1,
                3 => midnight + self.random.i64(0..3) * HOUR,
                4 => midnight + 2 * HOUR + self.random.i64(0..2),
                _ => now + self.random.i64(0..self.plan.span / 8),
            };
        }
        let whole =
            self.facts.borrow().ticks.iter().filter(|it| it.is_whole).map(|it| it.begun).max();
        let latest = self.streams.values().map(TableStream::latest).min().unwrap_or(i64::MAX);
        let latest = latest.min(whole.unwrap_or(START) + LONGEST_UNDECIDED);
        let latest = latest.min(self.leaver.as_ref().map_or(i64::MAX, Leaver::latest));
        self.set_time(self.until.min(latest).max(now));
        self.end_ticks_that_take_too_long();
    }

    fn end_ticks_that_take_too_long(&mut self) {
        let (now, facts) = (self.now(), self.facts);
        self.keeping.retain(|it| {
            let tick = &mut facts.borrow_mut().ticks[it.nth];
            let is_alive = now - tick.begun < LONGEST_TICK;
            if !is_alive {
                tick.ended = now;
            }
            is_alive
        });
    }

    fn release(&mut self) {
        let fault = self.fault();
        fault.into_iter().for_each(count_fault);
        let is_latest = self.random.u8(0..100) < self.plan.haste;
        let n = if is_latest { usize::MAX } else { self.random.usize(..) };
        self.waiting.release(n, fault);
    }

    fn fault(&mut self) -> Option<Fault> {
        if self.is_mended || self.random.u8(0..100) >= self.plan.faults {
            return None;
        }
        Some(match self.random.u8(0..12) {
            0 => Fault::Throttled,
            1 => Fault::ServerError,
            2 => Fault::LostRequest,
            3..7 => Fault::LostAnswer,
            7 => Fault::CutAnswer,
            8 => Fault::Hang,
            9 => Fault::Denied,
            10 => Fault::Leftovers(self.random.usize(0..4)),
            _ => Fault::TableMissing,
        })
    }

    fn deliver(&mut self) {
        let (size, start) = (self.random.usize(1..4), self.random.usize(0..64));
        self.deliver_up_to(size, start);
    }

    fn deliver_up_to(&mut self, size: usize, start: usize) {
        let now = self.now();
        let mut facts = self.facts.borrow_mut();
        let batch = self.queue.take(&mut facts, now, size, start);
        if batch.is_empty() {
            return;
        }
        count("tenants: messages delivered, up to three");
        self.queue.note_reads(&batch, &mut facts);
        let writer = self.writer.clone();
        let event = event(batch.iter().map(Delivery::message));
        let task = Task::new(async move { writer.handle(event, soon()).await.unwrap() });
        self.writing.push(Writing { batch, task });
    }

    fn tick(&mut self) {
        count("tenants: ticks");
        let (keeper, is_whole) = (self.world.keeper.clone(), Rc::new(Cell::new(false)));
        let mut facts = self.facts.borrow_mut();
        let tick = Tick { begun: self.now(), ended: i64::MAX, is_whole: false };
        facts.ticks.push(tick);
        let said = Rc::clone(&is_whole);
        let task = Task::new(async move {
            let ticked = keeper.tick(soon()).await;
            said.set(ticked.is_ok_and(|it| !it.more_due && it.failed == 0));
        });
        self.keeping.push(Keeping { nth: facts.ticks.len() - 1, is_whole, task });
    }

    fn read(&mut self) {
        count("tenants: readers");
        let (world, facts, history) = (self.world, self.facts, self.history);
        let random = Rng::with_seed(self.random.u64(..));
        self.readers.push(Task::new(reading::look(world, facts, history, random)));
    }

    /// The stream of a table with something left goes on.
    fn fold(&mut self) {
        let busy = self.streams.values_mut().filter(|it| it.is_at_work() || it.latest() < i64::MAX);
        let mut busy: Vec<_> = busy.collect();
        if busy.is_empty() {
            busy = self.streams.values_mut().collect();
        }
        if let Some(stream) = self.random.choice(busy) {
            stream.happen(&mut self.random);
        }
    }

    /// Somebody dies between two calls.
    fn die(&mut self) {
        let n = self.random.usize(0..=WRITERS + self.plan.keepers);
        if n < self.writing.len() {
            count("tenants: a writer died");
            let dead = self.writing.remove(n);
            dead.batch.into_iter().for_each(|delivery| self.queue.again(delivery));
        } else if n >= WRITERS && n - WRITERS < self.keeping.len() {
            count("tenants: a keeper died");
            let dead = self.keeping.remove(n - WRITERS);
            self.facts.borrow_mut().ticks[dead.nth].ended = self.now();
        } else {
            // A process that is new knows nothing of periods.
            self.writer.events = Some(events(self.world, self.plan.settings));
        }
    }

    /// Goes on with everybody until all of them wait, and judges what was done. A turn takes a millisecond.
    async fn go_on(&mut self) -> Result<(), String> {
        self.set_time(self.now() + 1);
        let mut finished = Vec::new();
        for index in (0..self.writing.len()).rev() {
            if let Poll::Ready(response) = self.writing[index].task.go_on() {
                finished.push((self.writing.remove(index), response));
            }
        }
        self.streams.values_mut().for_each(TableStream::go_on);
        self.note();
        self.keep();
        self.leave();
        self.hear()?;
        self.queue.take_sent(self.world, self.facts).await?;
        while let Some((writing, response)) = finished.pop() {
            let others: Vec<_> = finished.iter().map(|(other, _)| other).collect();
            self.finish(writing, &others, &response);
        }
        let mut index = 0;
        while index < self.readers.len() {
            match self.readers[index].go_on() {
                Poll::Pending => index += 1,
                Poll::Ready(outcome) => {
                    drop(self.readers.remove(index));
                    outcome?;
                }
            }
        }
        Ok(())
    }

    /// Takes in what the bus was told.
    fn hear(&self) -> Result<(), String> {
        let Facts { announced, erasing, .. } = &mut *self.facts.borrow_mut();
        announced.take(self.world, erasing)
    }

    /// Goes on with ticks, and notes which end.
    fn keep(&mut self) {
        let (now, facts) = (self.now(), self.facts);
        self.keeping.retain_mut(|it| {
            let is_over = it.task.go_on().is_ready();
            if is_over {
                let tick = &mut facts.borrow_mut().ticks[it.nth];
                (tick.ended, tick.is_whole) = (now, it.is_whole.get());
            }
            !is_over
        });
    }

    fn finish(
        &mut self,
        writing: Writing<'_>,
        finished: &[&Writing<'_>],
        answer: &SqsBatchResponse,
    ) {
        let unfinished = unfinished_ids(answer);
        let (again, done): (Vec<_>, Vec<_>) =
            writing.batch.into_iter().partition(|it| unfinished.iter().any(|id| it.is(id)));
        again.into_iter().for_each(|delivery| self.queue.again(delivery));
        let others = self.writing.iter().chain(finished.iter().copied());
        let others: Vec<_> = others.flat_map(|other| &other.batch).collect();
        let (mut facts, now) = (self.facts.borrow_mut(), self.now());
        done.iter().for_each(|it| self.queue.acknowledged(it, &others, &mut facts, now));
    }

    /// Notes which events were taken, delivered to the projector, and worked off.
    fn note(&mut self) {
        let (mut facts, now) = (self.facts.borrow_mut(), self.now());
        for done in self.log.take() {
            match done {
                Done::Made(table) => {
                    drop(self.streams.insert(table.clone(), TableStream::new(self.world, table)))
                }
                Done::Put(item) => {
                    let at = millis(item["sk"]["S"].as_str().unwrap());
                    let period = self.plan.settings.period_of(Timestamp::from_unix_millis(at));
                    let stream = self.streams.get_mut(&format!("{EVENTS_TABLE_PREFIX}{period}"));
                    stream.into_iter().for_each(TableStream::changed);
                    facts.taken.put(&item);
                }
                Done::Deleted(_) => count("tenants: tables dropped"),
                Done::Written(_) | Done::Erased(_) => {}
            }
        }
        for stream in self.streams.values_mut() {
            stream.delivered.drain(..).for_each(|keys| facts.taken.delivered(&keys, now));
            stream.worked_off.drain(..).for_each(|keys| facts.taken.worked_off(&keys, now));
        }
    }
}
