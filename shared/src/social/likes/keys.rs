//! The keys of likes among the facts, and of their counts among the views.

use crate::platform::dynamo::item::Key;
use crate::platform::dynamo::keys;
use crate::platform::values::{ActivityId, ViewerId};

keys! {
    /// Viewer and activity of the like with this key.
    pub fn of_like -> (ViewerId, ActivityId);
    partitions {
        /// The likes of a viewer among the facts, including undone ones.
        pub of_viewer(viewer: ViewerId) = "likes#{viewer}";
        /// The count of an activity, among the views.
        of_activity(activity: ActivityId) = "activity#{activity}";
    }
    items {
        /// The like of a viewer and an activity, among the facts.
        pub like(viewer: ViewerId, activity: ActivityId) = of_viewer(viewer), "{activity}"
            => (viewer, activity);
        /// The count of an activity, among the views.
        pub count(activity: ActivityId) = of_activity(activity), "likes";
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
