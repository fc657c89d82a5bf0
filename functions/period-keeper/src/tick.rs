//! A tick: everything that is due and fits the deadline.

use std::time::Duration;

use futures::future::BoxFuture;
use shared::history::events::schedule::Step;
use shared::history::events::{PeriodRow, PeriodState, schedule};
use shared::platform::runtime::deadline::{Deadline, DeadlineExceeded};
use shared::platform::values::Timestamp;
use tracing::error;

use crate::error::KeeperError;
use crate::keeper::Keeper;
use crate::metrics::Tick;
use crate::steps::outcome::Outcome;
use crate::ticked::Ticked;

/// How long a tick tries to set the capacity of one table: everything else waits for that.
const PROVISIONING: Duration = Duration::from_secs(30);

impl Keeper {
    /// Does what is due now and fits the deadline. Failures are logged and counted, and block no other period.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    ///
    /// # Errors
    /// [`KeeperError`]: it is unknown what is due.
    pub fn tick(&self, deadline: Deadline) -> BoxFuture<'_, Result<Ticked, KeeperError>> {
        Box::pin(async move {
            let keeper = self.until(deadline);
            let at_work = keeper.keepers.begin().await?;
            let ticked = keeper.tick_at_work().await;
            // If that fails, erasures wait for this keeper a little longer.
            let _ = keeper.keepers.end(at_work).await;
            ticked
        })
    }

    fn tick_at_work(&self) -> BoxFuture<'_, Result<Ticked, KeeperError>> {
        Box::pin(async move {
            let now = self.clock.now();
            let (mut tick, mut ticked) = (Tick::default(), Ticked::default());
            let mut rows = self.periods.newest_until(|_| false).await?;
            // Before all that takes long: somebody may be waiting for it.
            for row in &mut rows {
                self.provision(row, now, &mut ticked).await;
            }
            self.decide_days(now, &mut tick, &mut ticked).await;
            for period in schedule::planned(&self.settings, now) {
                if rows.iter().any(|row| row.period == period) {
                    continue;
                }
                if let Some(other) = schedule::overlapping(period, &rows) {
                    error!(%period, of = %other.period, "not planned: a period of another length overlaps it");
                    tick.disputed_periods += 1;
                    continue;
                }
                self.periods.plan(period).await?;
                rows.extend(self.periods.row(period).await?);
            }
            rows.sort_by_key(|row| row.period.from());
            for row in rows {
                let row = self.keep(row, now, &mut ticked).await;
                tick.see(&row, &self.settings, now);
            }
            tick.keeper_steps += ticked.done;
            tick.failed_steps += ticked.failed;
            tick.outbound_refused = self.bus.take_refused().into();
            self.metrics.record(&tick, now);
            Ok(ticked)
        })
    }

    /// Has a period's table the capacity that it needs now.
    async fn provision(&self, row: &mut PeriodRow, now: Timestamp, ticked: &mut Ticked) {
        let keeper = self.until(self.deadline().within(PROVISIONING));
        loop {
            let ended = keeper.set_capacity(row, now).await;
            match ticked.count(row, &"set the capacity", ended) {
                Some(moved) => *row = moved,
                None => return,
            }
        }
    }

    /// Does what is due for a period. Returns its new row.
    async fn keep(&self, mut row: PeriodRow, now: Timestamp, ticked: &mut Ticked) -> PeriodRow {
        while let Some(care) = schedule::stream_care(&row) {
            let ended = self.care_for_stream(care, &row).await;
            match ticked.count(&row, &care, ended) {
                Some(moved) => row = moved,
                None => break,
            }
        }
        while let Some(due) = schedule::next(&row, &self.settings, now) {
            if due.at > now {
                break;
            }
            let ended = self.step(due.step, &row).await;
            match ticked.count(&row, &due.step, ended) {
                Some(moved) => row = moved,
                None => break,
            }
        }
        row
    }

    async fn step(&self, step: Step, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        if self.deadline().has_passed() {
            return Err(DeadlineExceeded.into());
        }
        let to = |state| PeriodRow { state, ..row.clone() };
        match step {
            Step::Make => self.make(row).await,
            Step::Begin => self.moved(to(PeriodState::Current)).await,
            Step::End => self.moved(to(PeriodState::Past)).await,
            Step::Seal => self.seal(row).await,
            Step::Archive => self.archive(row).await,
            Step::Verify => self.verify(row).await,
            Step::Drop => self.drop_table(row).await,
            Step::Expire => self.expire(row).await,
        }
    }
}
