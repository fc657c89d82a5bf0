//! Profiles.

use shared::dynamo::DynamoError;
use shared::profiles::{Profile, ProfileUpdate};

use super::{Effects, Standing, soon};

impl Effects {
    /// A profile's update: the profile holds it, or one that wins over it.
    pub(super) async fn profile(&self, update: &ProfileUpdate) -> Result<Standing, DynamoError> {
        let Some(Profile { payload, updated_at }) =
            self.profiles.profile(&update.viewer_id, soon()).await?
        else {
            return Ok(Standing::Pending);
        };
        let (there, sent) =
            ((updated_at, payload.as_json()), (update.at, update.payload.as_json()));
        Ok(match there.cmp(&sent) {
            std::cmp::Ordering::Less => Standing::Pending,
            std::cmp::Ordering::Equal => Standing::applied(),
            std::cmp::Ordering::Greater => {
                Standing::Overtaken(format!("the update of {updated_at} holds"))
            }
        })
    }
}
