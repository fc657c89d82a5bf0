//! Removes events from views when they are erased.
//!
//! # Why that is exact while events come in
//!
//! A removal *adds* negative counts to a view, modulo 2^64, in the same transaction that deletes the events or removes their counts from
//! another view. So a view is always the sum of all folded and all removed events, each once, and addition is commutative:
//!
//! * *After a crash* a transaction was done completely or not at all. The next attempt finds the rest: an event in its table, or a count
//!   in the customer's view.
//! * *An event that is still in the stream*, put and not folded, is removed before it is counted. Its count is negative until it is
//!   folded, which happens once, by the marks: then the sum is right. Readers are not shown negative counts.
//! * *Events of others* are folded meanwhile into the same views. Each write is conditional on the version that was read, and marks stay.
//! * *Events that are sent afterwards* are put and folded like any others.
//!
//! The first and the last instant of a name are a minimum and a maximum, from which nothing can be subtracted: a removal reads the
//! remaining events for them ([`NameView`]). Names and witnesses are sums of parts, so it lowers one part, whichever part counted the
//! event.
//!
//! # What bounds it
//!
//! A transaction has one customer with the buckets of its names, up to [`MOST_NAMES`] names, and a witness. Its size is checked before it
//! is sent.

use aws_sdk_dynamodb::types::TransactWriteItem;

use super::keys::SummaryView;
use super::tally::NamedDays;
use super::{
    CustomerSummary, CustomerView, NameView, PARTS, Summaries, SummaryState, WitnessView, keys,
};
use crate::history::events::{Customer, Period, Tally};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{self, Key};
use crate::platform::projection::{State, View, Views, Write};
use crate::platform::values::{EventName, TenantId};

/// The part of names and witnesses that removals lower.
const PART: u8 = 0;
/// The most names of events that are removed at once.
pub const MOST_NAMES: usize = 24;

/// What is removed.
#[derive(Debug, Clone)]
pub struct Removal {
    pub customer: Customer,
    /// The number of events by name and day, of at most [`MOST_NAMES`] names.
    pub days: NamedDays,
    /// True if the names of the tenant count them too.
    pub from_names: bool,
    /// Their period and tally, if its witness counts them too.
    pub witness: Option<(Period, Tally)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// Removed, and the other items of the transaction written.
    Done,
    /// Refused, with no effect: a view or another item of the transaction was written meanwhile.
    Refused,
    /// Too large for a transaction.
    TooMuch,
}

impl Summaries {
    /// Removes events from the views that count them, in one transaction with these items.
    ///
    /// # Errors
    /// [`DynamoError`]; the removal may have been done.
    pub async fn take(
        &self,
        removal: &Removal,
        with: Vec<TransactWriteItem>,
    ) -> Result<RemovalOutcome, DynamoError> {
        let mut writes = self.customer_without(removal).await?;
        writes.extend(self.names_without(removal).await?);
        if let Some((period, tally)) = removal.witness {
            let tenant = &removal.customer.tenant_id;
            writes.push(self.witness_without(period, tenant, tally).await?);
        }
        let limits = self.views.table().limits();
        let weight: usize = writes.iter().map(Write::weight).sum();
        if writes.len() + with.len() > limits.max_transaction_items()
            || weight > limits.max_transaction_bytes()
        {
            return Ok(RemovalOutcome::TooMuch);
        }
        let mut items = self.views.transaction(writes)?;
        items.extend(with);
        Ok(match self.views.table().transact(items).await? {
            true => RemovalOutcome::Done,
            false => RemovalOutcome::Refused,
        })
    }

    /// The write that lowers the witness of a period.
    pub async fn lower_witness(
        &self,
        period: Period,
        tenant: &TenantId,
        tally: Tally,
    ) -> Result<Vec<TransactWriteItem>, DynamoError> {
        let write = self.witness_without(period, tenant, tally).await?;
        self.views.transaction(vec![write])
    }

    async fn witness_without(
        &self,
        period: Period,
        tenant: &TenantId,
        tally: Tally,
    ) -> Result<Write, DynamoError> {
        let key = SummaryView::Witness(period, tenant.clone(), PART).key();
        let mut view = self.views.read(key.clone(), View::<WitnessView>::read_from).await?;
        view.state.tally.add(tally.negated());
        view.stay();
        Ok(view.write(key))
    }

    async fn names_without(&self, removal: &Removal) -> Result<Vec<Write>, DynamoError> {
        if !removal.from_names {
            return Ok(Vec::new());
        }
        let tenant = &removal.customer.tenant_id;
        let key = |name| SummaryView::Name(tenant.clone(), name, PART).key();
        let keys: Vec<Key> = removal.days.keys().cloned().map(key).collect();
        let views = self.views.read_all(&keys, View::<NameView>::read_from).await?;
        let writes = keys.into_iter().zip(views).zip(removal.days.values());
        let writes = writes.map(|((key, view), days)| {
            let mut view = view?;
            view.state.take(days);
            view.stay();
            Ok(view.write(key))
        });
        writes.collect()
    }

    async fn customer_without(&self, removal: &Removal) -> Result<Vec<Write>, DynamoError> {
        let key = SummaryView::Customer(removal.customer.clone()).key();
        let read = View::<CustomerView>::read_from;
        let mut view = self.views.read(key.clone(), read).await?;
        let is_first = view.state.is_nothing();
        view.state = std::mem::take(&mut view.state).within(self.views.table().limits());
        let needed = view.state.buckets_of(&key, removal.days.keys());
        let found = self.needed(&needed).await?;
        view.state.absorb(&needed, &found)?;
        for (name, days) in &removal.days {
            let taken = view.state.take(name, days);
            taken.map_err(|expected| {
                item::corrupt(
                    self.views.table().name(),
                    &key.pk,
                    CustomerView::ATTRIBUTES[1],
                    expected,
                )
            })?;
        }
        view.stay();
        let beside = view.state.side_writes(&key, is_first);
        Ok([view.write(key)].into_iter().chain(beside).collect())
    }
}

/// What there is to remove.
impl Summaries {
    /// What there is of a customer as it is stored, to take it out: the view, what it says with its blocks
    /// ([`CustomerView::counts_with`]), and where these are.
    pub async fn stored(
        &self,
        customer: &Customer,
    ) -> Result<(View<CustomerView>, CustomerSummary, Vec<Key>), DynamoError> {
        let key = SummaryView::Customer(customer.clone()).key();
        let view = self.views.read(key, View::<CustomerView>::read_from).await?;
        let blocks = self.blocks(customer, keys::DAYS_OF).await?;
        let at = blocks.iter().map(Key::of).collect::<Result<_, _>>()?;
        let counts = view.state.clone().counts_with(&blocks)?;
        Ok((view, counts, at))
    }

    /// The views of a name of a tenant, in all parts, where they are.
    pub async fn parts_of_name(
        &self,
        tenant: &TenantId,
        name: &EventName,
    ) -> Result<Vec<(Key, View<NameView>)>, DynamoError> {
        let key = |part| SummaryView::Name(tenant.clone(), name.clone(), part).key();
        let keys: Vec<Key> = (0..PARTS).map(key).collect();
        let views = self.views.read_all(&keys, View::<NameView>::read_from).await?;
        keys.into_iter().zip(views).map(|(key, view)| Ok((key, view?))).collect()
    }

    /// The views that these are among.
    pub fn table(&self) -> &Views {
        &self.views
    }
}
