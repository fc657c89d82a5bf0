//! Erasure of what is folded from events of a tenant or of one of its customers, and of what the tenant said of them.
//!
//! ```text
//! events      deletes events, and lowers what counts them                [`super::events`]
//! counts      takes out the counts of days whose events are gone for longer, or were in an archive
//! instants    looks up the first and the last event of each name among the customers who are left
//! emptied     empties the views, which keep their marks and expire in three days; deletes blocks and list rows
//! ledger      deletes payloads, rules, scores and alerts                 [`super::tenant`]
//! ```
//!
//! # Why it is exact
//!
//! Each day belongs to one period. While a period takes events, the views count each of its events once, or will when the stream is
//! folded. These counts are lowered by the transactions that delete the events, in whatever order ([`shared::history::summaries::Removal`]).
//! What views count of other days is taken out as it is found: nothing adds to it any more, because a table is sealed an hour after
//! its last put. The customer's view says how much of the count of each name is this customer's, and both are lowered in one
//! transaction. So a run that died is completed by the next one.
//!
//! A view is emptied once it counts nothing, because then nothing of its customer is in the stream. It keeps its marks, so a change
//! that is delivered again is recognised. A change that is delivered for the first time was sent after the erasure. It is counted,
//! and the view stays.
//!
//! An event that its customer's view has [refused](shared::history::refusals) was never counted there, so its removal leaves a negative
//! count for good. When a view still counts something after a minute, the erasure therefore adds up the tenant's events and compares
//! them with the witnesses, which are folded last. If they are equal, no earlier change is left in the stream. If none of these events is
//! the customer's, the counts of the view belong to no event, and the view is emptied, on the condition that it has not changed since it
//! was read, before the events were.
//!
//! A customer's first or last event may also have been the first or last of its name. Then the
//! views of all other customers say which event is that now. The name first forgets its instants,
//! so that whatever comes from then on counts, and then takes the instants of the others. What it
//! counted before is in the views of customers, because the projector folds customers first. A mark
//! in the customer's view says that this has begun.
//!
//! # What bounds it
//!
//! A call reads one customer, or a page of a hundred. The ids of the customers that were found are in memory.

mod names;

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use shared::history::events::{Customer, Event, Period, Tally};
use shared::history::summaries::{
    CustomerView, Day, Days, MOST_NAMES, NamedDays, Removal, RemovalOutcome, SummaryItem,
    SummaryState, SummaryView, keys, start_of,
};
use shared::platform::dynamo::item::{Key, Row, text};
use shared::platform::projection::{View, Write};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry::Backoff;
use shared::platform::values::Timestamp;

use super::events::{ErasedEvents, EventErasure};
use crate::audit::history::summaries::names::{parts_of_witness, sum_of_witness};
use crate::event_scope::EventScope;
use crate::scan::{filtered, partition, scan};
use crate::{Result, progress};

/// How long to try while others write the same view.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long emptied views are kept for their marks.
pub(crate) const EMPTIED_KEPT: Duration = Duration::from_secs(3 * 86_400);
/// Customers that are erased at once.
const AT_ONCE: usize = 8;
/// Rounds in which views are settled. In the first, those are marked whose names lose an instant.
const ROUNDS: usize = 3;

#[derive(Debug, Default, Clone, Copy)]
pub struct ErasedSummaries {
    /// Views of customers.
    pub customers: u64,
    /// Names of events of which none is left.
    pub names: u64,
    /// Views that still count something, which is not folded yet or has come meanwhile.
    pub left: u64,
}

impl ErasedSummaries {
    /// Adds the numbers of a later run. `left` becomes that of the later run.
    pub(super) fn add(&mut self, later: Self) {
        self.customers += later.customers;
        self.names += later.names;
        self.left = later.left;
    }
}

impl ErasedEvents {
    fn is_open(&self, day: Day) -> bool {
        let at = start_of(day);
        let is_within = |period: &Period| period.from() <= at && at < period.to();
        self.open.iter().any(is_within) || self.is_later(at)
    }

    /// True for a period that takes events, or will.
    fn takes(&self, period: Period) -> bool {
        self.open.contains(&period) || self.is_later(period.from())
    }

    /// True after all periods that were examined: a period there was planned meanwhile.
    fn is_later(&self, at: Timestamp) -> bool {
        self.examined_until.is_none_or(|until| until <= at)
    }
}

impl EventErasure {
    /// Takes the events, which are deleted, out of the counts of the views.
    pub(super) async fn uncount(&self, of: &ErasedEvents) -> Result<ErasedSummaries> {
        let mut erased = ErasedSummaries::default();
        let found = self.customers().await?;
        let bar = progress::bar(found.len() as u64, "customers");
        let each = found.iter().map(|customer| self.customer(customer, of));
        let mut each = stream::iter(each).buffer_unordered(AT_ONCE);
        while let Some(is_gone) = each.try_next().await? {
            bar.inc(1);
            *(if is_gone { &mut erased.customers } else { &mut erased.left }) += 1;
        }
        bar.finish_and_clear();
        if self.scope.customer_id.is_none() {
            self.names(of, &mut erased).await?;
            self.witnesses(of, &mut erased).await?;
        }
        Ok(erased)
    }

    /// The customers who have a view, or are listed.
    async fn customers(&self) -> Result<BTreeSet<Customer>> {
        let tenant = &self.scope.tenant_id;
        let query = match self.scope.customer() {
            Some(customer) => partition(SummaryView::Customer(customer).key().pk),
            None => filtered(
                "begins_with(pk, :views) OR pk = :list",
                vec![
                    (":views", text(format!("{}{tenant}#", keys::CUSTOMER))),
                    (":list", text(keys::customers(tenant))),
                ],
            ),
        };
        let mut found = BTreeSet::new();
        scan(self.summaries.table().table(), "views", query, |row| {
            let key = Key::of(row)?;
            if let Some(SummaryView::Customer(customer)) = SummaryView::of_key(&key) {
                let view = View::<CustomerView>::read_from(row)?;
                // It was emptied before.
                found.extend((!view.state.is_nothing() || !view.is_going()).then_some(customer));
            } else if let Some(
                SummaryItem::Days(of) | SummaryItem::Names(of) | SummaryItem::Listed(of),
            ) = SummaryItem::of_key(&key)
            {
                found.insert(of);
            }
            Ok(())
        })
        .await?;
        Ok(found)
    }

    /// Takes the events of a customer out of the views. Returns false if some of them are not folded yet, or have come meanwhile.
    async fn customer(&self, customer: &Customer, of: &ErasedEvents) -> Result<bool> {
        let (deadline, mut backoff) = (Deadline::after(PATIENCE), Backoff::default());
        let mut together = MOST_NAMES;
        loop {
            let (view, counts, blocks) = self.summaries.stored(customer).await?;
            if view.state.is_nothing() && view.is_going() {
                self.delete_blocks(&view.state, blocks).await?;
                return Ok(true);
            }
            let older = older(counts.days(), of, together);
            let tried = if !older.is_empty() {
                let from_names = self.scope.customer_id.is_some();
                let customer = customer.clone();
                let taking = Removal { customer, days: older, from_names, witness: None };
                self.summaries.take(&taking, Vec::new()).await
            } else if !counts.days().is_empty() {
                return Ok(false);
            } else {
                if self.scope.customer_id.is_some()
                    && !self.instants(customer, view.clone(), counts.tallies()).await?
                {
                    backoff.wait(deadline).await?;
                    continue;
                }
                self.empty(customer, view, &blocks).await
            };
            match tried {
                Ok(RemovalOutcome::Done) => backoff.reset(),
                Ok(RemovalOutcome::TooMuch) if together > 1 => together /= 2,
                Ok(RemovalOutcome::TooMuch | RemovalOutcome::Refused) => {
                    backoff.wait(deadline).await?
                }
                Err(failure) if !failure.is_retryable() => return Err(failure),
                Err(_) => backoff.wait(deadline).await?,
            }
        }
    }

    /// Empties the views of customers whose counts belong to no event. (The head of this module has the argument.)
    pub(super) async fn settle(&self, of: &ErasedEvents) -> Result<()> {
        for _ in 0..ROUNDS {
            let mut left = Vec::new();
            for customer in self.customers().await? {
                let (view, counts, blocks) = self.summaries.stored(&customer).await?;
                if !counts.days().is_empty() {
                    left.push((customer, view, counts, blocks));
                }
            }
            if left.is_empty() || !self.is_settled(of).await? {
                return Ok(());
            }
            for (customer, view, counts, blocks) in left {
                let is_later = |day| of.is_later(start_of(day));
                if counts.days().values().flat_map(Days::iter).any(|(day, _)| is_later(day)) {
                    continue;
                }
                if self.scope.customer_id.is_none()
                    || self.instants(&customer, view.clone(), counts.tallies()).await?
                {
                    self.empty(&customer, view, &blocks).await?;
                }
            }
        }
        Ok(())
    }

    /// True if the events of the tenant in open periods are what their witnesses have counted, and none of them is to be erased.
    async fn is_settled(&self, of: &ErasedEvents) -> Result<bool> {
        let tenant_id = self.scope.tenant_id.clone();
        let tenant = EventScope { tenant_id: tenant_id.clone(), customer_id: None };
        for period in &of.open {
            let Some(row) = self.events.periods().row(*period).await? else { return Ok(false) };
            let (mut there, mut is_theirs) = (Tally::default(), false);
            let count = async |rows: Vec<Row<'_>>| {
                for event in rows.iter().filter_map(|row| Event::read(row).ok()) {
                    is_theirs |= self.scope.has(&event.key.customer);
                    there.add(Tally::of_line(&event.line()));
                }
                Ok(())
            };
            tenant.in_table(self.events.tables(), &row, "events", count).await?;
            let parts = parts_of_witness(&self.summaries, &tenant_id, *period).await?;
            if is_theirs || sum_of_witness(&parts) != there {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Empties the view of a customer that counts nothing, or no event that exists.
    async fn empty(
        &self,
        customer: &Customer,
        view: View<CustomerView>,
        blocks: &[Key],
    ) -> Result<RemovalOutcome> {
        let state = view.state.emptied();
        let key = SummaryView::Customer(customer.clone()).key();
        // A bucket of names is read by whoever counts a new one, so none of them may stay.
        let names = blocks
            .iter()
            .filter(|block| matches!(SummaryItem::of_key(block), Some(SummaryItem::Names(_))));
        let mut writes = vec![Write::Delete(keys::listed(customer))];
        writes.extend(names.cloned().map(Write::Delete));
        writes.push(view.with(state).until(self.forget_at()).write(key));
        self.written(writes).await
    }

    /// The life of the view of a customer. Alerts of earlier lives follow from what was erased. If
    /// there is no view, its next life begins too, so that no decision in progress puts more of
    /// them.
    pub(super) async fn life(&self, customer: &Customer) -> Result<u64> {
        let key = SummaryView::Customer(customer.clone()).key();
        loop {
            let views = self.summaries.table();
            let view = views.read(key.clone(), View::<CustomerView>::read_from).await?;
            if view.is_there() {
                return Ok(view.state.life());
            }
            self.empty(customer, view, &[]).await?;
        }
    }

    async fn delete_blocks(&self, state: &CustomerView, blocks: Vec<Key>) -> Result<()> {
        for block in blocks.into_iter().filter(|block| state.is_past_block(&block.sk)) {
            self.summaries.table().table().delete(block.into_item(), None).await?;
        }
        Ok(())
    }

    async fn written(&self, writes: Vec<Write>) -> Result<RemovalOutcome> {
        Ok(match self.summaries.table().write(writes).await? {
            true => RemovalOutcome::Done,
            false => RemovalOutcome::Refused,
        })
    }

    fn forget_at(&self) -> i64 {
        self.clock.now().unix_seconds_after(EMPTIED_KEPT)
    }
}

/// The counts of days that are not in open periods, of some names.
fn older(days: &NamedDays, of: &ErasedEvents, names: usize) -> NamedDays {
    let older =
        days.iter().map(|(name, days)| (name.clone(), days.filtered(|day| !of.is_open(day))));
    older.filter(|(_, days)| !days.is_empty()).take(names).collect()
}
