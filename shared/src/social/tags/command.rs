//! The commands of tags.

use crate::platform::message::command;
use crate::platform::register::Register;
use crate::platform::values::{ActivityId, ViewerId};

command! {
    /// A person was tagged in an activity, or a tag was removed.
    TagChange by tagged_id, SHOWN {
        /// The activity.
        activity_id: ActivityId,
        /// The person in it.
        tagged_id: ViewerId,
    }
    /// The instant of the change. The latest wins, and on a tie the removal.
    state: Register {
        /// A person was tagged in an activity. Of the commands on one activity and person the
        /// latest `at` wins. A tag may arrive before its activity is published, and is shown after
        /// that. Deleting the activity takes its tags along.
        "tag.created": r#"{ "activity_id": "live-8391", "tagged_id": "bob", "at": "2026-11-20T12:00:03.000Z" }"#
        /// A tag was removed from an activity. Of the commands on one activity and person the
        /// latest `at` wins, and on a tie this one.
        "tag.deleted": r#"{ "activity_id": "live-8391", "tagged_id": "bob", "at": "2026-11-20T12:00:09.000Z" }"#
    }
}
