//! Reads entries, to see whether they are there.

use std::collections::HashSet;

use shared::dynamo::{BATCH_GET, DynamoError};
use shared::fanout::FanOutKind;
use shared::follows::{Edge, FollowerRange};
use shared::timelines::entry_key;
use shared::values::{ActorId, SortKey, ViewerId};

use super::{CommandStatus, Effects, PAGES};

/// Followers read at once: as many as their entries can be.
const FOLLOWERS: u16 = BATCH_GET as u16;

/// How far the followers' entries of one activity have been seen to be right.
#[derive(Debug, Default)]
pub(super) struct FollowersSeen {
    /// The sort key of the last edge whose entry was right.
    after: Option<String>,
    /// Entries that are there.
    entries: u64,
}

/// How far one viewer's entries of an actor have been seen to be right, from the newest on.
#[derive(Debug, Default)]
pub(super) struct RowsSeen {
    /// The last activity whose entry was right.
    pub(super) after: Option<SortKey>,
    /// Entries that are there.
    pub(super) entries: u64,
}

impl Effects {
    /// Looks through the followers' entries of one activity, as far as they are right.
    pub(super) async fn seen_by_followers(
        &self,
        actor: &ActorId,
        sort_key: &SortKey,
        kind: FanOutKind,
        seen: &mut FollowersSeen,
    ) -> Result<CommandStatus, DynamoError> {
        let sort_key = sort_key.to_string();
        for _ in 0..PAGES {
            let (after, all) = (seen.after.as_deref(), FollowerRange::ALL);
            let page = self.follows.edges(actor, all, after, FOLLOWERS).await?;
            let followers: Vec<_> = page.edges.iter().map(|edge| edge.follower.clone()).collect();
            let holders = self.timelines.holders(&followers, &sort_key).await?;
            let holders: HashSet<_> = holders.into_iter().collect();
            for Edge { follower, following, sort_key } in page.edges {
                let there = holders.contains(&follower);
                let right = match kind {
                    FanOutKind::Insert => there || !following,
                    FanOutKind::Remove => !there || !following,
                };
                if !right {
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

    /// Which of these sort keys a viewer has entries with.
    pub(super) async fn entries_of(
        &self,
        viewer: &ViewerId,
        sort_keys: &[String],
    ) -> Result<HashSet<String>, DynamoError> {
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
