//! The keys of tags in the ledger.
//!
//! ```text
//! tags#<activity>          <person>     a tag: whether they are tagged, and since when
//! person#<person>#tagged   <sort key>   a listing: the same, and who published the activity
//! listing#<activity>       <message>    the progress of a publish with the listings
//! ```
//!
//! **Why no index.** Both requests read one partition in the order of its sort keys: the tags of an activity by id, and what somebody
//! is tagged in by time. An index by person would not have the second order, because a tag does not have the instant of its activity.
//! Also, a global index lags behind its table, so acknowledged tags would be missing for a while, and it throttles the table's writes
//! if it cannot keep up with one person whom everybody tags. Instead, the listing is a write of its own before the command is
//! acknowledged.

use crate::ledger::{LedgerKey, PERSON};
use crate::values::{ActivityId, Origin, SortKey, ViewerId};

/// The prefix of the partition keys of tags.
pub const TAGS: &str = "tags#";
const LISTING: &str = "listing#";
const TAGGED: &str = "#tagged";

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

/// Parses the key of an item; `None` if it is not one of this feature's.
#[must_use]
pub fn of_key(pk: &str, sk: &str) -> Option<TagItem> {
    if let Some(activity) = pk.strip_prefix(TAGS) {
        return Some(TagItem::Tag(ActivityId::new(activity).ok()?, ViewerId::new(sk).ok()?));
    }
    if let Some(activity) = pk.strip_prefix(LISTING) {
        return ActivityId::new(activity).ok().map(TagItem::Progress);
    }
    let person = pk.strip_prefix(PERSON)?.strip_suffix(TAGGED)?;
    Some(TagItem::Listing(ViewerId::new(person).ok()?, SortKey::parse(sk).ok()?))
}

/// The partition of the tags of an activity, by the id of the tagged person.
#[must_use]
pub fn of_activity(activity: &ActivityId) -> String {
    format!("{TAGS}{activity}")
}

/// The key of a tag.
#[must_use]
pub fn tag(activity: &ActivityId, tagged: &ViewerId) -> LedgerKey {
    LedgerKey { pk: of_activity(activity), sk: tagged.to_string() }
}

/// The partition of the listings of a person, in the order of a timeline.
#[must_use]
pub fn of_person(tagged: &ViewerId) -> String {
    format!("{PERSON}{tagged}{TAGGED}")
}

/// The key of the listing of an activity for a person.
#[must_use]
pub fn listing(tagged: &ViewerId, sort_key: &SortKey) -> LedgerKey {
    LedgerKey { pk: of_person(tagged), sk: sort_key.to_string() }
}

/// The partition of the progress of publishes of an activity.
#[must_use]
pub fn progress_of(activity: &ActivityId) -> String {
    format!("{LISTING}{activity}")
}

/// The key of the progress of the publish of one message.
#[must_use]
pub fn progress(activity: &ActivityId, origin: &Origin) -> LedgerKey {
    LedgerKey { pk: progress_of(activity), sk: origin.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Timestamp;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_say_what_they_are_of(
            person in "[A-Za-z0-9._:@-]{0,127}[A-Za-z0-9_:@-]",
            activity in "[A-Za-z0-9._:@-]{0,127}[A-Za-z0-9_:@-]",
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
