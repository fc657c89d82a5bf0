//! The command of profiles.

use crate::platform::message::command;
use crate::platform::values::{Payload, Timestamp, ViewerId};

command! {
    /// A viewer changed their profile. The latest `at` wins, whatever the order of arrival, and on
    /// a tie the payload that is greater byte by byte.
    ProfileUpdate by viewer_id {
        /// The viewer whose profile it is.
        viewer_id: ViewerId,
        /// The instant of the change.
        at: Timestamp,
        /// The whole new profile.
        payload: Payload,
    }
    "profile.updated": r#"{ "viewer_id": "bob", "at": "2026-11-20T12:00:02.000Z", "payload": { "name": "Bob" } }"#
}
