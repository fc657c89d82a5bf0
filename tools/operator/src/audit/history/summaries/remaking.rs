//! Makes wrong views of customers again, from what was counted, once all events that tables hold are in the views.
//!
//! The projector folds the witness of a period last, when everything else is folded. So if a table holds what its witness said
//! before, all of that is in the views of customers and names, and none of it is in the stream. Events that come meanwhile make the
//! two differ. So a tenant whose events never pause for as long as its tables are read is not found folded.
//!
//! A table that takes no more events, and whose stream has nothing left, is folded as far as it ever will be.

use std::collections::BTreeMap;

use nagare_client::failure::Failure;
use shared::history::events::{Customer, Period, Tally};
use shared::history::summaries::{CustomerSummary, CustomerView, SummaryState, SummaryView, keys};
use shared::platform::dynamo::item::Key;
use shared::platform::projection::{View, Write};
use shared::platform::values::{CustomerId, TenantId};
use tokio::time::Instant;

use super::names::{parts_of_witness, sum_of_witness};
use super::{Audited, PATIENCE, PAUSE, SummariesAuditor, Suspect};
use crate::Result;
use crate::audit::history::recount::Counted;
use crate::erasure::history::summaries::EMPTIED_KEPT;
use crate::event_scope::EventScope;

impl Audited<'_> {
    /// Makes wrong views again, once it is known that nothing of theirs is in the stream.
    pub(super) async fn make_again(&mut self, archives: &Counted) -> Result<(), Failure> {
        let wrong = std::mem::take(&mut self.wrong);
        if wrong.is_empty() {
            return Ok(());
        }
        let is_folded = self.auditor.is_folded_soon(&self.scope.tenant_id).await?;
        for (id, suspect) in wrong {
            if is_folded && self.is_made_again(&id, &suspect, archives.get(&id)).await? {
                self.found.mended += 1;
            } else {
                self.found.busy.push(format!("customer {id}"));
            }
        }
        Ok(())
    }

    /// Makes the view of a customer again. Returns false if the view or the events have changed since it was known that everything is
    /// folded.
    async fn is_made_again(
        &self,
        id: &CustomerId,
        suspect: &Suspect,
        archived: Option<&CustomerSummary>,
    ) -> Result<bool, Failure> {
        let (customer, auditor) = (self.customer(id), self.auditor);
        let (view, stored, blocks) = auditor.summaries.stored(&customer).await?;
        let counted = auditor.recount.in_tables(&self.scope_of(id)).await?.tables.remove(id);
        let counts = self.expected(&stored, counted.unwrap_or_default(), archived);
        let is_same = view.version() == suspect.version && counts == suspect.counts;
        Ok(is_same && self.rebuild(&customer, view, &counts, blocks).await?)
    }

    pub(super) fn scope_of(&self, id: &CustomerId) -> EventScope {
        EventScope { customer_id: Some(id.clone()), ..self.scope.clone() }
    }

    /// False if somebody else has written the view.
    async fn rebuild(
        &self,
        customer: &Customer,
        view: View<CustomerView>,
        counts: &CustomerSummary,
        blocks: Vec<Key>,
    ) -> Result<bool> {
        let (views, key) =
            (self.auditor.summaries.table(), SummaryView::Customer(customer.clone()).key());
        let limits = views.table().limits();
        let rebuilt = view.state.clone().within(limits).rebuilt(counts);
        // More names than a view takes are dead letters, and stay so.
        let Ok(mut state) = rebuilt else { return Ok(false) };
        let is_nothing = state.is_nothing();
        let mut beside = match is_nothing {
            true => vec![Write::Delete(keys::listed(customer))],
            false => state.side_writes(&key, true),
        };
        let is_written = |block: &Key| {
            beside.iter().any(|write| matches!(write, Write::Put(item) if item.get("sk").and_then(|sk| sk.as_s().ok()) == Some(&block.sk)))
        };
        let old: Vec<_> = blocks.into_iter().filter(|block| !is_written(block)).collect();
        let (names, days) = old.into_iter().partition::<Vec<_>, _>(|block| !state.is_days(block));
        beside.extend(names.into_iter().map(Write::Delete));
        let mut view = view.with(state);
        match is_nothing {
            true => view = view.until(self.auditor.clock.now().unix_seconds_after(EMPTIED_KEPT)),
            false => view.stay(),
        }
        beside.push(view.write(key));
        if !views.write(beside).await? {
            return Ok(false);
        }
        for block in days {
            views.table().delete(block.into_item(), None).await?;
        }
        Ok(true)
    }
}

impl SummariesAuditor {
    /// The tallies of the tables of a tenant whose streams may still bring something, if all of their events are folded.
    pub(super) async fn folded(
        &self,
        tenant: &TenantId,
    ) -> Result<Option<BTreeMap<Period, Tally>>> {
        let scope = EventScope { tenant_id: tenant.clone(), customer_id: None };
        let mut folded = BTreeMap::new();
        for row in self.recount.periods().await? {
            if !row.state.has_table() || self.is_over(row.period) {
                continue;
            }
            let witness =
                sum_of_witness(&parts_of_witness(&self.summaries, tenant, row.period).await?);
            // A table that is gone meanwhile is looked at again.
            if self.recount.tally(&row, &scope).await? != Some(witness) {
                return Ok(None);
            }
            folded.insert(row.period, witness);
        }
        Ok(Some(folded))
    }

    /// True if everything is folded at some moment within [`PATIENCE`].
    pub(super) async fn is_folded_soon(&self, tenant: &TenantId) -> Result<bool> {
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
