//! A page of what a viewer likes: entries of the list, without those that are not in force and those of unknown or deleted activities.
//!
//! However many of those there are, the list is read at most [twice](PASSES): once for the entries of a page, and once for some more.
//! If the page is not full then, the next one continues from the last entry examined.

use std::collections::VecDeque;

use futures::future::try_join;
use shared::activities::{Activities, Published};
use shared::dynamo::{BATCH_GET, DynamoError};
use shared::likes::list::{Entries, is_in_force};
use shared::likes::{Like, LikeList, Likes};
use shared::values::{ActorId, ViewerId};

use crate::Context;

/// The most reads of the list for one page.
const PASSES: usize = 2;
/// The fewest entries of the second read. Each takes three units.
const SOME: usize = 34;

/// An activity that is liked.
pub(super) type Found = (Like, (ActorId, Published));

/// What a viewer likes.
pub(super) struct Listed<'a> {
    viewer: &'a ViewerId,
    list: LikeList,
    likes: Likes,
    activities: Activities,
}

/// Where likes come from.
enum Source {
    List,
    /// The rows, if the list is not complete.
    Rows(VecDeque<Like>),
}

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
        mut after: Option<Like>,
        limit: usize,
    ) -> Result<(Vec<Found>, Option<Like>), DynamoError> {
        let (mut found, mut source) = (Vec::new(), Source::List);
        for pass in 0..PASSES {
            let most = (limit + 1).max(if pass > 0 { SOME } else { 0 }).min(BATCH_GET);
            let (likes, has_more) = self.next(&mut source, after.as_ref(), most).await?;
            found.extend(self.shown(&likes).await?);
            after = likes.into_iter().last().or(after);
            if found.len() > limit {
                found.truncate(limit);
                let last = found.last().map(|(like, _)| like.clone());
                return Ok((found, last));
            }
            if !has_more {
                return Ok((found, None));
            }
        }
        Ok((found, after))
    }

    /// The next likes, and whether there may be more.
    async fn next(
        &self,
        source: &mut Source,
        after: Option<&Like>,
        most: usize,
    ) -> Result<(Vec<Like>, bool), DynamoError> {
        if let Source::List = source {
            let Entries { is_whole, likes, has_more } =
                self.list.entries(self.viewer, after, most).await?;
            if is_whole {
                return Ok((likes, has_more));
            }
            let all = self.likes.of_viewer(self.viewer).await?;
            let behind = |like: &Like| after.is_none_or(|after| like < after);
            *source = Source::Rows(all.into_iter().filter(behind).collect());
        }
        let Source::Rows(left) = source else { return Ok((Vec::new(), false)) };
        let likes = left.drain(..most.min(left.len())).collect();
        Ok((likes, !left.is_empty()))
    }

    /// Those of some likes that are shown.
    async fn shown(&self, likes: &[Like]) -> Result<Vec<Found>, DynamoError> {
        // An activity that was liked again is listed twice for a moment.
        let mut each_once: Vec<_> = likes.iter().map(|like| like.activity_id.clone()).collect();
        each_once.sort_unstable();
        each_once.dedup();
        let states = self.likes.states(self.viewer, &each_once);
        let published = self.activities.all_published(&each_once);
        let (states, mut published) = try_join(states, published).await?;
        let in_force = likes.iter().filter(|like| is_in_force(like, states.get(&like.activity_id)));
        let found = in_force.filter_map(|like| {
            published.remove(&like.activity_id).map(|activity| (like.clone(), activity))
        });
        Ok(found.collect())
    }
}
