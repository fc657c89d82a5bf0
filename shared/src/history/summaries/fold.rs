//! What all views that are folded from events have in common.

use super::keys::SummaryView;
use crate::history::events::{Customer, Period};
use crate::platform::dynamo::item::{self, Item, Key, Row};
use crate::platform::dynamo::{DynamoError, Limits};
use crate::platform::projection::{Change, Fold, Shard, Write};
use crate::platform::values::{CustomerId, EventName, SortKey, TenantId, Timestamp};

/// A view that is folded from events, with its blocks.
pub trait SummaryState: Fold + Clone + PartialEq + Send + Sync {
    /// The items that have to be read before these changes are folded.
    fn needed(&self, view: &Key, changes: &[&Change], facts: &str) -> Vec<Key> {
        let _ = (view, changes, facts);
        Vec::new()
    }

    /// Absorbs those of them that exist.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    fn absorb(&mut self, needed: &[Key], found: &[Row<'_>]) -> Result<(), DynamoError> {
        let _ = (needed, found);
        Ok(())
    }

    /// The same, where items have these limits.
    #[must_use]
    fn within(self, limits: &Limits) -> Self {
        let _ = limits;
        self
    }

    /// True if it is empty: readers are not shown it, and it is deleted once its marks may be.
    fn is_nothing(&self) -> bool;

    /// How often it was emptied.
    fn life(&self) -> u64 {
        0
    }

    /// The writes beside the view at this key. `is_first`: it was empty before.
    fn side_writes(&mut self, view: &Key, is_first: bool) -> Vec<Write> {
        let _ = (view, is_first);
        Vec::new()
    }
}

/// The part of an event by which customers and names are counted.
pub(super) struct CountedEvent {
    pub(super) name: EventName,
    pub(super) at: Timestamp,
}

impl CountedEvent {
    /// What a change adds: an event that is put. One that is erased stays counted until what it was counted in is erased as well.
    pub(super) fn of(change: &Change, facts: &str) -> Result<Option<Self>, DynamoError> {
        let Some(item) = added(change) else { return Ok(None) };
        let corrupt = |attribute, expected| Self::corrupt(change, facts, attribute, expected);
        let key = change.key.sk.parse::<SortKey>();
        let key = key.map_err(|_| corrupt("sk", "an instant and an id"))?;
        let name =
            item.get("name").and_then(|name| EventName::new(name.as_s().ok()?.as_str()).ok());
        let name = name.ok_or_else(|| corrupt("name", "the name of an event"))?;
        Ok(Some(Self { name, at: key.published_at }))
    }

    /// The failure of a change with a malformed row.
    pub(super) fn corrupt(
        change: &Change,
        facts: &str,
        attribute: &'static str,
        expected: &'static str,
    ) -> DynamoError {
        let Key { pk, sk } = &change.key;
        item::corrupt(facts, &format!("{pk} {sk}"), attribute, expected)
    }
}

/// The name of the event that a change has put, if there is one.
pub fn name_of(change: &Change) -> Option<EventName> {
    CountedEvent::of(change, "").ok().flatten().map(|said| said.name)
}

/// The item that a change has put where none was.
pub(super) fn added(change: &Change) -> Option<&Item> {
    change.after.as_ref().filter(|_| change.before.is_none())
}

/// The views that a change of the table of a period is counted in.
///
/// # Errors
/// [`DynamoError::Corrupt`]: it is no event.
pub fn views_of(
    change: &Change,
    period: Period,
    shard: Shard,
    table: &str,
) -> Result<Option<[SummaryView; 3]>, DynamoError> {
    let Some(said) = CountedEvent::of(change, table)? else { return Ok(None) };
    let mut ids = change.key.pk.splitn(3, '#');
    let mut customer = || {
        let tenant_id = TenantId::new(ids.next()?).ok()?;
        Some(Customer { tenant_id, customer_id: CustomerId::new(ids.next()?).ok()? })
    };
    let customer = customer()
        .ok_or_else(|| CountedEvent::corrupt(change, table, "pk", "a tenant and a customer"))?;
    let (tenant, part) = (customer.tenant_id.clone(), SummaryView::part(shard));
    Ok(Some([
        SummaryView::Witness(period, tenant.clone(), part),
        SummaryView::Name(tenant, said.name, part),
        SummaryView::Customer(customer),
    ]))
}
