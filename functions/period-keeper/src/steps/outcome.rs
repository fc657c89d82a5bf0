//! The result of a step, and the writes of a period's row that it ends with.

use std::fmt::Debug;

use shared::history::events::{PeriodRow, PeriodState};
use tracing::error;

use crate::error::KeeperError;
use crate::keeper::Keeper;

/// The result of a step that did not fail.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum Outcome {
    /// The row has changed: by this step, or by somebody else.
    Moved(PeriodRow),
    /// It continues with the next tick.
    Waiting,
    /// It waits for something else.
    Unchanged,
}

impl Keeper {
    /// Writes a row, or reads the row that somebody else has written meanwhile.
    pub(crate) async fn moved(&self, row: PeriodRow) -> Result<Outcome, KeeperError> {
        if self.periods.replace(&row).await? {
            let version = row.version + 1;
            return Ok(Outcome::Moved(PeriodRow { version, ..row }));
        }
        let now = self.periods.row(row.period).await?;
        Ok(now.map_or(Outcome::Waiting, Outcome::Moved))
    }

    /// Stops everything for a period, until an operator has resolved it.
    pub(crate) async fn dispute(
        &self,
        row: &PeriodRow,
        why: String,
    ) -> Result<Outcome, KeeperError> {
        self.disputed(PeriodRow { dispute: Some(why), heals: false, ..row.clone() }).await
    }

    /// Stops everything for a period, until its stream has brought everything in its archive.
    pub(crate) async fn dispute_until_folded(
        &self,
        row: &PeriodRow,
        why: String,
    ) -> Result<Outcome, KeeperError> {
        self.disputed(PeriodRow { dispute: Some(why), heals: true, ..row.clone() }).await
    }

    async fn disputed(&self, row: PeriodRow) -> Result<Outcome, KeeperError> {
        let disputed = PeriodRow { state: PeriodState::Disputed, ..row };
        let outcome = self.moved(disputed).await?;
        // Not if another keeper was ahead and caused the difference.
        if let Outcome::Moved(PeriodRow { period, dispute: Some(why), .. }) = &outcome {
            error!(%period, "disputed: {why}");
        }
        Ok(outcome)
    }
}
