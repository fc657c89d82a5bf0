//! Notifications.

use shared::dynamo::DynamoError;
use shared::notifications::MarkRead;
use shared::values::Origin;

use super::{CommandStatus, Effects};

impl Effects {
    /// A mark: what it names is shown as read.
    pub(super) async fn marked(
        &self,
        mark: &MarkRead,
        message_id: &str,
    ) -> Result<CommandStatus, DynamoError> {
        let origin = Origin::new(message_id.to_owned()).unwrap_or_else(|_| Origin::unknown());
        let MarkRead { viewer_id, what } = mark;
        let is_marked = self.notifications.is_marked(viewer_id, what, &origin).await?;
        Ok(if is_marked { CommandStatus::applied() } else { CommandStatus::Pending })
    }
}
