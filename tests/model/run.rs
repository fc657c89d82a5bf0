//! One history against the real handlers. The seed chooses what happens next: a batch is delivered, a
//! waiting call gets its turn (or is lost), a handler dies, time passes, expired entries are swept, a
//! reader sets out.

use std::cell::RefCell;
use std::task::Poll;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fastrand::Rng;
use shared::Timestamp;
use tests::{World, event, message, soon, unfinished};

use crate::check::{self, Observed};
use crate::gate::{Gate, Task, Turn, Waiting};
use crate::history::{DAY, MINUTE, START, Sent};

/// Handlers at work at once, and readers.
const HANDLERS: usize = 4;
const READERS: usize = 2;
/// How far time goes in a run, beyond its start.
const LONGEST: i64 = 2 * DAY;
/// A message on its fifth receive is given up if a call fails; these never get there.
const MOST_RECEIVES: u32 = 4;

/// Runs a history; what went wrong, if something did.
pub(crate) fn run(seed: u64, history: &[Sent]) -> Result<(), String> {
    // What the retries' jitter draws from.
    fastrand::seed(seed);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let waiting = Waiting::default();
    let world =
        World::behind(|inside| SharedHttpConnector::new(Gate { inside, waiting: waiting.clone() }));
    world.clock.set(Timestamp::from_unix_millis(START));
    let observed = RefCell::new(Observed::default());
    // Unconstrained: what is polled here would otherwise be made to wait for this task's next turn.
    runtime.block_on(tokio::task::unconstrained(async {
        let mut random = Rng::with_seed(seed ^ 0x5EED);
        let haste = random.choice([0, 50, 90]).unwrap();
        let mut run = Run {
            world: &world,
            history,
            observed: &observed,
            waiting: &waiting,
            random,
            haste,
            arriving: arrivals(history),
            handlers: Vec::new(),
            readers: Vec::new(),
        };
        run.until_quiet().await?;
        waiting.open();
        let observed = observed.take();
        check::in_the_end(&world, history, &observed, &mut run.random).await
    }))
}

/// A copy of a command on its way.
#[derive(Clone, Copy)]
struct Delivery {
    index: usize,
    receives: u32,
}

/// The copies, the last to arrive first.
fn arrivals(history: &[Sent]) -> Vec<Delivery> {
    let copies = history.iter().enumerate().flat_map(|(index, sent)| {
        sent.delays.iter().map(move |delay| (sent.number + delay, index))
    });
    let mut copies: Vec<_> = copies.collect();
    copies.sort_unstable_by_key(|copy| std::cmp::Reverse(*copy));
    copies.into_iter().map(|(_, index)| Delivery { index, receives: 1 }).collect()
}

struct Handler<'a> {
    batch: Vec<Delivery>,
    task: Task<'a, SqsBatchResponse>,
}

struct Run<'a> {
    world: &'a World,
    history: &'a [Sent],
    observed: &'a RefCell<Observed>,
    waiting: &'a Waiting,
    random: Rng,
    /// How often the latest call overtakes all others, in a hundred.
    haste: u8,
    arriving: Vec<Delivery>,
    handlers: Vec<Handler<'a>>,
    readers: Vec<Task<'a, Result<(), String>>>,
}

impl Run<'_> {
    async fn until_quiet(&mut self) -> Result<(), String> {
        loop {
            self.go_on()?;
            if self.arriving.is_empty() && self.handlers.is_empty() && self.readers.is_empty() {
                return Ok(());
            }
            match self.random.u8(0..100) {
                0..14 if self.handlers.len() < HANDLERS && !self.arriving.is_empty() => {
                    self.deliver();
                }
                14..18 if self.readers.len() < READERS && !self.arriving.is_empty() => self.read(),
                18 => self.crash(),
                19 => self.let_time_pass(),
                20 => {
                    self.world.engine.sweep(self.world.clock.now()).unwrap();
                }
                _ if self.waiting.any() => self.release(),
                // Nobody waits for an answer, so whoever is at work waits for time to pass.
                _ if !self.handlers.is_empty() || !self.readers.is_empty() => {
                    tokio::time::advance(Duration::from_secs(1)).await;
                }
                _ => {}
            }
        }
    }

    /// Goes on with everybody until all of them wait.
    fn go_on(&mut self) -> Result<(), String> {
        let mut index = 0;
        while index < self.handlers.len() {
            match self.handlers[index].task.go_on() {
                Poll::Pending => index += 1,
                Poll::Ready(response) => {
                    let handler = self.handlers.remove(index);
                    self.settle(handler.batch, &unfinished(&response));
                    // A permit that it held may let another one go on.
                    index = 0;
                }
            }
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

    fn deliver(&mut self) {
        let size = self.random.usize(1..5).min(self.arriving.len());
        let batch = self.arriving.split_off(self.arriving.len() - size);
        let records = batch.iter().enumerate().map(|(place, delivery)| {
            let what = &self.history[delivery.index].what;
            self.observed.borrow_mut().started.take(what);
            message(&place.to_string(), &what.body().to_string(), delivery.receives)
        });
        let event = event(records);
        let world = self.world;
        let task = Task::new(async move { world.writer.handle(event, soon()).await.unwrap() });
        self.handlers.push(Handler { batch, task });
    }

    /// What a handler left undone comes again, at some time; the rest is in effect.
    fn settle(&mut self, batch: Vec<Delivery>, unfinished: &[usize]) {
        for (place, delivery) in batch.into_iter().enumerate() {
            if unfinished.contains(&place) {
                self.redeliver(delivery);
            } else {
                self.observed.borrow_mut().done.take(&self.history[delivery.index].what);
            }
        }
    }

    fn redeliver(&mut self, delivery: Delivery) {
        let receives = (delivery.receives + 1).min(MOST_RECEIVES);
        let place = self.random.usize(0..=self.arriving.len());
        self.arriving.insert(place, Delivery { receives, ..delivery });
    }

    fn crash(&mut self) {
        if self.handlers.is_empty() {
            return;
        }
        let victim = self.random.usize(0..self.handlers.len());
        let handler = self.handlers.remove(victim);
        handler.batch.into_iter().for_each(|delivery| self.redeliver(delivery));
    }

    fn let_time_pass(&mut self) {
        let now = self.world.clock.now().unix_millis();
        let step = self.random.choice([1, 1_000, MINUTE, 3 * 60 * MINUTE, 12 * 60 * MINUTE]);
        let then = (now + step.unwrap()).min(START + LONGEST);
        self.world.clock.set(Timestamp::from_unix_millis(then));
    }

    fn release(&mut self) {
        let turn = match self.random.u8(0..60) {
            0 => Turn::LoseAnswer,
            1 => Turn::LoseRequest,
            _ => Turn::Answer,
        };
        // The latest comer first, more or less often: then the others wait while much happens.
        let n =
            if self.random.u8(0..100) < self.haste { usize::MAX } else { self.random.usize(..) };
        self.waiting.release(n, turn);
    }

    fn read(&mut self) {
        let random = Rng::with_seed(self.random.u64(..));
        self.readers.push(Task::new(check::walk(self.world, self.observed, random)));
    }
}
