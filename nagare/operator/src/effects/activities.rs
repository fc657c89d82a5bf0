//! Publish, update and delete.

use shared::activities::{ActivityKey, Change, Delete, Edit, Publish, Published, Update};
use shared::dynamo::DynamoError;
use shared::fanout::FanOutKind;
use shared::values::{ActorId, SortKey};

use super::entries::FollowersSeen;
use super::{CommandStatus, Effects};

pub(super) const DELETED: &str = "the activity was deleted, which is permanent: nobody is shown it";

impl Effects {
    /// A publish: its record, its outbox row, and an entry for every follower.
    pub(super) async fn published(
        &self,
        publish: &Publish,
        seen: &mut FollowersSeen,
    ) -> Result<CommandStatus, DynamoError> {
        let (key, sort_key) = (publish.key(), publish.sort_key());
        let record = self.activities.activity(&key).await?;
        // One of another instant is a conflict, which ends as a dead letter.
        let Some(published) = record.published.filter(|it| it.at == publish.published_at) else {
            return Ok(CommandStatus::Pending);
        };
        if record.deleted {
            return Ok(CommandStatus::Overtaken(DELETED.to_owned()));
        }
        let Publish { published_at: at, kind, payload, .. } = publish.clone();
        if published != (Published { at, kind, payload }) {
            let first =
                "the id was published before with other content, and the first publish stays";
            return Ok(CommandStatus::Overtaken(first.to_owned()));
        }
        if self.activities.listed(&key.actor_id, &sort_key).await?.is_none() {
            return Ok(CommandStatus::Pending);
        }
        if !self.all_listed(&sort_key).await? {
            return Ok(CommandStatus::Pending);
        }
        if !self.retention.holds(publish.published_at, self.clock.now()) {
            let old =
                "it is older than retention: it is on the pages of its actor, and in no timeline";
            return Ok(CommandStatus::but(old));
        }
        self.fanned_out(&key, &sort_key, FanOutKind::Insert, seen).await
    }

    /// An update: the record holds it. Readers look the content up.
    pub(super) async fn updated(&self, update: &Update) -> Result<CommandStatus, DynamoError> {
        let (key, change): (ActivityKey, Change) = update.clone().into();
        let record = self.activities.activity(&key).await?;
        let mut merged = record.clone();
        merged.merge(change);
        if merged != record {
            return Ok(CommandStatus::Pending);
        }
        if record.deleted {
            return Ok(CommandStatus::Overtaken(DELETED.to_owned()));
        }
        let payload = Edit { at: update.at, value: update.payload.clone() };
        let kind = update.kind.clone().map(|value| Edit { at: update.at, value });
        if record.payload != Some(payload) || (kind.is_some() && record.kind != kind) {
            return Ok(CommandStatus::Overtaken("a later update of the activity holds".to_owned()));
        }
        match record.published {
            Some(_) => Ok(CommandStatus::applied()),
            None => {
                self.before_its_publish(&key, "it is kept until the activity is published").await
            }
        }
    }

    /// A delete: the tombstone, the mark in the outbox, and no entry of any follower.
    pub(super) async fn deleted(
        &self,
        delete: &Delete,
        seen: &mut FollowersSeen,
    ) -> Result<CommandStatus, DynamoError> {
        let Delete { activity_id, actor_id } = delete.clone();
        let key = ActivityKey { activity_id, actor_id };
        let record = self.activities.activity(&key).await?;
        if !record.deleted {
            return Ok(CommandStatus::Pending);
        }
        let Some(published) = record.published else {
            let remark =
                "nothing is published under that id yet, and its publish will have no effect";
            return self.before_its_publish(&key, remark).await;
        };
        let sort_key = published.sort_key(&key);
        let row = self.activities.listed(&key.actor_id, &sort_key).await?;
        if !row.is_some_and(|row| row.deleted) {
            return Ok(CommandStatus::Pending);
        }
        if !self.retention.holds(published.at, self.clock.now()) {
            return Ok(CommandStatus::applied());
        }
        match self.fanned_out(&key, &sort_key, FanOutKind::Remove, seen).await? {
            CommandStatus::Applied { .. } => Ok(CommandStatus::applied()),
            other => Ok(other),
        }
    }

    /// A command about an activity that its actor has not published: it waits for the publish, unless the id belongs to somebody else.
    async fn before_its_publish(
        &self,
        key: &ActivityKey,
        remark: &'static str,
    ) -> Result<CommandStatus, DynamoError> {
        let owner = self.activities.claimed(&key.activity_id).await?;
        let other = owner.filter(|(actor, _): &(ActorId, _)| *actor != key.actor_id);
        Ok(match other {
            None => CommandStatus::but(remark),
            Some((actor, _)) => CommandStatus::Overtaken(format!(
                "the activity is {actor}'s, and what others say of it has no effect"
            )),
        })
    }

    /// The entries of all followers. Of a fan-out in segments its own notes say so; of all others the entries are read one by one.
    async fn fanned_out(
        &self,
        key: &ActivityKey,
        sort_key: &SortKey,
        kind: FanOutKind,
        seen: &mut FollowersSeen,
    ) -> Result<CommandStatus, DynamoError> {
        match self.fan_outs.fan_out(key, kind).await? {
            Some(fan_out) if fan_out.ended_at.is_some() || fan_out.segments_left() == 0 => {
                Ok(CommandStatus::with_entries(fan_out.written()))
            }
            Some(_) => Ok(CommandStatus::Pending),
            None => self.seen_by_followers(&key.actor_id, sort_key, kind, seen).await,
        }
    }
}
