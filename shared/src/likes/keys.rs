//! The keys of likes among the facts, and of their counts among the views.

use crate::dynamo::item::Key;
use crate::values::{ActivityId, ViewerId};

const PREFIX: &str = "likes#";
const ACTIVITY: &str = "activity#";
const COUNT: &str = "likes";

/// The partition of the facts with the likes of a viewer, including undone ones.
#[must_use]
pub fn of_viewer(viewer: &ViewerId) -> String {
    format!("{PREFIX}{viewer}")
}

/// The key of the like of a viewer and an activity, among the facts.
#[must_use]
pub fn like(viewer: &ViewerId, activity: &ActivityId) -> Key {
    Key { pk: of_viewer(viewer), sk: activity.to_string() }
}

/// Viewer and activity of the like with this key.
#[must_use]
pub fn of_key(key: &Key) -> Option<(ViewerId, ActivityId)> {
    of_viewer_and_activity(key, PREFIX)
}

/// Viewer and activity, if the key consists of a prefix and these.
pub(crate) fn of_viewer_and_activity(key: &Key, prefix: &str) -> Option<(ViewerId, ActivityId)> {
    let viewer = ViewerId::new(key.pk.strip_prefix(prefix)?).ok()?;
    Some((viewer, ActivityId::new(key.sk.as_str()).ok()?))
}

/// The key of the count of an activity, among the views.
#[must_use]
pub fn count(activity: &ActivityId) -> Key {
    Key { pk: format!("{ACTIVITY}{activity}"), sk: COUNT.to_owned() }
}

/// The activity whose count has this key.
#[must_use]
pub fn counted(key: &Key) -> Option<ActivityId> {
    let activity = key.pk.strip_prefix(ACTIVITY).filter(|_| key.sk == COUNT)?;
    ActivityId::new(activity).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_say_whose_they_are(viewer in "[A-Za-z0-9._:@-]{0,127}[A-Za-z0-9_:@-]", activity in "[A-Za-z0-9._:@-]{0,127}[A-Za-z0-9_:@-]") {
            let viewer = ViewerId::new(viewer).expect("an id");
            let activity = ActivityId::new(activity).expect("an id");
            prop_assert_eq!(counted(&count(&activity)), Some(activity.clone()));
            prop_assert_eq!(counted(&like(&viewer, &activity)), None);
            prop_assert_eq!(of_key(&count(&activity)), None);
            prop_assert_eq!(of_key(&like(&viewer, &activity)), Some((viewer, activity)));
        }
    }
}
