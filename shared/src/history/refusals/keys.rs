//! Keys in the ledger. None of these items names a person or a tenant. Those of a tenant are in [`crate::history::tenants::keys`].

use crate::history::events::Period;
use crate::platform::dynamo::keys;
use crate::platform::values::{Origin, RefusalReason};

keys! {
    partitions {
        of_message(message: Origin) = "refusal#{message}";
        of_subject(digest: String) = "refused#{digest}";
        /// The counts of a day, in several partitions.
        pub refusals_of(day: Period, shard: u8) = "refusals#{day}#{shard}";
    }
    items {
        /// Which refusals of a message are counted.
        pub counted(message: Origin) = of_message(message), "counted" in Ledger as "counted refusal" {
            says: "that the refusal of the message {message} is counted",
            most: 512, grows: "nothing: which of a message's refusals are counted; expires after 5 days",
            at_bound: "cannot be exceeded",
            test: "`refusals::`",
            later: AsOthers, erased: Gone,
        };
        /// How many letters a subject has had on a day for a reason.
        pub subject(digest: String, day: Period, reason: RefusalReason)
            = of_subject(digest), "{day}#{reason}" in Ledger as "refusals of a subject" {
            says: "how many letters one subject has had on {day}: {reason}",
            most: 256, grows: "nothing: how many letters of a reason and day; written 1,000 times at most, expires after 2 days",
            at_bound: "the next refusal is counted without a letter",
            test: "`refusals::a_subject_has_so_many_letters_of_a_reason_on_a_day_and_all_are_counted`",
            later: AsOthers, erased: Gone,
        };
        /// How many refusals a day has for a reason.
        pub refusals(day: Period, shard: u8, reason: RefusalReason) = refusals_of(day, shard), "{reason}" in Ledger as "refusals of a day" {
            says: "how many refusals {day} has: {reason}",
            most: 256, grows: "nothing: a number for a reason and day, in 8 items; expires after 31 days",
            at_bound: "cannot be exceeded",
            test: "`refusals::counts_are_a_recount_whatever_fails`",
            later: AsOthers, erased: Gone,
        };
    }
}
