//! The end of a run. Calls no longer fail, all remaining work is done, and every answer is checked. Then periods close, are archived and
//! dropped, and every answer is checked again.

use std::time::Duration;

use serde_json::json;

use super::super::check;
use super::{DAY, HOUR, LONGEST_UNDECIDED, MOST_TURNS, Run};
use crate::history::periods::folding::TableStream;

/// The most ticks until all that is due is done.
const TICKS: usize = 40;
/// The longest time that a run waits for tables to be dropped.
const LONGEST: i64 = 120 * DAY;

impl Run<'_> {
    pub(super) async fn go_to_the_end(&mut self) -> Result<(), String> {
        self.until_nobody_is_at_work().await?;
        self.waiting.open();
        self.do_all_that_is_due().await?;
        self.check_left()?;
        check::at_rest(self.world, self.facts, self.history, &mut self.random).await?;
        for _ in 0..2 {
            let now = self.now();
            self.set_time(now - now.rem_euclid(DAY) + DAY + 2 * HOUR + 1);
            self.do_all_that_is_due().await?;
        }
        let settings = self.plan.settings;
        let dropped = settings.dropped_from(settings.period_of(self.world.clock.now()));
        let end = dropped.unix_millis() + HOUR;
        while self.now() < end && end - self.now() < LONGEST {
            self.set_time(end.min(self.now() + LONGEST_UNDECIDED));
            self.do_all_that_is_due().await?;
        }
        self.check_left()?;
        check::at_rest(self.world, self.facts, self.history, &mut self.random).await
    }

    fn check_left(&self) -> Result<(), String> {
        let is_there = |table: &&String| {
            let describe = json!({"TableName": table}).to_string();
            self.world.engine.call("DescribeTable", describe.as_bytes()).0 == 200
        };
        let tables: Vec<_> = self.streams.keys().filter(is_there).cloned().collect();
        self.facts.borrow().erasing.check_left(self.world, &tables)
    }

    async fn do_all_that_is_due(&mut self) -> Result<(), String> {
        for _ in 0..TICKS {
            self.deliver_up_to(usize::MAX, 0);
            self.streams.values_mut().for_each(TableStream::deliver_all);
            self.until_nobody_is_at_work().await?;
            let is_folded = !self.streams.values().any(TableStream::has_left);
            self.tick();
            self.until_nobody_is_at_work().await?;
            let is_whole = self.facts.borrow().ticks.last().is_some_and(|it| it.is_whole);
            if is_whole && is_folded && !self.queue.has_due(self.now()) {
                return Ok(());
            }
        }
        Err("the keeper does not finish".to_owned())
    }

    /// Lets waiting calls run one by one, and time pass, until no task is left.
    async fn until_nobody_is_at_work(&mut self) -> Result<(), String> {
        for _ in 0..MOST_TURNS {
            self.go_on().await?;
            match self.waiting.any() {
                true => self.waiting.release(0, None),
                false if !self.anybody_at_work() => return Ok(()),
                false => tokio::time::advance(Duration::from_secs(1)).await,
            }
        }
        Err("a task does not finish".to_owned())
    }
}
