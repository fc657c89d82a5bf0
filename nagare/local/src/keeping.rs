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
use period_keeper::{Keeper, KeeperError, Ticked};
use shared::dynamo::DynamoError;
use shared::events::keeping;
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::values::Timestamp;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tracing::{error, warn};

use super::calendar::Calendar;
use super::data_dir::DataDir;
use super::engine::Engine;
use super::faults::Keepers;
use super::set_clock;

/// How often it ticks.
const INTERVAL: Duration = Duration::from_secs(5);
/// How long a tick may take, as the template sets it.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The pause before work that was not done is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// How long work may be due without any of it being done, before that is an error.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same, before the stack is ready.
const AT_START: Duration = Duration::from_secs(5);

/// The keeper, and the clock by which it keeps periods. Cheap to clone.
#[derive(Clone)]
pub(super) struct Keeping {
    pub(super) keeper: Keeper,
    pub(super) faults: Keepers,
    pub(super) calendar: Calendar,
    pub(super) engine: Engine,
    pub(super) data_dir: Option<DataDir>,
    /// Held while the keeper ticks or the clock is moved.
    pub(super) turn: Arc<Mutex<()>>,
}

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

    /// Moves the clock on to the next step that is due for some period, or to `to` if that is sooner. Does all that is due before that
    /// and then. On the way it stops at each instant at which a day that some tenant wants decided is due; with `to`, it returns after
    /// the first stop. Returns the time. To reach a later instant, call it again.
    ///
    /// # Errors
    /// [`AdvanceError`]
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
        self.catch_up(PATIENCE).await?;
        self.fold_streams().await?;
        let next = self.next_step(clock.now()).await?;
        let Some(goal) = [next, to].into_iter().flatten().min() else { return Ok(clock.now()) };
        loop {
            let day = self.keeper.daily.next_due(clock.now()).await?;
            let at = day.map_or(goal, |day| day.min(goal));
            clock.set(at);
            if let Some(dir) = &self.data_dir {
                set_clock::note(clock, dir);
            }
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
        let due = rows.iter().filter_map(|row| keeping::next(row, &self.keeper.settings, now));
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
