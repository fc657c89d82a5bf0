//! Likes, notifications and profiles.

use shared::platform::values::Origin;
use shared::social::likes::LikeChange;
use shared::social::notifications::MarkRead;
use shared::social::profiles::{Profile, ProfileUpdate};

use super::{CommandStatus, Effects, Looked};

impl Effects {
    /// A like or an undo: the row holds it, or one that wins over it.
    pub(super) async fn liked(&self, change: &LikeChange) -> Looked {
        let there = self.likes.recorded(&change.viewer_id, &change.activity_id).await?;
        let there = there.map(|recorded| recorded.state);
        if there == Some(change.state)
            && change.state.on
            && self.activities.published(&change.activity_id).await?.is_none()
        {
            let missing = "there is no such activity: the like counts only once it is published";
            return Ok(CommandStatus::but(missing));
        }
        Ok(CommandStatus::of_record(there, change.state, |there| {
            let what = if there.on { "like" } else { "undo" };
            format!("the {what} of {} holds", there.changed_at)
        }))
    }

    /// A mark: what it names is shown as read.
    pub(super) async fn marked(&self, mark: &MarkRead, message_id: &str) -> Looked {
        let origin = message_id.parse::<Origin>().unwrap_or_else(|_| Origin::unknown());
        let MarkRead { viewer_id, what } = mark;
        let is_marked = self.notifications.is_marked(viewer_id, what, &origin).await?;
        Ok(CommandStatus::applied_if(is_marked))
    }

    /// A profile's update: the profile holds it, or one that wins over it.
    pub(super) async fn profile(&self, update: &ProfileUpdate) -> Looked {
        let there = self.profiles.profile(&update.viewer_id).await?;
        let there = there.as_ref().map(|Profile { payload, updated_at }| (*updated_at, payload));
        let there = there.map(|(at, payload)| (at, payload.as_json()));
        let sent = (update.at, update.payload.as_json());
        Ok(CommandStatus::of_record(there, sent, |(at, _)| format!("the update of {at} holds")))
    }
}
