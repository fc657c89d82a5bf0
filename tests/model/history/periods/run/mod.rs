//! One history against the functions. The seed chooses what happens next: a message is delivered, a keeper ticks, a waiting call gets its
//! turn or fails, somebody dies, changes are folded, a reader sets out, time passes to where something is due, or just over it.

mod ending;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::task::Poll;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fanout_writer::Writer;
use fastrand::Rng;
use nagare_local::faults::Fault;
use period_keeper::Keeper;
use shared::history::events::{EventSettings, Events, Period};
use shared::platform::runtime::clock::Clock;
use tests::{EVENTS_TABLE_PREFIX, World, event, soon, unfinished_ids};

use super::edge::{Done, Log, Watched, may_befall};
use super::folding::TableStream;
use super::messages::{Delivery, Queue};
use super::plan::{Plan, Sent};
use super::reading;
use super::truth::{APART, Id, Truth, at, period_of_object, row, stored};
use crate::platform::instants::START;
use crate::platform::scheduler::{Scheduler, Task, Waiting};
use crate::platform::usage::{count, count_fault};

/// How many of each work at once.
const WRITERS: usize = 3;
const KEEPERS: usize = 2;
const READERS: usize = 2;
/// No tick lives for longer, and no call of one waits for longer: an invocation has five minutes.
const LONGEST_TICK: i64 = 6 * HOUR;
const HOUR: i64 = 3_600_000;
/// Turns of a run, of which a usual one has some thousands.
const MOST_TURNS: usize = 200_000;

/// Runs a history. Returns what went wrong, if something did.
pub(super) fn run(seed: u64, history: &[Sent]) -> Result<(), String> {
    // What the retries' jitter draws from.
    fastrand::seed(seed);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let (waiting, log, plan) = (Waiting::default(), Log::default(), Plan::of(seed));
    let mut world = runtime.block_on(async {
        World::behind(|inside| {
            let inside = SharedHttpConnector::new(Watched { inside, log: log.clone() });
            SharedHttpConnector::new(Scheduler { inside, waiting: waiting.clone(), may_befall })
        })
    });
    world.history_reader.events = events(&world, plan.settings);
    let truth = RefCell::new(Truth::new(plan.settings));
    runtime.block_on(tokio::task::unconstrained(async {
        let mut run = Run::new(&world, &truth, &plan, history, (&waiting, &log), seed);
        run.until_all_is_sent().await?;
        run.go_to_the_end().await?;
        waiting.open();
        run.check(history).await
    }))
}

/// Events, of which nothing is known yet.
fn events(world: &World, settings: EventSettings) -> Events {
    Events::new(settings, world.writer.events.as_ref().unwrap().tables(), &world.writer.ledger)
}

/// A batch that a writer works on, and which of its events came too late.
struct Writing<'a> {
    batch: Vec<(Delivery, Vec<Id>)>,
    /// It stands still until then: what it has decided to put arrives as late.
    still_until: i64,
    task: Task<'a, SqsBatchResponse>,
}

struct Run<'a> {
    world: &'a World,
    truth: &'a RefCell<Truth>,
    plan: &'a Plan,
    waiting: &'a Waiting,
    log: &'a Log,
    random: Rng,
    boundaries: Vec<i64>,
    queue: Queue,
    writers: Vec<Writer>,
    writing: Vec<Writing<'a>>,
    keepers: Vec<Keeper>,
    /// Ticks, and when each began.
    keeping: Vec<(i64, Task<'a, ()>)>,
    streams: BTreeMap<Period, TableStream<'a>>,
    readers: Vec<Task<'a, Result<(), String>>>,
}

impl<'a> Run<'a> {
    fn new(
        world: &'a World,
        truth: &'a RefCell<Truth>,
        plan: &'a Plan,
        history: &[Sent],
        (waiting, log): (&'a Waiting, &'a Log),
        seed: u64,
    ) -> Self {
        let clock = || Clock::manual(world.clock.now());
        let writer = |_: &i64| Writer {
            clock: clock(),
            events: Some(events(world, plan.settings)),
            ..world.writer.clone()
        };
        let keeper = |(_, limits): &(i64, _)| Keeper {
            clock: clock(),
            limits: *limits,
            settings: plan.settings,
            ..world.keeper.clone()
        };
        let run = Self {
            world,
            truth,
            plan,
            waiting,
            log,
            random: Rng::with_seed(seed ^ 0x5EED),
            boundaries: plan.boundaries(),
            queue: Queue::new(history),
            writers: plan.writers.iter().map(writer).collect(),
            writing: Vec::new(),
            keepers: plan.keepers.iter().map(keeper).collect(),
            keeping: Vec::new(),
            streams: BTreeMap::new(),
            readers: Vec::new(),
        };
        run.set_time(START);
        run
    }

    async fn until_all_is_sent(&mut self) -> Result<(), String> {
        let end = *self.boundaries.last().unwrap();
        for _ in 0..MOST_TURNS {
            self.go_on().await?;
            if self.queue.is_empty() && self.now() >= end {
                return Ok(());
            }
            match self.random.u8(0..200) {
                0..12 if self.writing.len() < WRITERS => self.deliver(),
                12..20 if self.keeping.len() < KEEPERS => self.tick(),
                20..23 if self.readers.len() < READERS => self.read(),
                23..25 => self.die(),
                25 => self.stand_still(),
                26..40 => {
                    let streams = self.streams.len().max(1);
                    let n = self.random.usize(0..streams);
                    let stream = self.streams.values_mut().nth(n);
                    stream.into_iter().for_each(|stream| stream.happen(&mut self.random));
                }
                n if n >= 200 - self.plan.time => self.let_time_pass(),
                _ if self.waiting.any() => self.release(),
                _ if self.anybody_at_work() => tokio::time::advance(Duration::from_secs(1)).await,
                _ => {}
            }
        }
        Err("not all is recorded, however often it is tried".to_owned())
    }

    fn anybody_at_work(&self) -> bool {
        !(self.writing.is_empty() && self.keeping.is_empty() && self.readers.is_empty())
            || self.streams.values().any(TableStream::is_at_work)
    }

    fn now(&self) -> i64 {
        self.world.clock.now().unix_millis()
    }

    fn set_time(&self, now: i64) {
        self.world.clock.set(at(now));
        for (writer, ahead) in self.writers.iter().zip(&self.plan.writers) {
            writer.clock.set(at(now + ahead));
        }
        for (keeper, (ahead, _)) in self.keepers.iter().zip(&self.plan.keepers) {
            keeper.clock.set(at(now + ahead));
        }
    }

    /// Time passes, often just to where something is due.
    fn let_time_pass(&mut self) {
        let now = self.now();
        let next = self.boundaries.iter().copied().find(|it| *it > now);
        let next = next.unwrap_or(now + HOUR);
        let then = match self.random.u8(0..6) {
            0 => now + 1,
            1 => now + self.random.i64(0..HOUR),
            2 => now + self.random.i64(0..12 * HOUR),
            3 => next,
            4 => next - 1,
            _ => next + self.random.i64(0..2 * APART),
        };
        let latest = self.streams.values().map(TableStream::latest).min().unwrap_or(i64::MAX);
        self.set_time(then.min(latest).max(now));
        self.keeping.retain(|(begun, _)| then - begun < LONGEST_TICK);
    }

    fn release(&mut self) {
        let fault = self.fault();
        fault.into_iter().for_each(count_fault);
        let is_latest = self.random.u8(0..100) < self.plan.haste;
        let n = if is_latest { usize::MAX } else { self.random.usize(..) };
        self.waiting.release(n, fault);
    }

    fn fault(&mut self) -> Option<Fault> {
        if self.random.u8(0..100) >= self.plan.faults {
            return None;
        }
        Some(match self.random.u8(0..12) {
            0 => Fault::Throttled,
            1 => Fault::ServerError,
            2 => Fault::LostRequest,
            3..6 => Fault::LostAnswer,
            6 => Fault::CutAnswer,
            7 => Fault::Hang,
            8 => Fault::Denied,
            9 => Fault::LimitExceeded,
            10 => Fault::InUse,
            _ => Fault::Creating,
        })
    }

    fn deliver(&mut self) {
        let (size, start) = (self.random.usize(1..4), self.random.usize(0..64));
        let batch = self.queue.take(self.now(), size, start);
        if batch.is_empty() {
            return;
        }
        count("periods: messages delivered, up to three");
        let writer = self.random.choice(&self.writers).unwrap().clone();
        self.writing.push(self.written_by(writer, batch));
    }

    fn written_by(&self, writer: Writer, batch: Vec<Delivery>) -> Writing<'a> {
        let (truth, now) = (self.truth.borrow(), writer.clock.now());
        let is_late = |id: &Id| self.plan.settings.closes_at(truth.period(id)) <= now;
        let late = |delivery: &Delivery| {
            let ids = delivery.events().into_iter().map(|(id, _)| id);
            ids.filter(is_late).collect()
        };
        let batch: Vec<_> = batch.into_iter().map(|it| (it.clone(), late(&it))).collect();
        let event = event(batch.iter().map(|(delivery, _)| delivery.message()));
        let task = Task::new(async move { writer.handle(event, soon()).await.unwrap() });
        Writing { batch, still_until: 0, task }
    }

    fn tick(&mut self) {
        count("periods: ticks");
        let keeper = self.random.choice(&self.keepers).unwrap().clone();
        let task = Task::new(async move { drop(keeper.tick(soon()).await) });
        self.keeping.push((self.now(), task));
    }

    fn read(&mut self) {
        count("periods: readers");
        let (world, truth) = (self.world, self.truth);
        let random = Rng::with_seed(self.random.u64(..));
        self.readers.push(match self.random.u8(0..4) {
            0 => Task::new(reading::list_archives(world, truth, random)),
            _ => Task::new(reading::walk(world, truth, random)),
        });
    }

    /// Somebody dies between two calls.
    fn die(&mut self) {
        let n = self.random.usize(0..WRITERS + KEEPERS);
        if n < self.writing.len() {
            count("periods: a writer died");
            let dead = self.writing.remove(n);
            dead.batch.into_iter().for_each(|(delivery, _)| self.queue.again(delivery));
        } else if n >= WRITERS && n - WRITERS < self.keeping.len() {
            count("periods: a keeper died");
            drop(self.keeping.remove(n - WRITERS));
        } else if n == 0 {
            // A process that is new knows nothing of periods.
            let writer = self.random.choice(&mut self.writers).unwrap();
            writer.events = Some(events(self.world, self.plan.settings));
        }
    }

    /// A writer stands still for hours or days, wherever it is.
    fn stand_still(&mut self) {
        let (now, longest) =
            (self.now(), self.random.choice([HOUR, 12 * HOUR, 48 * HOUR]).unwrap());
        let until = now + self.random.i64(0..longest);
        if let Some(writing) = self.random.choice(&mut self.writing) {
            count("periods: a writer stood still");
            writing.still_until = until;
        }
    }

    /// Goes on with everybody until all of them wait, and judges what was done.
    async fn go_on(&mut self) -> Result<(), String> {
        let mut finished = Vec::new();
        for index in (0..self.writing.len()).rev() {
            if self.writing[index].still_until > self.now() {
                continue;
            }
            if let Poll::Ready(response) = self.writing[index].task.go_on() {
                finished.push((self.writing.remove(index), response));
            }
        }
        self.keeping.retain_mut(|(_, tick)| tick.go_on().is_pending());
        self.streams.values_mut().for_each(TableStream::go_on);
        self.note()?;
        self.queue.take_sent(self.world, self.truth).await?;
        while let Some((writing, response)) = finished.pop() {
            let others = finished.iter().flat_map(|(other, _)| &other.batch);
            let others = others.map(|(delivery, _)| delivery.clone()).collect();
            self.finish(writing, others, &response)?;
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

    fn finish(
        &mut self,
        writing: Writing<'_>,
        finished: Vec<Delivery>,
        answer: &SqsBatchResponse,
    ) -> Result<(), String> {
        let unfinished = unfinished_ids(answer);
        let (again, done): (Vec<_>, Vec<_>) = writing
            .batch
            .into_iter()
            .partition(|(delivery, _)| unfinished.iter().any(|id| delivery.is(id)));
        again.into_iter().for_each(|(delivery, _)| self.queue.again(delivery));
        let others = self.writing.iter().flat_map(|other| &other.batch);
        let others: Vec<_> = others.map(|(delivery, _)| delivery).chain(&finished).collect();
        let truth = self.truth.borrow();
        done.iter().try_for_each(|it| self.queue.judge(it, &others, &truth))
    }

    /// Notes what calls have done, and lets the bucket change an object that nobody has read back.
    fn note(&mut self) -> Result<(), String> {
        for done in self.log.take() {
            let mut truth = self.truth.borrow_mut();
            if let Done::Put(item) = &done {
                let stream = self.streams.get_mut(&truth.period(&stored(item).0));
                stream.into_iter().for_each(TableStream::changed);
            }
            truth.note(self.world, done.clone())?;
            match done {
                Done::Made(table) => {
                    count("periods: tables made");
                    let period = table.strip_prefix(EVENTS_TABLE_PREFIX).unwrap().parse().unwrap();
                    self.streams.insert(period, TableStream::new(self.world, table));
                }
                Done::Deleted(_) => count("periods: tables dropped"),
                Done::Written(key) if key.ends_with(".gz") => {
                    let period = period_of_object(&key);
                    let is_unread = row(self.world, period)["state"]["S"] == "sealed";
                    if is_unread && self.random.u8(0..100) < self.plan.mangles {
                        count("periods: objects changed by the bucket");
                        truth.mangled.insert(period);
                        self.world.bucket.change(&key, |bytes| bytes[40] ^= 1);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
