//! The stream of a period's table: mapped to the projector, compared with the archive, unmapped.
//!
//! What the stream has brought is the witness of the period: the number of its events, over all tenants, their bytes and the sum of their digests, added
//! up by the projector, which has read neither the table nor the archive. Equal to the archive's tally it says that all that was archived is
//! in the summaries, each once, and that nothing was put that the archive lacks.

use aws_sdk_dynamodb::types::TableDescription;
use shared::events::keeping::StreamCare;
use shared::events::{PeriodRow, PeriodState, StreamMapping};
use shared::runtime::deadline::Deadline;
use tracing::info;

use super::Outcome;
use super::table::{describe, strange};
use crate::{Keeper, KeeperError};

impl Keeper {
    /// Does what a stream needs, as far as that can be done now.
    pub(crate) async fn care_for_stream(
        &self,
        care: StreamCare,
        row: &PeriodRow,
        deadline: Deadline,
    ) -> Result<Outcome, KeeperError> {
        if care == StreamCare::Map {
            return self.map_late(row, deadline).await;
        }
        if let Some(why) = self.witness_differs(row, deadline).await? {
            info!(period = %row.period, "not all is folded yet: {why}");
            return Ok(Outcome::Unchanged);
        }
        if care == StreamCare::Heal {
            let state = PeriodState::Verified;
            let healed = PeriodRow { state, dispute: None, heals: false, ..row.clone() };
            return self.moved(healed, deadline).await;
        }
        let table = self.tables.table(row.period);
        // A table that is gone is for the step that drops it.
        let Some(found) = describe(&table, deadline).await? else { return Ok(Outcome::Unchanged) };
        if !self.unmap(&found, deadline).await? {
            return Ok(Outcome::Waiting);
        }
        self.moved(PeriodRow { stream: StreamMapping::Folded, ..row.clone() }, deadline).await
    }

    /// Maps the stream of a table that was made without. It brings what it still has: the last day.
    async fn map_late(&self, row: &PeriodRow, deadline: Deadline) -> Result<Outcome, KeeperError> {
        let found = describe(&self.tables.table(row.period), deadline).await?;
        // Another table, or none, is for the next step to dispute.
        let Some(found) = found.filter(|found| strange(row, found).is_none()) else {
            return Ok(Outcome::Unchanged);
        };
        if !self.map(&found, deadline).await? {
            return Ok(Outcome::Waiting);
        }
        self.moved(PeriodRow { stream: StreamMapping::Mapped, ..row.clone() }, deadline).await
    }

    /// Maps the stream of a table, if it is not mapped. False if that is not known yet.
    pub(crate) async fn map(
        &self,
        found: &TableDescription,
        deadline: Deadline,
    ) -> Result<bool, KeeperError> {
        match &found.latest_stream_arn {
            Some(stream) => Ok(self.mappings.create(stream, deadline).await?),
            None => Ok(false),
        }
    }

    /// Deletes whatever maps the stream of a table. False if that has to be tried again.
    pub(crate) async fn unmap(
        &self,
        found: &TableDescription,
        deadline: Deadline,
    ) -> Result<bool, KeeperError> {
        match &found.latest_stream_arn {
            Some(stream) => Ok(self.mappings.delete(stream, deadline).await?),
            None => Ok(true),
        }
    }

    /// In what the stream has brought something else than the archive holds, if it has.
    pub(crate) async fn witness_differs(
        &self,
        row: &PeriodRow,
        deadline: Deadline,
    ) -> Result<Option<String>, KeeperError> {
        let witness = self.summaries.witness(row.period, deadline).await?;
        let tally = row.tally.unwrap_or_default();
        let never = match row.stream {
            StreamMapping::Missing => ", and was never mapped",
            _ => "",
        };
        Ok((witness != tally).then(|| {
            format!(
                "the archive has {} events with the sum {:032x}, and the stream has brought {} with {:032x}{never}",
                tally.events, tally.sum, witness.events, witness.sum
            )
        }))
    }
}
