//! Keys of summaries, among the views.
//!
//! ```text
//! customer#<tenant>#<customer>   days#<last day>#<n>       a block of days that are no longer in the summary
//! customer#<tenant>#<customer>   names#<bucket>            names that are not in it
//! ```

use std::fmt;

use super::Day;
use crate::history::events::{Customer, Period};
use crate::platform::dynamo::item::Key;
use crate::platform::dynamo::keys;
use crate::platform::projection::Shard;
use crate::platform::stored::{BLOCK, ROW};
use crate::platform::values::{CustomerId, EventName, TenantId};

/// The prefix of the partitions of customers.
pub const CUSTOMER: &str = "customer#";
/// The prefix of the partitions of lists of customers.
pub const CUSTOMERS: &str = "customers#";
/// The prefix of the partitions of witnesses.
pub const WITNESS: &str = "witness#";
/// The prefix of the sort keys of blocks of days.
pub(super) const DAYS_OF: &str = "days#";
/// The prefix of the sort keys of blocks of names.
pub(super) const NAMES_OF: &str = "names#";

/// The number of items of a name or a witness: the shard of a change selects one.
pub const PARTS: u8 = 8;

/// A view that is folded from events.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SummaryView {
    Customer(Customer),
    /// Events of one name of a tenant, in one part.
    Name(TenantId, EventName, u8),
    /// Events of a tenant in a period, in one part.
    Witness(Period, TenantId, u8),
}

/// An item of the views about events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummaryItem {
    View(SummaryView),
    /// A block of days of a customer.
    Days(Customer),
    Names(Customer),
    Listed(Customer),
}

keys! {
    fn of_view -> SummaryItem;
    partitions {
        of_customer(customer: Customer) = "customer#{customer}";
        /// The list of a tenant's customers.
        pub customers(tenant: TenantId) = "customers#{tenant}";
        /// The names of a tenant, in one part.
        pub names(tenant: TenantId, part: u8) = "names#{tenant}#{part}";
        /// The witnesses of a period, in one part.
        pub witnesses(period: Period, part: u8) = "witness#{period}#{part}";
    }
    items {
        /// What a customer did.
        summary(customer: Customer) = of_customer(customer), "summary" in Views as "customer" {
            says: "what {customer} did",
            most: ROW, grows: "names, up to 64, counts of a name on a day, up to 512, and marks of shards",
            at_bound: "further names and the earliest days go into items of their own",
            test: "`summaries::what_is_too_much_for_a_view_is_in_blocks`",
            later: Kept, erased: Tombstone,
        }
            => SummaryItem::View(SummaryView::Customer(customer));
        days_of(customer: Customer, block: String) = of_customer(customer), "days#{block}" in Views as "customer's days" {
            says: "earlier days of {customer}",
            most: BLOCK, grows: "counts of a name on a day that were moved there at once",
            at_bound: "another block",
            test: "`summaries::what_is_too_much_for_a_view_is_in_blocks`",
            later: Never, erased: Gone,
        }
            => SummaryItem::Days(customer);
        names_of(customer: Customer, bucket: String) = of_customer(customer), "names#{bucket}" in Views as "customer's names" {
            says: "more names of {customer}",
            most: ROW, grows: "names of a customer beyond the first 64, in 16 such items",
            at_bound: "an event of a further name is refused, `too-many-names`: it is counted, and an audit says that it is missing",
            test: "`summaries::refusing::an_event_that_has_no_room_is_refused_alone`",
            later: Kept, erased: Gone,
        }
            => SummaryItem::Names(customer);
        listing(tenant_id: TenantId, customer_id: CustomerId) = customers(tenant_id), "{customer_id}" in Views as "customer in the list" {
            says: "that {customer_id} of {tenant_id} did something",
            most: 512, grows: "nothing: its key",
            at_bound: "cannot be exceeded",
            test: "`summaries::`",
            later: Never, erased: Gone,
        }
            => SummaryItem::Listed(Customer { tenant_id, customer_id });
        /// Events of one name, from the nth part of the stream.
        name(tenant: TenantId, name: EventName, part: u8) = names(tenant, part), "{name}" in Views as "name of events" {
            says: "how often {name} happened, of {tenant}, part {part}",
            most: 16_384, grows: "counts of 410 days, and marks of shards",
            at_bound: "earlier days are no longer counted one by one",
            test: "`summaries::`",
            later: Kept, erased: Tombstone,
        }
            => SummaryItem::View(SummaryView::Name(tenant, name, part));
        /// Events of a period and the sum of their digests, in the same parts.
        witness(period: Period, tenant: TenantId, part: u8) = witnesses(period, part), "{tenant}" in Views as "witness" {
            says: "the events of {tenant} in {period}, counted, part {part}",
            most: 16_384, grows: "marks of shards",
            at_bound: "those are dropped that a checkpoint says as well",
            test: "`summaries::`",
            later: Kept, erased: Tombstone,
        }
            => SummaryItem::View(SummaryView::Witness(period, tenant, part));
    }
}

impl SummaryView {
    pub fn tenant_id(&self) -> &TenantId {
        match self {
            Self::Customer(customer) => &customer.tenant_id,
            Self::Name(tenant, ..) | Self::Witness(_, tenant, _) => tenant,
        }
    }

    /// The part that counts the changes of a shard.
    pub fn part(shard: Shard) -> u8 {
        shard.part(PARTS)
    }

    pub fn key(&self) -> Key {
        match self {
            Self::Customer(customer) => summary(customer),
            Self::Name(tenant, of, part) => name(tenant, of, part),
            Self::Witness(period, tenant, part) => witness(period, tenant, part),
        }
    }

    /// The view at a key, if it is one of these.
    pub fn of_key(key: &Key) -> Option<Self> {
        match SummaryItem::of_key(key)? {
            SummaryItem::View(view) => Some(view),
            _ => None,
        }
    }
}

impl fmt::Display for SummaryView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { pk, sk } = self.key();
        write!(f, "{pk} {sk}")
    }
}

impl SummaryItem {
    /// The item at a key, if it is one of these.
    pub fn of_key(Key { pk, sk }: &Key) -> Option<Self> {
        let exists = |item: &Self| !matches!(item, Self::View(SummaryView::Name(.., part) | SummaryView::Witness(.., part)) if *part >= PARTS);
        of_view(pk, sk).filter(exists)
    }
}

/// The row that says that a customer has a summary.
pub fn listed(Customer { tenant_id, customer_id }: &Customer) -> Key {
    listing(tenant_id, customer_id)
}

/// The sort key of a block of days, the latest of which is this one.
pub(super) fn days(last: Day, number: u64) -> String {
    format!("{DAYS_OF}{last:06}#{number:010}")
}

/// Before the sort keys of all blocks that have this day or later ones.
pub(super) fn days_from(day: Day) -> String {
    format!("{DAYS_OF}{day:06}")
}

/// The number in the sort key of a block of days.
pub(super) fn number_of_days(sk: &str) -> Option<u64> {
    sk.strip_prefix(DAYS_OF)?.split_once('#')?.1.parse().ok()
}

/// The sort key of a bucket of names.
pub(super) fn bucket(bucket: u8) -> String {
    format!("{NAMES_OF}{bucket:02}")
}

/// The number in the sort key of a bucket of names.
pub(super) fn of_bucket(sk: &str) -> Option<u8> {
    sk.strip_prefix(NAMES_OF)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_survive_their_keys() {
        let tenant = TenantId::new("likes").expect("an id");
        let customer_id = CustomerId::new("c-9").expect("an id");
        let customer = Customer { tenant_id: tenant.clone(), customer_id };
        let name = EventName::new("login").expect("a name");
        let period = "2026-11".parse().expect("a period");
        for view in [
            SummaryView::Customer(customer.clone()),
            SummaryView::Name(tenant.clone(), name, 7),
            SummaryView::Witness(period, tenant, 0),
        ] {
            assert_eq!(SummaryView::of_key(&view.key()), Some(view.clone()));
            assert_eq!(SummaryItem::of_key(&view.key()), Some(SummaryItem::View(view)));
        }
        let in_partition = |sk| Key { pk: format!("{CUSTOMER}{customer}"), sk };
        for (key, item) in [
            (listed(&customer), SummaryItem::Listed(customer.clone())),
            (in_partition(days(20_000, 3)), SummaryItem::Days(customer.clone())),
            (in_partition(bucket(9)), SummaryItem::Names(customer.clone())),
        ] {
            assert_eq!(SummaryItem::of_key(&key), Some(item));
            assert_eq!(SummaryView::of_key(&key), None);
        }
        assert_eq!(number_of_days(&days(20_000, 3)), Some(3));
        assert_eq!(of_bucket(&bucket(9)), Some(9));
    }
}
