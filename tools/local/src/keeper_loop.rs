//! The keeper of periods in the local stack. It does what EventBridge Scheduler does on AWS, and moves a set clock on.
//!
//! The keeper ticks once before the stack is ready, so that the first event finds its table, and every few seconds from then on. A
//! clock that was [set](Clock::starting_at) can be moved on ([`Keeping::advance`]): to the next step that is due for some period, or
//! to the instant at which a day is decided, if some tenant wants that. It never skips such an instant, and everything that is due is
//! done before it goes on. So a year passes as on a running clock, only faster: every period is made before it begins, and dropped
//! when it is time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join;
use nagare_client::backlog::Backlog;
use nagare_telemetry::numbers::{COMMANDS, Numbers};
use period_keeper::{Keeper, KeeperError, Ticked};
use shared::history::events::schedule;
use shared::history::switch::HistorySwitch;
use shared::platform::dynamo::DynamoError;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::Timestamp;
use tokio::sync::{Mutex, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;
use tracing::{error, warn};

use super::calendar::Calendar;
use super::data_dir::DataDir;
use super::engine::Engine;
use super::faults::Keepers;
use super::set_clock;
use super::sqs::{Queue, QueueError};

/// How often it ticks.
const INTERVAL: Duration = Duration::from_secs(5);
/// How long a tick may take, as the template sets it.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The pause before work that was not done is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// How long work may be due without any of it being done, before that is an error.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a request to move the clock on is waited for: less than the shortest deadline of a
/// call.
const MOMENT: Duration = Duration::from_millis(800);
/// How often messages that come of others are waited for.
const GENERATIONS: usize = 16;
/// In milliseconds.
const SECOND: i64 = 1_000;
/// The same, before the stack is ready.
const AT_START: Duration = Duration::from_secs(5);

/// The keeper, and the clock by which it keeps periods. Cheap to clone.
#[derive(Clone)]
pub(super) struct Keeping {
    pub(super) keeper: Keeper,
    /// If it is off, there are no periods, and the keeper does not run.
    pub(super) history: HistorySwitch,
    /// Commands and dead letters.
    pub(super) queues: [Queue; 2],
    pub(super) numbers: Numbers,
    pub(super) faults: Keepers,
    pub(super) calendar: Calendar,
    pub(super) engine: Engine,
    pub(super) data_dir: Option<DataDir>,
    /// Held while the keeper ticks or the clock is moved.
    pub(super) turn: Arc<Mutex<()>>,
    /// The move of the clock that is under way, or has ended since the last request.
    pub(super) moving: Arc<Mutex<Option<Moving>>>,
}

/// A move of the clock, which goes on if its request ends.
type Moving = JoinHandle<Result<Timestamp, AdvanceError>>;

/// The clock was not moved, or not all is done that is due.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdvanceError {
    #[error(
        "the clock of this stack is the system's, which nobody moves on; start it with `nagare up --clock T`, and it starts at T \
         and can be moved on from there"
    )]
    NotSet,
    #[error("it is {now} in the stack, and time never goes back; name a later instant with --to")]
    Backwards { now: Timestamp },
    #[error("not all is done that is due by {now}: see what the keeper logs, and call it again")]
    NotDone { now: Timestamp },
    #[error(
        "it is {now} in the stack, and not all events are folded into summaries: see what the projector logs, and call it again"
    )]
    NotFolded { now: Timestamp },
    #[error(
        "it is {now} in the stack, and messages are on its queues of which none was done for a minute: see what the functions log, \
         and call it again"
    )]
    NotSettled { now: Timestamp },
    #[error("the queues failed: {}", .0.unredacted())]
    Queues(#[from] QueueError),
    #[error("the move of the clock died: {0}")]
    Died(#[from] JoinError),
    #[error("what is known of periods cannot be read: {0}")]
    Unreadable(#[from] DynamoError),
    #[error("the keeper failed: {0}")]
    Keeper(#[from] KeeperError),
}

impl Keeping {
    /// The clock of the stack.
    pub(super) fn clock(&self) -> &Clock {
        &self.keeper.clock
    }

    /// Does what is due, if that does not take long. If tables or objects fail, the stack starts without it, and the next tick tries
    /// again.
    pub(super) async fn start(&self) {
        let _turn = self.turn.lock().await;
        match tokio::time::timeout(AT_START, self.catch_up(AT_START)).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => warn!("{failure}"),
            Err(_) => warn!("not all that is due of periods was done before the stack was ready"),
        }
    }

    /// Ticks, until `stop` is set.
    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                biased;
                _ = stop.wait_for(|stopping| *stopping) => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            let _turn = self.turn.lock().await;
            tokio::select! {
                biased;
                // As an invocation that dies: the next run goes on.
                _ = stop.wait_for(|stopping| *stopping) => return,
                ticked = self.tick() => if let Err(failure) = ticked {
                    warn!("the keeper failed: {failure}");
                }
            }
        }
    }

    /// [Advances](Self::advance), and returns after a moment: with `None` if the clock still moves,
    /// and a request that `continues` waits for the same move again.
    pub(super) async fn advance_for_a_moment(
        &self,
        to: Option<Timestamp>,
        continues: bool,
    ) -> Option<Result<Timestamp, AdvanceError>> {
        let mut moving = self.moving.lock().await;
        if !continues && moving.as_ref().is_some_and(Moving::is_finished) {
            *moving = None;
        }
        let keeping = self.clone();
        let task =
            moving.get_or_insert_with(|| tokio::spawn(async move { keeping.advance(to).await }));
        let ended = tokio::time::timeout(MOMENT, task).await.ok()?;
        *moving = None;
        Some(ended.unwrap_or_else(|died| Err(died.into())))
    }

    /// Moves the clock on to the next step that is due for some period, or to `to` if that is sooner. Does all that is due before that
    /// and then. On the way it stops at each instant at which a day that some tenant wants decided is due; with `to`, it returns after
    /// the first stop. Returns the time. To reach a later instant, call it again.
    ///
    /// Messages on the queues are done before it moves, and after each stop. It also stops where
    /// delayed messages become visible.
    pub(super) async fn advance(&self, to: Option<Timestamp>) -> Result<Timestamp, AdvanceError> {
        let clock = self.clock();
        if !clock.is_set() {
            return Err(AdvanceError::NotSet);
        }
        let _turn = self.turn.lock().await;
        let now = clock.now();
        if to.is_some_and(|to| to < now) {
            return Err(AdvanceError::Backwards { now });
        }
        self.settle().await?;
        self.catch_up(PATIENCE).await?;
        if self.history.is_on() {
            self.fold_streams().await?;
        }
        let next = self.next_step(clock.now()).await?;
        let Some(goal) = [next, to].into_iter().flatten().min() else { return Ok(clock.now()) };
        loop {
            let day = self.keeper.daily.next_due(clock.now()).await?;
            let stops = [day, self.first_delayed()?];
            let at = stops.into_iter().flatten().fold(goal, Timestamp::min);
            clock.set(at);
            self.queues.iter().for_each(Queue::clock_was_moved);
            if let Some(dir) = &self.data_dir {
                set_clock::note(clock, dir);
            }
            self.settle().await?;
            self.catch_up(PATIENCE).await?;
            if at == goal || to.is_some() {
                break;
            }
        }
        if to.is_none_or(|to| clock.now() >= to) {
            self.sweep().await;
        }
        Ok(clock.now())
    }

    /// Waits until the messages that are on the queues now are done, and those that come of them.
    /// Delayed ones are not due yet. Next to a producer that sends all the time it ends too: it
    /// waits for so many generations of messages.
    async fn settle(&self) -> Result<(), AdvanceError> {
        for _ in 0..GENERATIONS {
            let until = self.queues[0].last()?;
            let (mut least, mut done_at) = (u64::MAX, Instant::now());
            loop {
                let left = self.unfinished(until)?;
                match left {
                    0 => break,
                    left if left < least => (least, done_at) = (left, Instant::now()),
                    _ if done_at.elapsed() >= PATIENCE => {
                        return Err(AdvanceError::NotSettled { now: self.clock().now() });
                    }
                    _ => {}
                }
                tokio::time::sleep(PAUSE).await;
            }
            if self.unfinished(i64::MAX)? == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// How far behind the stack is.
    pub(super) fn backlog(&self) -> Result<Backlog, AdvanceError> {
        let lag = self.engine.stream_lag();
        let lag = lag.map_err(|failure| DynamoError::Unavailable(failure.to_string()))?;
        let processed = COMMANDS.iter().map(|(name, _)| self.numbers.recent(name, None, 1).sum);
        Ok(Backlog {
            oldest_command_seconds: self.queues[0].oldest_age()? as f64 / 1_000.0,
            commands_per_second: processed.sum::<f64>() / 60.0,
            projection_lag_seconds: lag as f64,
        })
    }

    fn unfinished(&self, until: i64) -> Result<u64, QueueError> {
        self.queues.iter().map(|queue| queue.unfinished(until)).sum()
    }

    /// The whole second by which the first delayed message is visible.
    fn first_delayed(&self) -> Result<Option<Timestamp>, QueueError> {
        let first = self.queues[0].first_delayed_at()?;
        let second = |millis: i64| millis.div_euclid(SECOND).saturating_add(1) * SECOND;
        Ok(first.map(|millis| Timestamp::from_unix_millis(second(millis))))
    }

    /// Waits until everything that is in the streams of events now is folded. The views drop their marks of shards by the clock, so the
    /// clock must not be moved on over changes that may be delivered again.
    async fn fold_streams(&self) -> Result<(), AdvanceError> {
        let begun = Instant::now();
        loop {
            let left = self.engine.streams_left();
            match left.map_err(|failure| DynamoError::Unavailable(failure.to_string()))? {
                left if left.is_empty() => return Ok(()),
                _ if begun.elapsed() >= PATIENCE => {
                    return Err(AdvanceError::NotFolded { now: self.clock().now() });
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// The instant of the next step that is not due yet.
    async fn next_step(&self, now: Timestamp) -> Result<Option<Timestamp>, AdvanceError> {
        let rows = self.keeper.periods.newest_until(|_| false).await?;
        let due = rows.iter().filter_map(|row| schedule::next(row, &self.keeper.settings, now));
        Ok(due.map(|due| due.at).filter(|at| *at > now).min())
    }

    /// Ticks until nothing is due that can be done, or until nothing was done for as long as `patience`.
    async fn catch_up(&self, patience: Duration) -> Result<(), AdvanceError> {
        let mut last_done = Instant::now();
        loop {
            let failure = match self.tick().await {
                Ok(Ticked { more_due: false, .. }) => return Ok(()),
                Ok(Ticked { done, .. }) => {
                    if done > 0 {
                        last_done = Instant::now();
                    }
                    AdvanceError::NotDone { now: self.clock().now() }
                }
                Err(failure) => failure.into(),
            };
            if last_done.elapsed() >= patience {
                return Err(failure);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// One tick. If the keeper panics, only this tick fails.
    async fn tick(&self) -> Result<Ticked, KeeperError> {
        if !self.history.is_on() {
            return Ok(Ticked::default());
        }
        AssertUnwindSafe(self.keepers()).catch_unwind().await.unwrap_or_else(|_| {
            error!("the keeper died, and the next tick goes on");
            Ok(Ticked { failed: 1, more_due: true, ..Ticked::default() })
        })
    }

    /// Runs one keeper, or, if that fault is set, two at the same time, one of which may have a wrong clock.
    async fn keepers(&self) -> Result<Ticked, KeeperError> {
        let deadline = Deadline::after(TIMEOUT);
        let Some(off) = self.faults.second_keeper() else {
            return self.keeper.tick(deadline).await;
        };
        let now = self.clock().now().plus_millis(off);
        let other = Keeper { clock: Clock::manual(now), ..self.keeper.clone() };
        let (own, _) = join(self.keeper.tick(deadline), other.tick(deadline)).await;
        own
    }

    /// Drops what has expired meanwhile.
    async fn sweep(&self) {
        let (engine, now) = (self.engine.clone(), self.calendar.expiry());
        let swept = tokio::task::spawn_blocking(move || engine.sweep(now)).await;
        if let Ok(Err(failure)) = swept {
            warn!("expired entries were not dropped: {failure}");
        }
    }
}
