//! The keys of tags in the ledger.
//!
//! **Why no index.** Both requests read one partition in the order of its sort keys: the tags of an activity by id, and what somebody
//! is tagged in by time. An index by person would not have the second order, because a tag does not have the instant of its activity.
//! Also, a global index lags behind its table, so acknowledged tags would be missing for a while, and it throttles the table's writes
//! if it cannot keep up with one person whom everybody tags. Instead, the listing is a write of its own before the command is
//! acknowledged.

use crate::platform::dynamo::keys;
use crate::platform::values::{ActivityId, Origin, SortKey, ViewerId};

/// The prefix of the partition keys of tags.
pub const TAGS: &str = "tags#";

/// What an item of this feature is, by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagItem {
    /// Whether somebody is tagged in an activity.
    Tag(ActivityId, ViewerId),
    /// The listing of an activity that somebody is tagged in.
    Listing(ViewerId, SortKey),
    /// The progress of a publish with the listings of its activity.
    Progress(ActivityId),
}

keys! {
    /// Parses the key of an item; `None` if it is not one of this feature's.
    pub fn of_key -> TagItem;
    partitions {
        /// The tags of an activity, by the id of the tagged person.
        pub of_activity(activity: ActivityId) = "tags#{activity}";
        /// The listings of a person, in the order of a timeline.
        pub of_person(tagged: ViewerId) = "person#{tagged}#tagged";
        /// The progress of publishes of an activity.
        pub progress_of(activity: ActivityId) = "listing#{activity}";
    }
    items {
        /// A tag: whether they are tagged, and since when.
        pub tag(activity: ActivityId, tagged: ViewerId) = of_activity(activity), "{tagged}" in Ledger as "tag" {
            says: "whether {tagged} is tagged in {activity}",
            most: 768, grows: "nothing: one row for an activity and a person, whatever is repeated",
            at_bound: "cannot be exceeded",
            test: "the model test, with repeaters",
            later: Kept, erased: Tombstone,
        }
            => TagItem::Tag(activity, tagged);
        /// A listing: the same, and who published the activity.
        pub listing(tagged: ViewerId, sort_key: SortKey) = of_person(tagged), "{sort_key}" in Ledger as "listing" {
            says: "{sort_key} among what {tagged} is tagged in",
            most: 1_024, grows: "nothing",
            at_bound: "cannot be exceeded",
            test: "the model test, with repeaters",
            later: Kept, erased: Tombstone,
        }
            => TagItem::Listing(tagged, sort_key);
        /// The progress of the publish of one message.
        pub progress(activity: ActivityId, origin: Origin) = progress_of(activity), "{origin}" in Ledger as "listing progress" {
            says: "how far the publish of {activity} has come with its tags",
            most: 768, grows: "nothing: one for each message that publishes with many tags",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Gone,
        }
            => TagItem::Progress(activity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::ledger::LedgerKey;
    use crate::platform::values::Timestamp;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_say_what_they_are_of(
            person in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]",
            activity in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]",
            millis in 0_i64..4_000_000_000_000,
        ) {
            let person = ViewerId::new(person).expect("an id");
            let activity_id = ActivityId::new(activity).expect("an id");
            let of = |key: LedgerKey| of_key(&key.pk, &key.sk);
            let found = of(tag(&activity_id, &person));
            prop_assert_eq!(found, Some(TagItem::Tag(activity_id.clone(), person.clone())));
            let found = of(progress(&activity_id, &Origin::unknown()));
            prop_assert_eq!(found, Some(TagItem::Progress(activity_id.clone())));
            let published_at = Timestamp::from_unix_millis(millis);
            let sort_key = SortKey { published_at, activity_id };
            let found = of(listing(&person, &sort_key));
            prop_assert_eq!(found, Some(TagItem::Listing(person, sort_key)));
        }
    }

    #[test]
    fn stored_keys_never_change() {
        let (bob, photo) = (ViewerId::new("bob"), ActivityId::new("photo-1"));
        let (bob, activity_id) = (bob.expect("an id"), photo.expect("an id"));
        let key = tag(&activity_id, &bob);
        assert_eq!((key.pk.as_str(), key.sk.as_str()), ("tags#photo-1", "bob"));
        let published_at = Timestamp::from_unix_millis(1_000);
        let key = listing(&bob, &SortKey { published_at, activity_id });
        assert_eq!(key.pk, "person#bob#tagged");
        assert_eq!(key.sk, "1970-01-01T00:00:01.000Z#photo-1");
    }
}
