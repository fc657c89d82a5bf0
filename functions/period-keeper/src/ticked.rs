//! The result of a tick.

use std::fmt::Debug;

use shared::history::events::PeriodRow;
use tracing::{info, warn};

use crate::error::KeeperError;
use crate::steps::outcome::Outcome;

/// How a tick ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticked {
    /// Steps that were done, and days that were decided.
    pub done: u64,
    /// Steps that failed. The next tick tries them again.
    pub failed: u64,
    /// True if something is due that was not done: it failed, waits for AWS, or did not fit the deadline.
    pub more_due: bool,
}

impl Ticked {
    /// Counts the result of a step. Returns the new row of the period, if it goes on.
    pub(crate) fn count(
        &mut self,
        row: &PeriodRow,
        what: &dyn Debug,
        ended: Result<Outcome, KeeperError>,
    ) -> Option<PeriodRow> {
        let period = row.period;
        match ended {
            Ok(Outcome::Moved(moved)) => {
                info!(%period, state = %moved.state, step = ?what, "a period was moved on");
                self.done += 1;
                return Some(moved);
            }
            Ok(Outcome::Unchanged) => {}
            Ok(Outcome::Waiting) => self.more_due = true,
            Err(failure) => {
                self.more_due = true;
                if failure.is_out_of_time() {
                    info!(%period, step = ?what, "the next tick goes on");
                } else {
                    self.failed += 1;
                    warn!(%period, step = ?what, "not done: {failure}");
                }
            }
        }
        None
    }
}
