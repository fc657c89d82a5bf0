//! The keys of events, of their periods and of their archives.
//!
//! ```text
//! table                    pk                        sk                     what
//! <prefix><period>         <tenant>#<customer>       <at>#<event>           an event
//! <prefix><period>         <tenant>#<customer>#<n>   <at>#<event>           the same, of a customer with several keys
//! ledger                   events#periods            <period>               a period
//! ledger                   events#archiving#<period> <segment>              the progress of an archive
//! ledger                   events#archiving#<period> object#<object>#<tenant>  an archive object, by period
//! ledger                   events#archiving#<period> read-back              the progress of reading an archive back
//! ledger                   events#keepers            <number>               the lease of a running keeper
//! ledger                   events#archive#<tenant>   <period>#<object>      an archive object
//! ledger                   person##<tenant>#<customer>#seen <set>           what clients have seen of a history
//! ```
//!
//! **No date is hashed.** With a date as the partition key, all current writes would go to one partition, which takes a thousand writes a
//! second whatever the table takes. A date in the name of the table is not hashed: within a table, events are spread by customer. A
//! customer with more writes than one partition takes has several keys, over which the events are spread by [`spread`]. The number of keys
//! is fixed with the table, because a writer with another number could put an event twice.

use super::{Customer, EventKey, Period};
use crate::ledger::{LedgerKey, PERSON};
use crate::paging::seen_sets;
use crate::values::{TenantId, spread};

/// The partition of the ledger with the rows of periods.
pub const PERIODS: &str = "events#periods";
/// The partition of the ledger with the leases of keepers.
pub const KEEPERS: &str = "events#keepers";
const ARCHIVING: &str = "events#archiving#";
const ARCHIVE: &str = "events#archive#";
const SEEN: &str = "#seen";

/// The prefix of the sort keys of archive objects by period.
pub const OBJECT: &str = "object#";
const READ_BACK: &str = "read-back";

/// An item of the ledger about events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventItem {
    Period(Period),
    Archiving(Period),
    Archived(TenantId, Period),
    /// What clients have seen of a customer's history.
    Seen(Customer),
    Keeper,
}

/// Parses the key of an item of the ledger about events.
#[must_use]
pub fn of_key(pk: &str, sk: &str) -> Option<EventItem> {
    if pk == PERIODS {
        return sk.parse().ok().map(EventItem::Period);
    }
    if pk == KEEPERS {
        return Some(EventItem::Keeper);
    }
    if let Some(period) = pk.strip_prefix(ARCHIVING) {
        return period.parse().ok().map(EventItem::Archiving);
    }
    if let Some(customer) = pk.strip_prefix(PERSON).and_then(|pk| pk.strip_prefix('#')) {
        return customer.strip_suffix(SEEN)?.parse().ok().map(EventItem::Seen);
    }
    let tenant = TenantId::new(pk.strip_prefix(ARCHIVE)?).ok()?;
    let (period, _) = sk.split_once('#')?;
    Some(EventItem::Archived(tenant, period.parse().ok()?))
}

/// The partition with what clients have seen of a customer's history. It is that of a person without a name, so it never belongs to a
/// viewer.
#[must_use]
pub fn seen(customer: &Customer) -> String {
    seen_sets(format_args!("#{customer}"))
}

/// The row of a period.
#[must_use]
pub fn period(period: Period) -> LedgerKey {
    LedgerKey { pk: PERIODS.to_owned(), sk: period.to_string() }
}

/// The key of the lease of a keeper.
#[must_use]
pub fn keeper(number: u64) -> LedgerKey {
    LedgerKey { pk: KEEPERS.to_owned(), sk: format!("{number:016x}") }
}

/// The prefix of the partitions with what clients have seen of the histories of a tenant's customers.
#[must_use]
pub fn seen_of(tenant: &TenantId) -> String {
    format!("{PERSON}#{tenant}#")
}

/// The partition with the progress and objects of the archive of a period.
#[must_use]
pub fn archiving_of(period: Period) -> String {
    format!("{ARCHIVING}{period}")
}

/// The key of the progress of reading an archive back.
#[must_use]
pub fn read_back(period: Period) -> LedgerKey {
    LedgerKey { pk: archiving_of(period), sk: READ_BACK.to_owned() }
}

/// The key of an archive object, by period.
#[must_use]
pub fn archived_in(period: Period, segment: u32, chunk: u32, tenant: &TenantId) -> LedgerKey {
    let sk = format!("{OBJECT}{segment:04}-{chunk:06}#{tenant}");
    LedgerKey { pk: archiving_of(period), sk }
}

/// The archive object of a row, by tenant or by period: tenant, period, segment and chunk.
#[must_use]
pub fn of_archived(pk: &str, sk: &str) -> Option<(TenantId, Period, u32, u32)> {
    let (tenant, period, place) = match pk.strip_prefix(ARCHIVING) {
        Some(period) => {
            let (place, tenant) = sk.strip_prefix(OBJECT)?.split_once('#')?;
            (tenant, period, place)
        }
        None => {
            let (period, place) = sk.split_once('#')?;
            (pk.strip_prefix(ARCHIVE)?, period, place)
        }
    };
    let (segment, chunk) = place.split_once('-')?;
    let tenant = TenantId::new(tenant).ok()?;
    Some((tenant, period.parse().ok()?, segment.parse().ok()?, chunk.parse().ok()?))
}

/// The key of the progress of archiving a segment.
#[must_use]
pub fn archiving(period: Period, segment: u32) -> LedgerKey {
    LedgerKey { pk: archiving_of(period), sk: format!("{segment:04}") }
}

/// The partition of a tenant's archive objects.
#[must_use]
pub fn archive(tenant: &TenantId) -> String {
    format!("{ARCHIVE}{tenant}")
}

/// An archive object of a tenant: the nth chunk of a segment.
#[must_use]
pub fn archived(tenant: &TenantId, period: Period, segment: u32, chunk: u32) -> LedgerKey {
    LedgerKey { pk: archive(tenant), sk: format!("{period}#{segment:04}-{chunk:06}") }
}

/// The partition keys of a customer that is spread over `keys` of them.
pub fn partitions(customer: &Customer, keys: u32) -> impl Iterator<Item = String> {
    let customer = customer.to_string();
    (0..keys.max(1)).map(move |nth| nth_partition(&customer, nth))
}

/// The key of an event in the table of its period, if its customer is spread over `keys` keys.
#[must_use]
pub fn event(key: &EventKey, keys: u32) -> LedgerKey {
    let sk = format!("{}#{}", key.at, key.event_id);
    let nth = u32::from(spread(&sk)) % keys.max(1);
    LedgerKey { pk: nth_partition(&key.customer.to_string(), nth), sk }
}

fn nth_partition(customer: &str, nth: u32) -> String {
    match nth {
        0 => customer.to_owned(),
        nth => format!("{customer}#{nth}"),
    }
}
