//! The commands of likes.

use crate::platform::message::command;
use crate::platform::register::Register;
use crate::platform::values::{ActivityId, ViewerId};

command! {
    /// A viewer liked an activity, or took the like back.
    LikeChange by viewer_id {
        /// The viewer.
        viewer_id: ViewerId,
        /// The activity, which may be the viewer's own, or not published yet.
        activity_id: ActivityId,
    }
    /// The instant of the change. The latest wins, and on a tie the undo.
    state: Register {
        /// A viewer liked an activity. Of the commands on one viewer and activity the latest `at`
        /// wins.
        "like.created": r#"{ "viewer_id": "bob", "activity_id": "live-8391", "at": "2026-11-20T12:00:02.000Z" }"#
        /// A viewer took the like of an activity back. Of the commands on one viewer and activity
        /// the latest `at` wins, and on a tie this one.
        "like.deleted": r#"{ "viewer_id": "bob", "activity_id": "live-8391", "at": "2026-11-20T12:00:09.000Z" }"#
    }
}
