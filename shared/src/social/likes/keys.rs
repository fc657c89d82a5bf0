//! The keys of likes among the facts, and of their counts among the views.

use crate::platform::dynamo::item::Key;
use crate::platform::dynamo::keys;
use crate::platform::stored::ROW;
use crate::platform::values::{ActivityId, SortKey, ViewerId};

keys! {
    /// Viewer and activity of the like with this key.
    pub fn of_like -> (ViewerId, ActivityId);
    partitions {
        /// The likes of a viewer among the facts, including undone ones.
        pub of_viewer(viewer: ViewerId) = "likes#{viewer}";
        /// The count of an activity, among the views.
        of_activity(activity: ActivityId) = "activity#{activity}";
        /// The list of a viewer's likes, in the ledger.
        pub(super) listed_of(viewer: ViewerId) = "person#{viewer}#liked";
    }
    items {
        /// The like of a viewer and an activity, among the facts.
        pub like(viewer: ViewerId, activity: ActivityId) = of_viewer(viewer), "{activity}" in Facts as "like" {
            says: "whether {viewer} likes {activity}",
            most: 768, grows: "nothing: one row for a viewer and an activity, whatever is repeated",
            at_bound: "cannot be exceeded",
            test: "the model test, with repeaters",
            later: Kept, erased: Tombstone,
        }
            => (viewer, activity);
        /// The count of an activity, among the views.
        pub count(activity: ActivityId) = of_activity(activity), "likes" in Views as "likes" {
            says: "how many like {activity}",
            most: ROW, grows: "unread likes, the notification that was read last, and in every view marks of shards",
            at_bound: "likes are joined into groups, whose numbers stay exact and which name the latest four",
            test: "`bounds::many_activities_and_many_marks_of_one_actor_are_in_no_large_transaction`",
            later: Kept, erased: Tombstone,
        };
        /// A like in that list.
        pub(super) listed(viewer: ViewerId, sort_key: SortKey) = listed_of(viewer), "{sort_key}" in Ledger as "entry in a list of likes" {
            says: "{sort_key} among what {viewer} likes",
            most: 512, grows: "nothing: its key and an instant",
            at_bound: "cannot be exceeded",
            test: "`likes::listed::what_is_liked_again_and_again_is_listed_once`",
            later: Kept, erased: Tombstone,
        };
    }
}

/// The activity whose count has this key.
pub fn counted(key: &Key) -> Option<ActivityId> {
    let activity = key.pk.strip_prefix("activity#").filter(|_| key.sk == "likes")?;
    ActivityId::new(activity).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_say_whose_they_are(viewer in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", activity in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]") {
            let viewer = ViewerId::new(viewer).expect("an id");
            let activity = ActivityId::new(activity).expect("an id");
            prop_assert_eq!(counted(&count(&activity)), Some(activity.clone()));
            prop_assert_eq!(counted(&like(&viewer, &activity)), None);
            let of = |key: Key| of_like(&key.pk, &key.sk);
            prop_assert_eq!(of(count(&activity)), None);
            prop_assert_eq!(of(like(&viewer, &activity)), Some((viewer, activity)));
        }
    }
}
