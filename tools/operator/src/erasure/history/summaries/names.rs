//! Names and witnesses of a tenant: sums of parts, which all customers are in.

use std::collections::{BTreeMap, BTreeSet};

use shared::history::events::{Customer, Period};
use shared::history::summaries::{
    CustomerView, NameTally, NameView, PARTS, RemovalOutcome, SummaryState, SummaryView,
    WitnessView, keys,
};
use shared::platform::dynamo::item::{Key, text};
use shared::platform::projection::View;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry::Backoff;
use shared::platform::values::{EventName, TenantId};

use super::super::events::{ErasedEvents, EventErasure};
use super::{ErasedSummaries, PATIENCE};
use crate::audit::history::summaries::names::{parts_of_witness, sum_of_names, sum_of_witness};
use crate::scan::{filtered, partition, scan};
use crate::{Result, progress};

const PAGE: usize = 100;

impl EventErasure {
    /// Makes each name of a customer say the first and the last event of the customers who are left. Returns false if the view of the
    /// customer has changed.
    pub(super) async fn instants(
        &self,
        customer: &Customer,
        mut view: View<CustomerView>,
        of: &BTreeMap<EventName, NameTally>,
    ) -> Result<bool> {
        let mut stale = BTreeSet::new();
        for (name, theirs) in of {
            let tenant = &customer.tenant_id;
            let parts = self.summaries.parts_of_name(tenant, name).await?;
            let all = NameTally::sum(parts.iter().filter_map(|(_, part)| part.state.tally));
            let Some(all) = all.filter(|all| all.count > 0) else {
                self.name_changed(tenant, name, |_| {}).await?;
                continue;
            };
            let is_theirs = theirs.first_at <= all.first_at || theirs.last_at >= all.last_at;
            if is_theirs || view.state.is_leaving {
                stale.insert(name.clone());
            }
        }
        if stale.is_empty() {
            return Ok(true);
        }
        if !view.state.is_leaving {
            view.state.is_leaving = true;
            let key = SummaryView::Customer(customer.clone()).key();
            self.written(vec![view.write(key)]).await?;
            // It is read again, with its version.
            return Ok(false);
        }
        self.relearn(customer, &stale).await?;
        Ok(true)
    }

    /// Makes names forget their first and last instants, and then takes these from all customers
    /// but one. An event that a name counted before is in its customer's view, because customers
    /// are folded first. One that it counts later brings its instant along.
    async fn relearn(&self, but: &Customer, names: &BTreeSet<EventName>) -> Result<()> {
        let tenant = &but.tenant_id;
        for name in names {
            self.name_changed(tenant, name, NameView::forget_instants).await?;
        }
        let (mut known, mut after) = (BTreeMap::<EventName, NameTally>::new(), None);
        let bar = progress::counter("customers");
        loop {
            let page = self.summaries.customers(tenant, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.customer.customer_id.clone());
            bar.inc(page.len() as u64);
            for on in page.iter().filter(|on| on.customer != *but) {
                for (name, tally) in on.summary.names().filter(|(name, _)| names.contains(*name)) {
                    let sum = known.get(name).copied();
                    let sum = NameTally::sum(sum.into_iter().chain([tally]));
                    known.extend(sum.map(|sum| (name.clone(), sum)));
                }
            }
        }
        bar.finish_and_clear();
        for (name, tally) in known {
            self.name_changed(tenant, &name, |part| part.learn_instants(tally)).await?;
        }
        Ok(())
    }

    /// Changes all parts of a name that count something. A part that counts no event any more is emptied.
    async fn name_changed(
        &self,
        tenant: &TenantId,
        name: &EventName,
        change: impl Fn(&mut NameView),
    ) -> Result<()> {
        let (deadline, mut backoff) = (Deadline::after(PATIENCE), Backoff::default());
        loop {
            let parts = self.summaries.parts_of_name(tenant, name).await?;
            let there = parts.into_iter().filter(|(_, part)| part.is_there());
            let there: Vec<_> = there.collect();
            let is_gone = sum_of_names(&there).is_nothing();
            if is_gone && there.iter().all(|(_, part)| part.is_going()) {
                return Ok(());
            }
            let writes = there.into_iter().map(|(key, mut part)| match is_gone {
                true => part.with(NameView::default()).until(self.forget_at()).write(key),
                false => {
                    change(&mut part.state);
                    part.write(key)
                }
            });
            match self.written(writes.collect()).await {
                Ok(RemovalOutcome::Done) => return Ok(()),
                Err(failure) if !failure.is_retryable() => return Err(failure),
                Ok(_) | Err(_) => backoff.wait(deadline).await?,
            }
        }
    }

    /// Makes the names of a tenant count only what is in open periods.
    pub(super) async fn names(
        &self,
        of: &ErasedEvents,
        erased: &mut ErasedSummaries,
    ) -> Result<()> {
        let mut found = BTreeSet::new();
        for part in 0..PARTS {
            let query = partition(keys::names(&self.scope.tenant_id, &part));
            scan(self.summaries.table().table(), "names", query, |row| {
                let view = View::<NameView>::read_from(row)?;
                if !view.is_going() {
                    found.insert(row.parsed::<EventName>("sk", "the name of an event")?);
                }
                Ok(())
            })
            .await?;
        }
        for name in found {
            let tenant = &self.scope.tenant_id;
            self.name_changed(tenant, &name, |part| part.retain(|day| of.is_open(day))).await?;
            // It may count nothing now.
            self.name_changed(tenant, &name, |_| {}).await?;
            let parts = self.summaries.parts_of_name(tenant, &name).await?;
            let is_gone = parts.iter().all(|(_, part)| part.state.is_nothing());
            *(if is_gone { &mut erased.names } else { &mut erased.left }) += 1;
        }
        Ok(())
    }

    /// Empties the witnesses of a tenant that count nothing, or what is gone.
    pub(super) async fn witnesses(
        &self,
        of: &ErasedEvents,
        erased: &mut ErasedSummaries,
    ) -> Result<()> {
        let tenant = &self.scope.tenant_id;
        let query = filtered(
            "begins_with(pk, :witness) AND sk = :tenant",
            vec![(":witness", text(keys::WITNESS)), (":tenant", text(tenant.to_string()))],
        );
        let mut periods = BTreeSet::new();
        scan(self.summaries.table().table(), "views", query, |row| {
            let view = View::<WitnessView>::read_from(row)?;
            if let Some(SummaryView::Witness(period, ..)) = SummaryView::of_key(&Key::of(row)?)
                && !view.is_going()
            {
                periods.insert(period);
            }
            Ok(())
        })
        .await?;
        for period in periods {
            if !of.waiting.contains(&period) && !self.witness(period, of).await? {
                erased.left += 1;
            }
        }
        Ok(())
    }

    /// False if a period that takes events has some that are not lowered yet.
    async fn witness(&self, period: Period, of: &ErasedEvents) -> Result<bool> {
        let (deadline, mut backoff) = (Deadline::after(PATIENCE), Backoff::default());
        loop {
            let parts = parts_of_witness(&self.summaries, &self.scope.tenant_id, period).await?;
            let sum = WitnessView { tally: sum_of_witness(&parts) };
            if !sum.is_nothing() && of.takes(period) {
                return Ok(false);
            }
            let there = parts.into_iter().filter(|(_, part)| part.is_there());
            let writes = there.map(|(key, part)| {
                part.with(WitnessView::default()).until(self.forget_at()).write(key)
            });
            match self.written(writes.collect()).await {
                Ok(RemovalOutcome::Done) => return Ok(true),
                Err(failure) if !failure.is_retryable() => return Err(failure),
                Ok(_) | Err(_) => backoff.wait(deadline).await?,
            }
        }
    }
}
