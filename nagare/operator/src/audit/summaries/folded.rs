//! Whether all events that tables hold are in the views.
//!
//! The projector folds the witness of a period last, when everything else is folded. So if a table holds what its witness said
//! before, all of that is in the views of customers and names, and none of it is in the stream. Events that come meanwhile make the
//! two differ. So a tenant whose events never pause for as long as its tables are read is not found folded.
//!
//! A table that takes no more events, and whose stream has nothing left, is folded as far as it ever will be.

use std::collections::BTreeMap;

use shared::dynamo::DynamoError;
use shared::events::{Period, Tally};
use shared::values::TenantId;
use tokio::time::Instant;

use super::names::sum_of_witness;
use super::{PATIENCE, PAUSE, SummariesAuditor};
use crate::event_scope::EventScope;

impl SummariesAuditor {
    /// The tallies of the tables of a tenant whose streams may still bring something, if all of their events are folded.
    pub(super) async fn folded(
        &self,
        tenant: &TenantId,
    ) -> Result<Option<BTreeMap<Period, Tally>>, DynamoError> {
        let scope = EventScope { tenant_id: tenant.clone(), customer_id: None };
        let mut folded = BTreeMap::new();
        for row in self.recount.periods().await? {
            if !row.state.has_table() || self.is_over(row.period) {
                continue;
            }
            let witness = sum_of_witness(&self.witness(tenant, row.period).await?);
            // A table that is gone meanwhile is looked at again.
            if self.recount.tally(&row, &scope).await? != Some(witness) {
                return Ok(None);
            }
            folded.insert(row.period, witness);
        }
        Ok(Some(folded))
    }

    /// True if everything is folded at some moment within [`PATIENCE`].
    pub(super) async fn is_folded_soon(&self, tenant: &TenantId) -> Result<bool, DynamoError> {
        let end = Instant::now() + PATIENCE;
        while self.folded(tenant).await?.is_none() {
            if Instant::now() >= end {
                return Ok(false);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(true)
    }

    /// True if the stream of a period has nothing left to bring.
    pub(super) fn is_over(&self, period: Period) -> bool {
        self.recount.events.settings.stream_over_from(period) <= self.clock.now()
    }
}
