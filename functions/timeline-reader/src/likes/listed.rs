//! A page of what a viewer likes: entries of the list, less those that are not in force, and those whose activities are
//! unknown or deleted.
//!
//! However many of those there are, the list is asked [twice](PASSES) at most, for as many entries as make a page and
//! once for some more. A page that is not full then goes on from the last entry that was looked at.

use std::collections::VecDeque;

use futures::future::try_join;
use shared::activities::{Activities, Published};
use shared::dynamo::{BATCH_GET, DynamoError};
use shared::likes::list::{Entries, is_in_force};
use shared::likes::{Like, LikeList, Likes};
use shared::values::{ActorId, ViewerId};

use crate::Context;

/// How often the list is asked for one page.
const PASSES: usize = 2;
/// How many entries are looked at at least where the first of them do not make a page. Each takes three units.
const SOME: usize = 34;

/// An activity that is liked.
pub(super) type Found = (Like, (ActorId, Published));

/// What a viewer likes.
pub(super) struct Listed<'a> {
    viewer: &'a ViewerId,
    cx: &'a Context<'a>,
    list: LikeList,
    likes: Likes,
    activities: Activities,
}

/// Where likes come from.
enum Source {
    List,
    /// The rows, where the list is not whole.
    Rows(VecDeque<Like>),
}

impl<'a> Listed<'a> {
    pub(super) fn new(cx: &'a Context<'a>, viewer: &'a ViewerId) -> Self {
        let ledger = cx.reader.ledger.over(cx.dynamo);
        let likes = Likes::new(&cx.reader.facts.over(cx.dynamo));
        let (list, activities) = (LikeList::new(&ledger), Activities::new(&ledger));
        Self { viewer, cx, list, likes, activities }
    }

    /// What is liked beyond a like, and from which to go on if there may be more.
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
                self.list.entries(self.viewer, after, most, self.cx.deadline).await?;
            if is_whole {
                return Ok((likes, has_more));
            }
            let all = self.likes.of_viewer(self.viewer, self.cx.deadline).await?;
            let behind = |like: &Like| after.is_none_or(|after| like < after);
            *source = Source::Rows(all.into_iter().filter(behind).collect());
        }
        let Source::Rows(left) = source else { return Ok((Vec::new(), false)) };
        let likes = left.drain(..most.min(left.len())).collect();
        Ok((likes, !left.is_empty()))
    }

    /// Those of some likes that are shown.
    async fn shown(&self, likes: &[Like]) -> Result<Vec<Found>, DynamoError> {
        // One that was liked again is listed twice for a moment.
        let mut each_once: Vec<_> = likes.iter().map(|like| like.activity_id.clone()).collect();
        each_once.sort_unstable();
        each_once.dedup();
        let states = self.likes.states(self.viewer, &each_once, self.cx.deadline);
        let published = self.activities.all_published(&each_once, self.cx.deadline);
        let (states, mut published) = try_join(states, published).await?;
        let in_force = likes.iter().filter(|like| is_in_force(like, states.get(&like.activity_id)));
        let found = in_force.filter_map(|like| {
            published.remove(&like.activity_id).map(|activity| (like.clone(), activity))
        });
        Ok(found.collect())
    }
}
