//! The keys of events, of their periods and of their archives.
//!
//! ```text
//! table                    pk                        sk                     what
//! <prefix><period>         <tenant>#<customer>       <at>#<event>           an event
//! <prefix><period>         <tenant>#<customer>#<n>   <at>#<event>           the same, of a customer with several keys
//! ```
//!
//! **No date is hashed.** With a date as the partition key, all current writes would go to one partition, which takes a thousand writes a
//! second whatever the table takes. A date in the name of the table is not hashed: within a table, events are spread by customer. A
//! customer with more writes than one partition takes has several keys, over which the events are spread by [`spread`]. The number of keys
//! is fixed with the table, because a writer with another number could put an event twice.

use super::{Customer, EventKey, Period};
use crate::platform::dynamo::keys;
use crate::platform::ledger::{LedgerKey, PERSON};
use crate::platform::values::{TenantId, Timestamp, spread};

/// The prefix of the sort keys of archive objects by period.
pub const OBJECT: &str = "object#";

keys! {
    partitions {
        /// The rows of periods.
        pub periods() = "events#periods";
        /// The leases of keepers.
        pub keepers() = "events#keepers";
        /// The progress and the objects of the archive of a period.
        pub archiving_of(period: Period) = "events#archiving#{period}";
        /// The archive objects of a tenant.
        pub archive(tenant: TenantId) = "events#archive#{tenant}";
        /// What clients have seen of a customer's history. It is the partition of a person without a name, so it never belongs to a
        /// viewer.
        pub seen(customer: Customer) = "person##{customer}#seen";
        /// The events of a customer, in the table of a period; of a busy one, in several partitions with a number behind.
        events_of(customer: String) = "{customer}";
    }
    items {
        /// A period.
        pub period(period: Period) = periods(), "{period}" in Ledger as "period" {
            says: "what is known of the events of {period}",
            most: 49_152, grows: "customers who are written to faster than a partition takes: 160 at most",
            at_bound: "no further customer is spread",
            test: "`a_period_has_no_more_busy_customers_than_its_row_has_room_for`",
            later: Kept, erased: Gone,
        };
        /// The lease of a running keeper.
        pub keeper(number: u64) = keepers(), "{number:016x}";
        lease(name: String) = keepers(), "{name}" in Ledger as "keeper" {
            says: "a keeper of periods that is at work",
            most: 256, grows: "nothing: one for each tick that is at work; what one leaves that died expires a day later",
            at_bound: "cannot be exceeded",
            test: "`keeper::`",
            later: Never, erased: Gone,
        };
        /// The progress of reading an archive back.
        pub read_back(period: Period) = archiving_of(period), "read-back";
        /// The progress of archiving a segment.
        pub archiving(period: Period, segment: u32) = archiving_of(period), "{segment:04}";
        /// An archive object, by period.
        pub archived_in(period: Period, segment: u32, chunk: u32, tenant: TenantId)
            = archiving_of(period), "object#{segment:04}-{chunk:06}#{tenant}";
        any_archiving(period: Period, what: String) = archiving_of(period), "{what}" in Ledger as "archiving" {
            says: "how far the archive of {period} has come",
            most: 2_048, grows: "nothing: one for each segment of a period that is archived (64 at most), one for each archive object, and one for how far the objects were read back",
            at_bound: "cannot be exceeded",
            test: "`keeper::`",
            later: Kept, erased: Gone,
        };
        /// An archive object of a tenant: the nth chunk of a segment.
        pub archived(tenant: TenantId, period: Period, segment: u32, chunk: u32)
            = archive(tenant), "{period}#{segment:04}-{chunk:06}" in Ledger as "archived" {
            says: "an archive object of {tenant}, of {period}",
            most: 1_024, grows: "nothing: one for each archive object",
            at_bound: "cannot be exceeded",
            test: "`keeper::listed`",
            later: Kept, erased: Gone,
        };
        any_event(customer: String, at: Timestamp, event: String) = events_of(customer), "{at}#{event}" in Events as "event" {
            says: "the event {event} of {customer}, at {at}",
            most: 4_600, grows: "nothing: what was sent",
            at_bound: "cannot be exceeded",
            test: "`no_event_is_larger_than_its_bound`",
            later: Never, erased: Gone,
        };
    }
}

/// The prefix of the partitions with what clients have seen of the histories of a tenant's customers.
pub fn seen_of(tenant: &TenantId) -> String {
    format!("{PERSON}#{tenant}#")
}

/// The archive object of a row, by tenant or by period: tenant, period, segment and chunk.
pub fn of_archived(pk: &str, sk: &str) -> Option<(TenantId, Period, u32, u32)> {
    let (tenant, period, place) = match pk.strip_prefix("events#archiving#") {
        Some(period) => {
            let (place, tenant) = sk.strip_prefix(OBJECT)?.split_once('#')?;
            (tenant, period, place)
        }
        None => {
            let (period, place) = sk.split_once('#')?;
            (pk.strip_prefix("events#archive#")?, period, place)
        }
    };
    let (segment, chunk) = place.split_once('-')?;
    let tenant = TenantId::new(tenant).ok()?;
    Some((tenant, period.parse().ok()?, segment.parse().ok()?, chunk.parse().ok()?))
}

/// The partition keys of a customer that is spread over `keys` of them.
pub fn partitions(customer: &Customer, keys: u32) -> impl Iterator<Item = String> {
    let customer = customer.to_string();
    (0..keys.max(1)).map(move |nth| nth_partition(&customer, nth))
}

/// The key of an event in the table of its period, if its customer is spread over `keys` keys.
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
