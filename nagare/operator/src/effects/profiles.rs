//! Profiles.

use shared::dynamo::DynamoError;
use shared::profiles::{Profile, ProfileUpdate};

use super::{CommandStatus, Effects};

impl Effects {
    /// A profile's update: the profile holds it, or one that wins over it.
    pub(super) async fn profile(
        &self,
        update: &ProfileUpdate,
    ) -> Result<CommandStatus, DynamoError> {
        let Some(Profile { payload, updated_at }) =
            self.profiles.profile(&update.viewer_id).await?
        else {
            return Ok(CommandStatus::Pending);
        };
        let (there, sent) =
            ((updated_at, payload.as_json()), (update.at, update.payload.as_json()));
        Ok(match there.cmp(&sent) {
            std::cmp::Ordering::Less => CommandStatus::Pending,
            std::cmp::Ordering::Equal => CommandStatus::applied(),
            std::cmp::Ordering::Greater => {
                CommandStatus::Overtaken(format!("the update of {updated_at} holds"))
            }
        })
    }
}
