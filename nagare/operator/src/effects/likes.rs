//! Likes.

use shared::dynamo::DynamoError;
use shared::likes::LikeChange;

use super::{CommandStatus, Effects};

impl Effects {
    /// A like or an undo: the row holds it, or one that wins over it.
    pub(super) async fn liked(&self, change: &LikeChange) -> Result<CommandStatus, DynamoError> {
        let there = self.likes.recorded(&change.viewer_id, &change.activity_id).await?;
        Ok(match there.map(|recorded| recorded.state) {
            Some(there) if there == change.state && there.on => {
                match self.activities.published(&change.activity_id).await? {
                    Some(_) => CommandStatus::applied(),
                    None => CommandStatus::but(
                        "there is no such activity: the like counts only once it is published",
                    ),
                }
            }
            Some(there) if there == change.state => CommandStatus::applied(),
            Some(there) if there > change.state => {
                let what = if there.on { "like" } else { "undo" };
                CommandStatus::Overtaken(format!("the {what} of {} holds", there.changed_at))
            }
            _ => CommandStatus::Pending,
        })
    }
}
