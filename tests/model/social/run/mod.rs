//! One history against the real handlers. The seed chooses what happens next: a batch is delivered, a
//! waiting call gets its turn (or fails), one handler dies, or all of them do, time passes, expired
//! entries are swept, a reader sets out, dead letters are taken in or redriven.

mod erasing;
mod messages;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fanout_writer::FanOutLimits;
use fastrand::Rng;
use nagare_local::faults::{Faults, Faulty, Rates};
use shared::platform::runtime::hold::Hold;
use shared::platform::values::Timestamp;
use tests::{World, unfinished_ids};

use crate::platform::instants::{DAY, MINUTE, START};
use crate::platform::letters::{redrive_one, until_only_refused_are_left};
use crate::platform::scheduler::{Handler, Scheduler, Task, Waiting, first_ready};
use crate::platform::stream::Stream;
use crate::platform::usage::{count, count_fault};
use crate::social::check;
use crate::social::commands::Sent;
use crate::social::delivery::{Delivery, arrivals};
use crate::social::fault_plan::FaultPlan;
use crate::social::features;
use crate::social::feed;
use crate::social::leaving::Leaving;
use crate::social::observed::Observed;
use crate::social::readers::{KeptReader, Readers};
use crate::social::reference::Reference;
use crate::social::walk;
use erasing::Leaver;

/// Handlers at work at once, and readers, alerters and operators.
const HANDLERS: usize = 4;
const READERS: usize = 2;
const ALERTERS: usize = 2;
const OPERATORS: usize = 1;
/// Deaths in a run. One that comes after a part of the work was handed on doubles a message: where tables are slow, those
/// would multiply faster than they end.
const DEATHS: usize = 400;
/// Turns after which slow tables are slow no more. At their slowest they do not take in half of an invocation what all commands at work
/// write before they are any further, so these would be handed on permanently.
const SLOW_TURNS: u32 = 40_000;
/// How long a reader is at work at most where there are idle viewers: less than readers are ahead of writers there.
const LONGEST_REQUEST: i64 = 2 * MINUTE;
/// How far time goes in a run, beyond its start.
const LONGEST: i64 = 2 * DAY;

/// Runs a history. Returns what went wrong, if something did.
pub(crate) fn run(seed: u64, history: &[Sent]) -> Result<(), String> {
    with(seed, history, None)
}

/// The same, and a person leaves.
pub(crate) fn with(seed: u64, history: &[Sent], leaving: Option<Leaving>) -> Result<(), String> {
    // What the retries' jitter draws from.
    fastrand::seed(seed);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let waiting = Waiting::default();
    let mut random = Rng::with_seed(seed ^ 0x5EED);
    let mut fault_plan = FaultPlan::any(&mut random);
    if leaving.is_some() {
        fault_plan = fault_plan.beside_an_erasure(&mut random);
    }
    let mut slow = None;
    let mut world = runtime.block_on(async {
        World::within(&fault_plan.limits, |inside| {
            let tables = Faulty::new(Faults::default(), inside);
            tables.set_rates(fault_plan.rates());
            slow = Some(tables.clone());
            let (inside, waiting) = (SharedHttpConnector::new(tables), waiting.clone());
            SharedHttpConnector::new(Scheduler { inside, waiting, may_befall: |_, _| true })
        })
    });
    world.clock.set(Timestamp::from_unix_millis(START));
    runtime.block_on(features::events::prepare(&mut world));
    (world.writer.hold, world.reader.hold) = (fault_plan.hold, fault_plan.hold);
    let seal = world.reader.requests.seal.clone().holding(fault_plan.inline);
    (world.reader.requests.seal, world.history_reader.requests.seal) = (seal.clone(), seal);
    (world.writer.idle_viewers, world.reader.idle_viewers) =
        (fault_plan.idle_viewers.clone(), fault_plan.idle_viewers.remembering_nothing());
    if fault_plan.small_segments {
        world.writer.limits =
            FanOutLimits { page: 2, segment: 1, segments: 64, ..world.writer.limits };
    }
    world.writer.limits.repeated = fault_plan.repeated;
    let observed = RefCell::new(Observed::default());
    // Unconstrained: what is polled here would otherwise be made to wait for this task's next turn.
    runtime.block_on(tokio::task::unconstrained(async {
        let mut run = Run::new(&world, history, &observed, &waiting, fault_plan, random);
        run.leaver = leaving.map(|leaving| Leaver::new(leaving, history, &mut run.random));
        run.slow = slow;
        let is_later = |sent: &&Sent| leaving.is_some_and(|leaving| leaving.is_later(sent));
        run.arriving = arrivals(history.iter().filter(|sent| !is_later(sent)));
        run.until_quiet().await?;
        waiting.open();
        run.stream.end(&mut run.random).await?;
        // Now that it is known what there is, part of it is marked.
        let marks = features::mark_in_part(&world).await;
        observed.borrow_mut().sent.extend(marks);
        run.stream.end(&mut run.random).await?;
        let refused = until_only_refused_are_left(&world, std::mem::take(&mut run.letters)).await?;
        // What came back from the dead letters states facts, too.
        run.stream.end(&mut run.random).await?;
        if let Some(leaving) = leaving {
            // Copies may have given up since.
            leaving.erase_letters(&world).await?;
            let has_left_entries = run.fault_plan.idle_viewers.is_on() && run.deaths_of_readers > 0;
            leaving.check_left(&world, has_left_entries)?;
        }
        let mut observed = observed.take();
        // A reader that died while it completed a timeline may have left an entry there that nobody is shown.
        observed.may_have_left = run.fault_plan.idle_viewers.is_on() && run.deaths_of_readers > 0;
        let reference = match leaving {
            Some(leaving) => leaving.reference(&run.history),
            None => Reference::of(&run.history),
        };
        let reference = check::outcome(reference, &run.history, &refused)?;
        check::in_the_end(&world, &run.kept, reference, &observed, &mut run.random).await
    }))
}

/// A reader at work, and what it works on.
struct Reading<'a> {
    by: Rc<KeptReader>,
    since: i64,
    task: Task<'a, Result<(), String>>,
}

struct Run<'a> {
    world: &'a World,
    history: Vec<Sent>,
    observed: &'a RefCell<Observed>,
    waiting: &'a Waiting,
    fault_plan: FaultPlan,
    random: Rng,
    arriving: Vec<Delivery>,
    /// The number of messages taken from the queue of commands.
    taken: usize,
    /// How many messages go on with a command and are not acknowledged: by the message that first carried the
    /// command, or by the activity that is fanned out in segments.
    going_on: HashMap<String, usize>,
    /// How many of these are segments of fan-outs.
    segments: HashMap<String, usize>,
    /// Deliveries that are acknowledged and not yet in effect, because others go on with their command.
    acknowledged: Vec<Delivery>,
    /// What is on the dead-letter queue.
    letters: Vec<SqsMessage>,
    handlers: Vec<Handler<'a, Delivery>>,
    alerters: Vec<Handler<'a, SqsMessage>>,
    kept: Readers,
    readers: Vec<Reading<'a>>,
    operators: Vec<Task<'a, ()>>,
    stream: Stream<'a>,
    leaver: Option<Leaver<'a>>,
    deaths: usize,
    deaths_of_readers: usize,
    turns: u32,
    /// The tables, as slow as they are.
    slow: Option<Faulty>,
}

impl<'a> Run<'a> {
    fn new(
        world: &'a World,
        history: &'a [Sent],
        observed: &'a RefCell<Observed>,
        waiting: &'a Waiting,
        fault_plan: FaultPlan,
        random: Rng,
    ) -> Self {
        Self {
            world,
            history: history.to_vec(),
            observed,
            waiting,
            kept: Readers::new(world, &fault_plan),
            fault_plan,
            random,
            arriving: Vec::new(),
            taken: 0,
            going_on: HashMap::new(),
            segments: HashMap::new(),
            acknowledged: Vec::new(),
            letters: Vec::new(),
            handlers: Vec::new(),
            alerters: Vec::new(),
            readers: Vec::new(),
            operators: Vec::new(),
            stream: Stream::new(world),
            leaver: None,
            deaths: DEATHS,
            deaths_of_readers: 0,
            turns: 0,
            slow: None,
        }
    }

    async fn until_quiet(&mut self) -> Result<(), String> {
        loop {
            self.turns += 1;
            if self.turns == SLOW_TURNS {
                self.slow.iter().for_each(|tables| tables.set_rates(Rates::default()));
            }
            self.go_on().await?;
            self.take_answers();
            self.leave();
            if self.arriving.is_empty() && !self.anybody_at_work() && self.has_left().await {
                return Ok(());
            }
            match self.random.u8(0..200) {
                0..28 if self.handlers.len() < HANDLERS && !self.arriving.is_empty() => {
                    self.deliver();
                }
                28..32 if self.readers_awake() < READERS && !self.arriving.is_empty() => {
                    self.read()
                }
                36..38 if self.deaths > 0 => self.crash(),
                38 if self.deaths > 0 && self.random.u8(0..8) == 0 => self.restart(),
                39..41 => self.let_time_pass(),
                41..43 => {
                    self.world.engine.sweep(self.world.clock.now()).unwrap();
                }
                43..45 if self.alerters.len() < ALERTERS => self.alert().await,
                45 if self.operators.len() < OPERATORS && !self.arriving.is_empty() => {
                    count("dead letters: one sent again");
                    let random = Rng::with_seed(self.random.u64(..));
                    self.operators.push(Task::new(redrive_one(self.world, random)));
                }
                46..48 if self.fault_plan.readers_ahead.len() > 1 => {
                    self.kept.freeze_or_thaw(&mut self.random);
                }
                // A hold may pass while calls wait, so that some pages take longer than one and others do not.
                50..56 => self.stream.happen(&mut self.random),
                48..50 => tokio::time::advance(self.part_of_a_hold()).await,
                _ if self.waiting.any() => {
                    if self.fault_plan.is_far {
                        tokio::time::advance(self.share_of_a_call()).await;
                    }
                    self.release();
                }
                _ if self.nobody_but_frozen_readers() => self.kept.thaw(),
                // Nobody waits for a call, so whoever is at work waits for time to pass.
                // An erasure waits for the projector, but not for long.
                _ if self.leaver.as_ref().is_some_and(Leaver::is_at_work)
                    && self.stream.deliver_all(&mut self.random) => {}
                _ if self.anybody_at_work() => tokio::time::advance(Duration::from_secs(1)).await,
                _ => {}
            }
        }
    }

    fn anybody_at_work(&self) -> bool {
        !self.readers.is_empty() || !self.nobody_but_readers()
    }

    fn nobody_but_readers(&self) -> bool {
        self.handlers.is_empty()
            && self.alerters.is_empty()
            && self.operators.is_empty()
            && !self.stream.is_at_work()
            && !self.leaver.as_ref().is_some_and(Leaver::is_at_work)
    }

    fn nobody_but_frozen_readers(&self) -> bool {
        self.nobody_but_readers() && self.readers_awake() == 0
    }

    fn readers_awake(&self) -> usize {
        self.readers.iter().filter(|reading| !reading.by.is_frozen()).count()
    }

    /// Goes on with everybody until all of them wait.
    async fn go_on(&mut self) -> Result<(), String> {
        while let Some((batch, response)) = first_ready(&mut self.handlers) {
            self.take_sent().await;
            self.finish(batch, &unfinished_ids(&response))?;
        }
        while let Some((batch, response)) = first_ready(&mut self.alerters) {
            let unfinished = unfinished_ids(&response);
            let left = |m: &SqsMessage| unfinished.contains(m.message_id.as_ref().unwrap());
            self.letters.extend(batch.into_iter().filter(left));
        }
        let mut index = 0;
        while index < self.readers.len() {
            let Reading { by, task, .. } = &mut self.readers[index];
            if by.is_frozen() {
                index += 1;
                continue;
            }
            match task.go_on() {
                Poll::Pending => index += 1,
                Poll::Ready(outcome) => {
                    drop(self.readers.remove(index));
                    outcome?;
                }
            }
        }
        self.stream.go_on();
        let operators = self.operators.len();
        self.operators.retain_mut(|operator| operator.go_on().is_pending());
        if self.operators.len() < operators {
            self.take_sent().await;
        }
        Ok(())
    }

    /// One handler dies.
    fn crash(&mut self) {
        self.deaths -= 1;
        let (writers, alerters) = (self.handlers.len(), self.alerters.len());
        match self.random.usize(0..=writers + alerters) {
            n if n < writers => {
                count("crash: of the writer");
                let handler = self.handlers.remove(n);
                handler.batch.into_iter().for_each(|delivery| self.redeliver(delivery));
            }
            n if n < writers + alerters => {
                count("crash: of the alerter");
                self.letters.extend(self.alerters.remove(n - writers).batch);
            }
            _ => {
                count("crash: of a redrive");
                self.operators.clear();
            }
        }
    }

    fn restart(&mut self) {
        count("crash: of everything at once");
        self.deaths -= 1;
        for handler in std::mem::take(&mut self.handlers) {
            handler.batch.into_iter().for_each(|delivery| self.redeliver(delivery));
        }
        self.letters.extend(self.alerters.drain(..).flat_map(|alerter| alerter.batch));
        self.operators.clear();
        self.stream.restart();
        self.deaths_of_readers += self.readers.len();
        self.readers.clear();
        self.kept = Readers::new(self.world, &self.fault_plan);
    }

    fn let_time_pass(&mut self) {
        let now = self.world.clock.now().unix_millis();
        let minutes = self.random.choice([1, 3, 3 * 60, 12 * 60]).unwrap();
        let step = self.random.choice([1, 1_000, minutes * MINUTE, minutes * MINUTE]).unwrap();
        let mut then = (now + step).min(START + LONGEST);
        let oldest = self.readers.iter().map(|reading| reading.since).min();
        if let Some(since) = oldest.filter(|_| self.fault_plan.idle_viewers.is_on()) {
            then = then.min(since + LONGEST_REQUEST).max(now);
        }
        self.world.clock.set(Timestamp::from_unix_millis(then));
        self.kept.keep_time();
    }

    fn part_of_a_hold(&mut self) -> Duration {
        Hold::default().length() * self.random.u32(1..=4) / 3
    }

    /// What passes until the next call is answered, if each that waits takes a little longer than a hold.
    fn share_of_a_call(&self) -> Duration {
        let waiting = u32::try_from(self.waiting.number()).unwrap().max(1);
        Hold::default().length() * 5 / 4 / waiting
    }

    fn release(&mut self) {
        let fault = self.fault_plan.fault(&mut self.random);
        count("calls in all");
        fault.into_iter().for_each(count_fault);
        let latest = self.random.u8(0..100) < self.fault_plan.haste;
        let n = if latest { usize::MAX } else { self.random.usize(..) };
        self.waiting.release(n, fault);
    }

    fn read(&mut self) {
        let Some(by) = self.kept.awake(&mut self.random) else { return };
        let (reader, observed) = (Rc::clone(&by), self.observed);
        let random = Rng::with_seed(self.random.u64(..));
        let task = match self.random.u8(0..6) {
            0 => {
                count("reader: asked another feature");
                Task::new(async move { features::ask(&reader, observed, random).await })
            }
            1..4 => {
                count("reader: walked through a timeline");
                Task::new(async move { walk::walk(&reader, observed, random).await })
            }
            _ => {
                count("reader: polled for what is new");
                Task::new(async move { feed::poll(&reader, observed, random).await })
            }
        };
        let since = self.world.clock.now().unix_millis();
        self.readers.push(Reading { by, since, task });
    }
}
