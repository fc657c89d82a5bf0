//! The commands on follows.

use crate::platform::message::command;
use crate::platform::register::Register;
use crate::platform::values::{ActorId, ViewerId};

command! {
    /// A viewer began or ceased to follow an actor.
    FollowChange by followee_id of follower_id, SHOWN {
        /// The viewer whose timeline changes.
        follower_id: ViewerId,
        /// The actor whose activities the timeline gets or loses. It may be the viewer.
        followee_id: ActorId,
    }
    /// The instant of the change. The latest wins, and on a tie the unfollow.
    state: Register {
        /// A viewer followed an actor. The timeline gets what the actor published within retention.
        /// Of the commands on one edge the latest `at` wins.
        "follow.created": r#"{ "follower_id": "bob", "followee_id": "anna", "at": "2026-11-20T12:00:01.000Z" }"#
        /// A viewer unfollowed an actor. All of the actor's activities leave the timeline at once.
        /// Of the commands on one edge the latest `at` wins, and on a tie this one.
        "follow.deleted": r#"{ "follower_id": "bob", "followee_id": "anna", "at": "2026-11-20T12:05:00.000Z" }"#
    }
}
