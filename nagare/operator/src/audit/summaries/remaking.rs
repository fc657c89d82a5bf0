//! Makes wrong views of customers again, from what was counted.

use shared::dynamo::DynamoError;
use shared::dynamo::item::Key;
use shared::events::Customer;
use shared::projection::{View, Write};
use shared::summaries::{CustomerSummary, CustomerView, SummaryState, SummaryView, keys};
use shared::values::CustomerId;

use super::{Audited, Suspect};
use crate::audit::EventsAuditError;
use crate::audit::recount::Counted;
use crate::event_scope::EventScope;

impl Audited<'_> {
    /// Makes wrong views again, once it is known that nothing of theirs is in the stream.
    pub(super) async fn make_again(&mut self, archives: &Counted) -> Result<(), EventsAuditError> {
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
    ) -> Result<bool, EventsAuditError> {
        let (customer, auditor) = (self.of(id), self.auditor);
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
    ) -> Result<bool, DynamoError> {
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
            true => view = view.until(self.auditor.clock.now().unix_millis() / 1000 + 3 * 86_400),
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
