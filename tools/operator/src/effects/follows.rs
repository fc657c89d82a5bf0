//! Follow and unfollow.

use std::collections::HashSet;

use shared::platform::dynamo::BATCH_GET;
use shared::platform::register::Register;
use shared::platform::values::{SortKey, ViewerId};
use shared::social::activities::OutboxPage;
use shared::social::follows::FollowChange;
use shared::social::timelines::entry_key;

use super::{CommandStatus, Effects, Looked, PAGES};
use crate::Result;

/// How far one viewer's entries of an actor have been seen to be right, from the newest on.
#[derive(Debug, Default)]
pub(super) struct RowsSeen {
    /// The last activity whose entry was right.
    after: Option<SortKey>,
    entries: u64,
}

impl Effects {
    /// A follow or unfollow: its edge, and the viewer's entries of all that the actor published.
    pub(super) async fn followed(&self, change: &FollowChange, seen: &mut RowsSeen) -> Looked {
        for _ in 0..PAGES {
            if let Some(standing) = self.edge(change).await? {
                return Ok(standing);
            }
            let (from, after) = (self.retention.start(self.clock.now()), seen.after.as_ref());
            let page = self.activities.outbox(&change.followee_id, from, after).await?;
            if !self.agrees(change, &page, seen).await? {
                return Ok(CommandStatus::Pending);
            }
            if !page.more {
                // Whoever has changed the edge meanwhile may have changed entries that were right.
                if let Some(standing) = self.edge(change).await? {
                    return Ok(standing);
                }
                if !change.state.on {
                    return Ok(CommandStatus::applied());
                }
                // It is shown all at once, when all of it is there.
                return Ok(match self.is_joining(change).await? {
                    true => CommandStatus::Pending,
                    false => CommandStatus::with_entries(seen.entries),
                });
            }
        }
        Ok(CommandStatus::Pending)
    }

    /// True if the viewer is not shown yet what the follow backfills.
    async fn is_joining(&self, change: &FollowChange) -> Result<bool> {
        let FollowChange { follower_id, followee_id, .. } = change;
        let hidden = self.follows.hidden(follower_id).await?;
        let edge = self.follows.edge_state(follower_id, followee_id).await?;
        let is_marked = edge.is_some_and(|edge| edge.is_joining);
        Ok(hidden.hides(followee_id) || (hidden.asks_edges(self.clock.now()) && is_marked))
    }

    /// What the edge says of the command; `None` if it states what the command states.
    async fn edge(&self, change: &FollowChange) -> Result<Option<CommandStatus>> {
        let FollowChange { follower_id, followee_id, state } = change;
        let now = self.follows.state(follower_id, followee_id).await?;
        let holds = |Register { on: following, changed_at }: Register| {
            format!("{} of {changed_at} holds", if following { "a follow" } else { "an unfollow" })
        };
        let differs = now != Some(*state);
        Ok(differs.then(|| CommandStatus::of_record(now, *state, holds)))
    }

    /// Looks through the entries of one page of the outbox. False if one of them is not as the edge says.
    async fn agrees(
        &self,
        change: &FollowChange,
        page: &OutboxPage,
        seen: &mut RowsSeen,
    ) -> Result<bool> {
        let sort_keys: Vec<_> = page.rows.iter().map(|row| row.sort_key.to_string()).collect();
        let there = self.entries_of(&change.follower_id, &sort_keys).await?;
        for (row, sort_key) in page.rows.iter().zip(&sort_keys) {
            let there = there.contains(sort_key);
            let right = match change.state.on {
                true => there || row.deleted,
                false => !there,
            };
            if !right {
                return Ok(false);
            }
            seen.entries += u64::from(there && !row.deleted);
            seen.after = Some(row.sort_key.clone());
        }
        Ok(true)
    }

    /// Which of these sort keys a viewer has entries with.
    async fn entries_of(&self, viewer: &ViewerId, sort_keys: &[String]) -> Result<HashSet<String>> {
        let mut there = HashSet::new();
        for some in sort_keys.chunks(BATCH_GET) {
            let keys = some.iter().map(|sort_key| entry_key(viewer, sort_key)).collect();
            for row in self.timelines.table().batch_get(keys).await? {
                there.insert(row.text("sort_key")?.to_owned());
            }
        }
        Ok(there)
    }
}
