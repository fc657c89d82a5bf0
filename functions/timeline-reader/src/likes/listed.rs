//! A page of what a viewer likes, as it was at the moment of one query of the list.
//!
//! The entries of that query say where each activity stands ([`list`](shared::social::likes::list)). Rows and activities are read after it.
//! A like that has moved since is shown where it was: its row says since when the viewer has liked the activity without an undo, so
//! an entry from then on was in force. A like that is undone by then, and an activity that is unknown or deleted by then, is left out.
//!
//! If the page is not full, one query reads more entries from the same start. Then the page is of the moment of that query, so the
//! rows are read again after it; activities that are known are not. After [`FURTHER`] entries the page ends, and the next one
//! continues after the last entry examined.

use std::collections::{BTreeSet, HashMap};

use futures::future::try_join;
use shared::platform::dynamo::DynamoError;
use shared::platform::values::{ActivityId, ActorId, ViewerId};
use shared::social::activities::{Activities, Published};
use shared::social::likes::list::Entries;
use shared::social::likes::{Like, LikeList, Likes, RecordedLike};

use crate::reader::Context;

/// Entries that each query reads beyond those of a full page. An entry takes one to three units.
const FURTHER: [usize; 3] = [0, 80, 240];

pub(super) type LikedActivity = (Like, (ActorId, Published));

/// What a viewer likes.
pub(super) struct Listed<'a> {
    viewer: &'a ViewerId,
    list: LikeList,
    likes: Likes,
    activities: Activities,
}

/// The activities of entries; `None` if one is not shown.
type Known = HashMap<ActivityId, Option<(ActorId, Published)>>;
/// The rows of entries, all read after the query that found these.
type LikeRows = HashMap<ActivityId, RecordedLike>;

impl<'a> Listed<'a> {
    pub(super) fn new(cx: &'a Context<'a>, viewer: &'a ViewerId) -> Self {
        let ledger = &cx.reader.ledger;
        let likes = Likes::new(&cx.reader.facts);
        let (list, activities) = (LikeList::new(ledger), Activities::new(ledger));
        Self { viewer, list, likes, activities }
    }

    /// Likes after one of them, and the like to continue from if there may be more.
    pub(super) async fn page(
        &self,
        after: Option<&Like>,
        limit: usize,
    ) -> Result<(Vec<LikedActivity>, Option<Like>), DynamoError> {
        let (mut known, mut page) = (Known::new(), (Vec::new(), None));
        for further in FURTHER {
            let Entries { likes: entries, has_more } =
                self.list.entries(self.viewer, after, limit + 1 + further).await?;
            let rows = self.look_up(&entries, &mut known).await?;
            let mut found = shown(&entries, after, &known, &rows);
            let is_full = found.len() > limit;
            found.truncate(limit);
            let last = if is_full { found.last().map(|(like, _)| like) } else { entries.last() };
            let next = last.filter(|_| is_full || has_more).cloned();
            page = (found, next);
            if is_full || !has_more {
                break;
            }
        }
        Ok(page)
    }

    /// Looks up the activities of entries that are not known, and all rows.
    async fn look_up(&self, entries: &[Like], known: &mut Known) -> Result<LikeRows, DynamoError> {
        let ids: BTreeSet<_> = entries.iter().map(|like| &like.activity_id).collect();
        let unknown: Vec<_> = ids.iter().copied().filter(|id| !known.contains_key(*id)).collect();
        let owners = self.activities.all_claimed(unknown.iter().copied()).await?;
        let may_be_shown =
            |id: &&ActivityId| owners.contains_key(*id) || matches!(known.get(*id), Some(Some(_)));
        let may_be_shown: Vec<_> = ids.iter().copied().filter(may_be_shown).cloned().collect();
        let (mut published, rows) = try_join(
            self.activities.published_by_owners(owners),
            self.likes.looked_up(self.viewer, &may_be_shown),
        )
        .await?;
        known.extend(unknown.into_iter().map(|id| (id.clone(), published.remove(id))));
        Ok(rows)
    }
}

/// The entries that are shown, each activity at its latest one.
fn shown(
    entries: &[Like],
    after: Option<&Like>,
    known: &Known,
    rows: &LikeRows,
) -> Vec<LikedActivity> {
    let mut seen = BTreeSet::new();
    let found = entries.iter().filter_map(|entry| {
        let activity = known.get(&entry.activity_id)?.as_ref()?;
        let row = rows.get(&entry.activity_id)?;
        let now = Like { liked_at: row.state.changed_at, ..entry.clone() };
        // A like that has moved beyond the start of this page is on an earlier one.
        let is_here = row.lists(entry.liked_at) && after.is_none_or(|after| now < *after);
        (is_here && seen.insert(&entry.activity_id)).then(|| (entry.clone(), activity.clone()))
    });
    found.collect()
}
