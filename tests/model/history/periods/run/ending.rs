//! The end of a run: nothing fails any more, time passes over all that is due, and what is left is judged.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tests::soon;

use super::{MOST_TURNS, Run};
use crate::history::periods::folding::TableStream;
use crate::history::periods::messages::all_of;
use crate::history::periods::plan::Sent;
use crate::history::periods::reading;
use crate::history::periods::truth::{APART, row};
use crate::platform::scheduler::Task;

/// Ticks until all that is due is done.
const TICKS: usize = 30;

impl Run<'_> {
    /// Nothing fails any more: everybody does what is left, as time passes over what is due.
    pub(super) async fn go_to_the_end(&mut self) -> Result<(), String> {
        // What had taken hours ends before time goes on.
        self.until_nobody_is_at_work().await?;
        let last = *self.boundaries.last().unwrap();
        let (now, after) = (self.now(), last.max(self.now()) + 2 * APART);
        let mut times: Vec<_> = self.boundaries.iter().map(|it| it + 2 * APART).collect();
        times.retain(|it| *it > now);
        times.extend([now, after]);
        times.sort_unstable();
        for time in times {
            self.set_time(time);
            self.do_all_that_is_due().await?;
        }
        Ok(())
    }

    async fn do_all_that_is_due(&mut self) -> Result<(), String> {
        for _ in 0..TICKS {
            let batch = self.queue.take(self.now(), usize::MAX, 0);
            if !batch.is_empty() {
                let writing = self.written_by(self.writers[0].clone(), batch);
                self.writing.push(writing);
            }
            self.streams.values_mut().for_each(TableStream::deliver_all);
            let more_due = Rc::new(Cell::new(true));
            let (keeper, said) = (self.keepers[0].clone(), Rc::clone(&more_due));
            let task = Task::new(async move {
                said.set(!keeper.tick(soon()).await.is_ok_and(|ticked| !ticked.more_due));
            });
            self.keeping.push((self.now(), task));
            self.until_nobody_is_at_work().await?;
            let is_folded = !self.streams.values().any(TableStream::has_left);
            if !more_due.get() && is_folded {
                return Ok(());
            }
        }
        Err("the keeper does not finish".to_owned())
    }

    /// Gives each call its turn.
    async fn until_nobody_is_at_work(&mut self) -> Result<(), String> {
        self.writing.iter_mut().for_each(|writing| writing.still_until = 0);
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

    #[allow(clippy::await_holding_refcell_ref, reason = "nobody is at work any more")]
    pub(super) async fn check(&self, history: &[Sent]) -> Result<(), String> {
        let truth = self.truth.borrow();
        if let Some((id, content)) = all_of(history).find(|(id, it)| !truth.is_decided(id, it)) {
            return Err(format!("{id:?} with {content} is neither taken nor refused"));
        }
        let mut periods: Vec<_> = truth.taken.keys().map(|id| truth.period(id)).collect();
        periods.dedup();
        for period in periods {
            truth.is_whole(self.world, period)?;
            let row = row(self.world, period);
            match row["state"]["S"].as_str() {
                Some("dropped") if truth.dropped.contains(&period) => {}
                Some("disputed") if truth.mangled.contains(&period) => {}
                _ => return Err(format!("{period} is not dropped in the end: {row}")),
            }
        }
        reading::summaries(self.world, &truth).await
    }
}
