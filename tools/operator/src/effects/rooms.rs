//! Messages and membership.

use shared::social::rooms::{
    Claimed, MembershipChange, MessageDeleted, MessageKey, MessagePosted, StoredRow,
};

use super::{CommandStatus, Effects, Looked};
use crate::Result;

impl Effects {
    /// A message: its claim, and both its rows.
    pub(super) async fn posted(&self, post: &MessagePosted) -> Looked {
        let MessageKey { room_id, message_id, author_id } = &post.key;
        let claimed = self.rooms.claimed(room_id, message_id).await?;
        // One of somebody else, or of another instant, is a conflict, which ends as a dead letter.
        let is_ours =
            |it: &Claimed| (&it.author_id, it.at, it.private) == (author_id, post.at, post.private);
        let ours = claimed.filter(is_ours);
        let Some(claimed) = ours else { return Ok(CommandStatus::Pending) };
        if !claimed.says(&post.payload) {
            let first = "the id was used before with another payload, and the first message stays";
            return Ok(CommandStatus::overtaken(first));
        }
        if self.rooms.is_deleted(&post.key).await? {
            let deleted = "the message was deleted, which is permanent: nobody is shown it";
            return Ok(CommandStatus::overtaken(deleted));
        }
        Ok(CommandStatus::applied_if(self.both_are(&post.key, &claimed, StoredRow::Message).await?))
    }

    /// A delete: the marker, and tombstones for both rows.
    pub(super) async fn message_deleted(&self, MessageDeleted { key }: &MessageDeleted) -> Looked {
        if !self.rooms.is_deleted(key).await? {
            return Ok(CommandStatus::Pending);
        }
        match self.rooms.claimed(&key.room_id, &key.message_id).await? {
            None => Ok(CommandStatus::but(
                "nothing is posted under that id yet, and its post will have no effect",
            )),
            Some(Claimed { author_id, .. }) if author_id != key.author_id => {
                let theirs = "and nobody else's delete has an effect";
                Ok(CommandStatus::overtaken(format!("the message is {author_id}'s, {theirs}")))
            }
            Some(claimed) if claimed.erased => Ok(CommandStatus::applied()),
            Some(claimed) => {
                let are_gone = self.both_are(key, &claimed, StoredRow::Tombstone).await?;
                Ok(CommandStatus::applied_if(are_gone))
            }
        }
    }

    async fn both_are(
        &self,
        key: &MessageKey,
        claimed: &Claimed,
        wanted: StoredRow,
    ) -> Result<bool> {
        for row in claimed.rows(&key.room_id, &key.message_id) {
            if self.rooms.stored(row).await? != Some(wanted) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A join or a leave: the membership holds it, or one that wins over it.
    pub(super) async fn membership(&self, change: &MembershipChange) -> Looked {
        let there = self.rooms.membership(&change.room_id, &change.viewer_id).await?;
        Ok(CommandStatus::of_record(there, change.state, |there| {
            let what = if there.on { "join" } else { "leave" };
            format!("the {what} of {} holds", there.changed_at)
        }))
    }
}
