//! Messages and membership.

use shared::dynamo::DynamoError;
use shared::rooms::{Claimed, MembershipChange, MessageDeleted, MessageKey, MessagePosted, Stored};

use super::{CommandStatus, Effects};

impl Effects {
    /// A message: its claim, and both its rows.
    pub(super) async fn posted(&self, post: &MessagePosted) -> Result<CommandStatus, DynamoError> {
        let MessageKey { room_id, message_id, author_id } = &post.key;
        let claimed = self.rooms.claimed(room_id, message_id).await?;
        // One of somebody else, or of another instant, is a conflict, which ends as a dead letter.
        let is_ours =
            |it: &Claimed| (&it.author_id, it.at, it.private) == (author_id, post.at, post.private);
        let ours = claimed.filter(is_ours);
        let Some(claimed) = ours else { return Ok(CommandStatus::Pending) };
        if !claimed.says(&post.payload) {
            let first = "the id was used before with another payload, and the first message stays";
            return Ok(CommandStatus::Overtaken(first.to_owned()));
        }
        if self.rooms.is_deleted(&post.key).await? {
            let deleted = "the message was deleted, which is permanent: nobody is shown it";
            return Ok(CommandStatus::Overtaken(deleted.to_owned()));
        }
        let is_there = self.both_are(&post.key, &claimed, Stored::Message).await?;
        Ok(if is_there { CommandStatus::applied() } else { CommandStatus::Pending })
    }

    /// A delete: the marker, and tombstones for both rows.
    pub(super) async fn message_deleted(
        &self,
        MessageDeleted { key }: &MessageDeleted,
    ) -> Result<CommandStatus, DynamoError> {
        if !self.rooms.is_deleted(key).await? {
            return Ok(CommandStatus::Pending);
        }
        match self.rooms.claimed(&key.room_id, &key.message_id).await? {
            None => Ok(CommandStatus::but(
                "nothing is posted under that id yet, and its post will have no effect",
            )),
            Some(claimed) if claimed.author_id != key.author_id => {
                Ok(CommandStatus::Overtaken(format!(
                    "the message is {}'s, and nobody else's delete has an effect",
                    claimed.author_id
                )))
            }
            Some(claimed) if claimed.erased => Ok(CommandStatus::applied()),
            Some(claimed) => {
                let are_gone = self.both_are(key, &claimed, Stored::Tombstone).await?;
                Ok(if are_gone { CommandStatus::applied() } else { CommandStatus::Pending })
            }
        }
    }

    async fn both_are(
        &self,
        key: &MessageKey,
        claimed: &Claimed,
        wanted: Stored,
    ) -> Result<bool, DynamoError> {
        for row in claimed.rows(&key.room_id, &key.message_id) {
            if self.rooms.stored(row).await? != Some(wanted) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A join or a leave: the membership holds it, or one that wins over it.
    pub(super) async fn membership(
        &self,
        change: &MembershipChange,
    ) -> Result<CommandStatus, DynamoError> {
        let there = self.rooms.membership(&change.room_id, &change.viewer_id).await?;
        Ok(match there {
            Some(there) if there == change.state => CommandStatus::applied(),
            Some(there) if there > change.state => {
                let what = if there.on { "join" } else { "leave" };
                CommandStatus::Overtaken(format!("the {what} of {} holds", there.changed_at))
            }
            _ => CommandStatus::Pending,
        })
    }
}
