//! Keys in the ledger. None of these items names a person or a tenant. Those of a tenant are in [`crate::history::tenants::keys`].

use crate::history::events::Period;
use crate::platform::dynamo::keys;
use crate::platform::values::{Origin, RefusalReason};

/// A count of refusals, as its key says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalItem {
    /// Which refusals of a message are counted.
    Counted,
    /// How many letters a subject has had on a day.
    Subject,
    /// How many refusals a day has, and how many of them have no letter.
    OfDay,
}

keys! {
    /// What the item with a key is, if it counts refusals.
    pub fn of_key -> RefusalItem;
    partitions {
        of_message(message: Origin) = "refusal#{message}";
        of_subject(digest: String) = "refused#{digest}";
        /// The counts of a day, in several partitions.
        pub refusals_of(day: Period, shard: u8) = "refusals#{day}#{shard}";
    }
    items {
        /// Which refusals of a message are counted.
        pub counted(message: Origin) = of_message(message), "counted" => RefusalItem::Counted;
        /// How many letters a subject has had on a day for a reason.
        pub subject(digest: String, day: Period, reason: RefusalReason)
            = of_subject(digest), "{day}#{reason}"
            => RefusalItem::Subject;
        /// How many refusals a day has for a reason.
        pub refusals(day: Period, shard: u8, reason: RefusalReason) = refusals_of(day, shard), "{reason}"
            => RefusalItem::OfDay;
    }
}
