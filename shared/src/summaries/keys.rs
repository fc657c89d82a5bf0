//! Keys of summaries, among the views.
//!
//! ```text
//! pk                             sk                        what
//! customer#<tenant>#<customer>   summary                   what a customer did
//! customer#<tenant>#<customer>   days#<last day>#<n>       a block of days that are no longer in it
//! customer#<tenant>#<customer>   names#<bucket>            names that are not in it
//! customers#<tenant>             <customer>                that a customer has a summary
//! names#<tenant>#<n>             <name>                    events of one name, from the nth part of the stream
//! witness#<period>#<n>           <tenant>                  events of a period and the sum of their digests, in the same parts
//! ```

use std::fmt;

use super::Day;
use crate::dynamo::item::Key;
use crate::events::{Customer, Period};
use crate::projection::Shard;
use crate::values::{CustomerId, EventName, TenantId};

/// The prefix of the partitions of customers.
pub const CUSTOMER: &str = "customer#";
/// The prefix of the partitions of lists of customers.
pub const CUSTOMERS: &str = "customers#";
/// The prefix of the partitions of names.
pub const NAMES: &str = "names#";
/// The prefix of the partitions of witnesses.
pub const WITNESS: &str = "witness#";
const SUMMARY: &str = "summary";
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

impl SummaryView {
    #[must_use]
    pub fn tenant_id(&self) -> &TenantId {
        match self {
            Self::Customer(customer) => &customer.tenant_id,
            Self::Name(tenant, ..) | Self::Witness(_, tenant, _) => tenant,
        }
    }

    /// The part that counts the changes of a shard.
    #[must_use]
    pub fn part(shard: Shard) -> u8 {
        shard.part(PARTS)
    }

    #[must_use]
    pub fn key(&self) -> Key {
        match self {
            Self::Customer(customer) => {
                Key { pk: format!("{CUSTOMER}{customer}"), sk: SUMMARY.to_owned() }
            }
            Self::Name(tenant, name, part) => {
                Key { pk: names(tenant, *part), sk: name.as_str().to_owned() }
            }
            Self::Witness(period, tenant, part) => {
                Key { pk: witnesses(*period, *part), sk: tenant.to_string() }
            }
        }
    }

    /// The view at a key, if it is one of these.
    #[must_use]
    pub fn of_key(Key { pk, sk }: &Key) -> Option<Self> {
        if let Some(customer) = pk.strip_prefix(CUSTOMER) {
            return customer.parse().ok().filter(|_| sk == SUMMARY).map(Self::Customer);
        }
        let part = |text: &str| text.parse().ok().filter(|part| *part < PARTS);
        if let Some(names) = pk.strip_prefix(NAMES) {
            let (tenant, nth) = names.split_once('#')?;
            let (tenant, name) = (TenantId::new(tenant).ok()?, EventName::new(sk).ok()?);
            return Some(Self::Name(tenant, name, part(nth)?));
        }
        let (period, nth) = pk.strip_prefix(WITNESS)?.split_once('#')?;
        Some(Self::Witness(period.parse().ok()?, TenantId::new(sk).ok()?, part(nth)?))
    }
}

impl fmt::Display for SummaryView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { pk, sk } = self.key();
        write!(f, "{pk} {sk}")
    }
}

/// What an item beside these views is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummaryItem {
    /// A block of days of a customer.
    Days(Customer),
    Names(Customer),
    Listed(Customer),
}

impl SummaryItem {
    /// The item at a key, if it is one of these.
    #[must_use]
    pub fn of_key(Key { pk, sk }: &Key) -> Option<Self> {
        if let Some(customer) = pk.strip_prefix(CUSTOMER) {
            let customer = customer.parse().ok()?;
            return match sk.split_once('#')?.0 {
                "days" => Some(Self::Days(customer)),
                "names" => Some(Self::Names(customer)),
                _ => None,
            };
        }
        let tenant_id = TenantId::new(pk.strip_prefix(CUSTOMERS)?).ok()?;
        let customer_id = CustomerId::new(sk.as_str()).ok()?;
        Some(Self::Listed(Customer { tenant_id, customer_id }))
    }
}

/// The partition of the names of a tenant, in one part.
#[must_use]
pub fn names(tenant: &TenantId, part: u8) -> String {
    format!("{NAMES}{tenant}#{part}")
}

/// The partition of the witnesses of a period, in one part.
#[must_use]
pub fn witnesses(period: Period, part: u8) -> String {
    format!("{WITNESS}{period}#{part}")
}

/// The partition of the list of a tenant's customers.
#[must_use]
pub fn customers(tenant: &TenantId) -> String {
    format!("{CUSTOMERS}{tenant}")
}

/// The row that says that a customer has a summary.
#[must_use]
pub fn listed(customer: &Customer) -> Key {
    Key { pk: customers(&customer.tenant_id), sk: customer.customer_id.to_string() }
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
            assert_eq!(SummaryItem::of_key(&view.key()), None);
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
