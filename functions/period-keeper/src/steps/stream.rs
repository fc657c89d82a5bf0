//! Maps the stream of a period's table to the history projector, compares it with the archive, and unmaps it.
//!
//! The witness of a period is what its stream has brought: the number of events over all tenants, their bytes and the sum of their
//! digests. The projector adds them up, and reads neither the table nor the archive. If the witness equals the archive's tally,
//! everything archived is in the summaries exactly once, and the archive lacks no put.

use aws_sdk_dynamodb::types::TableDescription;
use shared::history::events::schedule::StreamCare;
use shared::history::events::{PeriodRow, PeriodState};
use tracing::info;

use super::outcome::Outcome;
use super::table::describe;
use crate::error::KeeperError;
use crate::keeper::Keeper;

impl Keeper {
    /// Does what a stream needs now.
    pub(crate) async fn care_for_stream(
        &self,
        care: StreamCare,
        row: &PeriodRow,
    ) -> Result<Outcome, KeeperError> {
        if let Some(why) = self.witness_differs(row).await? {
            info!(period = %row.period, "not all is folded yet: {why}");
            return Ok(Outcome::Unchanged);
        }
        if care == StreamCare::Heal {
            let state = PeriodState::Verified;
            let healed = PeriodRow { state, dispute: None, heals: false, ..row.clone() };
            return self.moved(healed).await;
        }
        let table = self.tables.table(row.period);
        // The step that drops tables handles a missing one.
        let Some(found) = describe(&table).await? else { return Ok(Outcome::Unchanged) };
        if !self.unmap(&found).await? {
            return Ok(Outcome::Waiting);
        }
        self.moved(PeriodRow { folded: true, ..row.clone() }).await
    }

    /// Maps the stream of a table, if it is not mapped. Returns false if that is unknown yet.
    pub(crate) async fn map(&self, found: &TableDescription) -> Result<bool, KeeperError> {
        match &found.latest_stream_arn {
            Some(stream) => {
                self.mappings.create(stream, self.deadline()).await.map_err(KeeperError::Lambda)
            }
            None => Ok(false),
        }
    }

    /// Deletes mappings of the stream of a table. Returns false if that has to be tried again.
    pub(crate) async fn unmap(&self, found: &TableDescription) -> Result<bool, KeeperError> {
        match &found.latest_stream_arn {
            Some(stream) => {
                self.mappings.delete(stream, self.deadline()).await.map_err(KeeperError::Lambda)
            }
            None => Ok(true),
        }
    }

    /// The difference between the witness and the archive, if there is one.
    pub(crate) async fn witness_differs(
        &self,
        row: &PeriodRow,
    ) -> Result<Option<String>, KeeperError> {
        let witness = self.summaries.witness(row.period).await?;
        let tally = row.tally.unwrap_or_default();
        Ok((witness != tally).then(|| {
            format!(
                "the archive has {} events with the sum {:032x}, and the stream has brought {} with {:032x}",
                tally.events, tally.sum, witness.events, witness.sum
            )
        }))
    }
}
