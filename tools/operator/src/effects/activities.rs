//! Publish, update and delete.

use std::collections::HashSet;

use shared::platform::dynamo::BATCH_GET;
use shared::platform::values::{ActorId, SortKey};
use shared::social::activities::{
    ActivityChange, ActivityKey, ActivityUpdate, Delete, Edit, Publish, Published,
};
use shared::social::fanout::FanOutKind;
use shared::social::follows::{Edge, FollowerRange};

use super::{CommandStatus, Effects, Looked, PAGES};

/// Followers read at once: as many as their entries can be.
const FOLLOWERS: u16 = BATCH_GET as u16;

pub(super) const DELETED: &str = "the activity was deleted, which is permanent: nobody is shown it";

/// How far the followers' entries of one activity have been seen to be right.
#[derive(Debug, Default)]
pub(super) struct FollowersSeen {
    /// The sort key of the last edge whose entry was right.
    after: Option<String>,
    entries: u64,
}

impl Effects {
    /// A publish: its record, its outbox row, and an entry for every follower.
    pub(super) async fn published(&self, publish: &Publish, seen: &mut FollowersSeen) -> Looked {
        let (key, sort_key) = (publish.key(), publish.sort_key());
        let record = self.activities.activity(&key).await?;
        // One of another instant is a conflict, which ends as a dead letter.
        let Some(published) = record.published.filter(|it| it.at == publish.published_at) else {
            return Ok(CommandStatus::Pending);
        };
        if record.deleted {
            return Ok(CommandStatus::overtaken(DELETED));
        }
        let Publish { published_at: at, kind, payload, .. } = publish.clone();
        if published != (Published { at, kind, payload }) {
            let first =
                "the id was published before with other content, and the first publish stays";
            return Ok(CommandStatus::overtaken(first));
        }
        if self.activities.listed(&key.actor_id, &sort_key).await?.is_none()
            || !self.all_listed(&sort_key).await?
        {
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
    pub(super) async fn updated(&self, update: &ActivityUpdate) -> Looked {
        let (key, change): (ActivityKey, ActivityChange) = update.clone().into();
        let record = self.activities.activity(&key).await?;
        let mut merged = record.clone();
        merged.merge(change);
        if merged != record {
            return Ok(CommandStatus::Pending);
        }
        if record.deleted {
            return Ok(CommandStatus::overtaken(DELETED));
        }
        let payload = Edit { at: update.at, value: update.payload.clone() };
        let kind = update.kind.clone().map(|value| Edit { at: update.at, value });
        if record.payload != Some(payload) || (kind.is_some() && record.kind != kind) {
            return Ok(CommandStatus::overtaken("a later update of the activity holds"));
        }
        match record.published {
            Some(_) => Ok(CommandStatus::applied()),
            None => {
                self.before_its_publish(&key, "it is kept until the activity is published").await
            }
        }
    }

    /// A delete: the tombstone, the mark in the outbox, and no entry of any follower.
    pub(super) async fn deleted(&self, delete: &Delete, seen: &mut FollowersSeen) -> Looked {
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
    async fn before_its_publish(&self, key: &ActivityKey, remark: &'static str) -> Looked {
        let owner = self.activities.claimed(&key.activity_id).await?;
        let other = owner.filter(|(actor, _): &(ActorId, _)| *actor != key.actor_id);
        Ok(match other {
            None => CommandStatus::but(remark),
            Some((actor, _)) => CommandStatus::overtaken(format!(
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
    ) -> Looked {
        match self.fan_outs.fan_out(key, kind).await? {
            Some(fan_out) if fan_out.ended_at.is_some() || fan_out.segments_left() == 0 => {
                Ok(CommandStatus::with_entries(fan_out.written()))
            }
            Some(_) => Ok(CommandStatus::Pending),
            None => self.seen_by_followers(&key.actor_id, sort_key, kind, seen).await,
        }
    }

    /// Looks through the followers' entries of one activity, as far as they are right.
    pub(super) async fn seen_by_followers(
        &self,
        actor: &ActorId,
        sort_key: &SortKey,
        kind: FanOutKind,
        seen: &mut FollowersSeen,
    ) -> Looked {
        let sort_key = sort_key.to_string();
        for _ in 0..PAGES {
            let (after, all) = (seen.after.as_deref(), FollowerRange::ALL);
            let page = self.follows.edges(actor, all, after, FOLLOWERS).await?;
            let followers: Vec<_> = page.edges.iter().map(|edge| edge.follower.clone()).collect();
            let holders = self.timelines.holders(&followers, &sort_key).await?;
            let holders: HashSet<_> = holders.into_iter().collect();
            for Edge { follower, following, sort_key } in page.edges {
                let there = holders.contains(&follower);
                if following && there != (kind == FanOutKind::Insert) {
                    return Ok(CommandStatus::Pending);
                }
                seen.entries += u64::from(there && following);
                seen.after = Some(sort_key);
            }
            if page.next.is_none() {
                return Ok(CommandStatus::with_entries(seen.entries));
            }
        }
        Ok(CommandStatus::Pending)
    }
}
