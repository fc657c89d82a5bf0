//! Audits of polls: comparing their views with a recount of the votes.
//!
//! Views and facts are read as `views.rs` says. A view is compared with all that it is made of: rules, end, sums, and the events from
//! which the sums follow if the poll is closed early.
//!
//! A repair writes all events into new blocks, under numbers that no projector writes. Then it writes the view, on the condition that
//! the view is the one that was compared. Whoever has read the view before may still read its old blocks, so those expire a day
//! later.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use shared::platform::dynamo::item::{Item, Key, text};
use shared::platform::dynamo::{DynamoError, IN_FLIGHT, Query};
use shared::platform::ledger::FORGET_AT;
use shared::platform::projection::{BarrierProgress, View};
use shared::platform::values::PollId;
use shared::social::polls::{
    EventDigest, PollRow, PollRules, PollTally, Recount, Sums, VoteHistory, keys,
};

use super::views::{AuditError, Compared, ViewsAuditor};
use crate::Result;
use crate::audit::Found;
use crate::erasure::marks::marking;
use crate::scan::{filtered, partition, scan};

/// How long old blocks are kept, for readers that have read a view before it was repaired.
const KEPT: Duration = Duration::from_secs(86_400);

/// A view that differs from a recount of the votes.
#[derive(Debug, Clone, Serialize)]
pub struct PollDifference {
    pub poll_id: PollId,
    /// What the view says; nothing if it cannot be read, or knows no poll.
    pub stored: Option<Sums>,
    /// What the facts come to; nothing if no poll was opened.
    pub recounted: Option<Sums>,
    /// Whether the sums would be wrong after an early end.
    pub events_differ: bool,
}

/// What the facts say of one poll.
enum PollFacts {
    Opened(Box<Recount>),
    /// It was opened by somebody who is erased.
    Erased,
}

impl ViewsAuditor {
    /// Compares what views say of polls with a recount of the votes, and repairs what differs if that is wanted.
    pub async fn polls(
        &self,
        polls: &[PollId],
        repair: bool,
    ) -> Result<Found<PollDifference, PollId>, AuditError> {
        self.in_rounds(
            polls,
            keys::view,
            async |round| Ok((self.votes(round, repair).await?, self.folded(repair).await?)),
            async |poll, view, (tallies, mend_as_of)| match tallies.remove(poll) {
                None => Ok(Self::compare_unopened(poll, &view)),
                Some(PollFacts::Erased) => Ok(None),
                Some(PollFacts::Opened(recount)) => {
                    self.compare_votes(poll, view, *recount, mend_as_of.as_ref()).await
                }
            },
        )
        .await
    }

    /// What the facts say of these polls. Votes are listed under their viewers and not under the poll, so all facts are scanned.
    async fn votes(
        &self,
        polls: &[PollId],
        keeps_events: bool,
    ) -> Result<BTreeMap<PollId, PollFacts>> {
        let mut tallies = BTreeMap::new();
        for poll in polls {
            tallies.extend(self.opened(poll, keeps_events).await?.map(|it| (poll.clone(), it)));
        }
        let query = filtered("begins_with(pk, :votes)", vec![(":votes", text(keys::VOTES))]);
        scan(self.facts.table(), "facts read", query, |row| {
            let Some(PollRow::Vote(_, poll)) = PollRow::of(&Key::of(row)?) else { return Ok(()) };
            if let Some(PollFacts::Opened(recount)) = tallies.get_mut(&poll) {
                recount.add(&VoteHistory::read(row)?);
            }
            Ok(())
        })
        .await?;
        Ok(tallies)
    }

    /// What the facts say of a poll before its votes are read: its rules and its ends. `None` if it was not opened.
    async fn opened(&self, poll: &PollId, keeps_events: bool) -> Result<Option<PollFacts>> {
        let (mut rules, mut ends) = (None, Vec::new());
        for row in self.facts.table().all(partition(keys::opened(poll).pk)).await? {
            match PollRow::of(&Key::of(&row)?) {
                Some(PollRow::Opened(_)) if row.item.contains_key(FORGET_AT) => {
                    return Ok(Some(PollFacts::Erased));
                }
                Some(PollRow::Opened(_)) => rules = Some(PollRules::read(&row)?),
                Some(PollRow::End(_, actor)) => ends.push((actor, row.parsed("at", "an instant")?)),
                Some(PollRow::Vote(..)) | None => {}
            }
        }
        let recount = rules.map(|rules| Recount::new(rules, ends, keeps_events));
        Ok(recount.map(|recount| PollFacts::Opened(Box::new(recount))))
    }

    /// Checks a poll that was not opened. Votes may wait for it, but its view may say nothing else. There is nothing to repair that
    /// from.
    fn compare_unopened(poll: &PollId, view: &View<PollTally>) -> Option<Compared<PollDifference>> {
        let stored = view.state.sums();
        if stored.is_none() && !view.is_unreadable() {
            return None;
        }
        let poll_id = poll.clone();
        let difference = PollDifference { poll_id, stored, recounted: None, events_differ: false };
        Some(Compared::Differs(difference))
    }

    /// Compares a view with a recount. If it is to be repaired, it is written with the high-water marks of the barrier.
    async fn compare_votes(
        &self,
        poll: &PollId,
        view: View<PollTally>,
        recount: Recount,
        mend_as_of: Option<&View<BarrierProgress>>,
    ) -> Result<Option<Compared<PollDifference>>> {
        let key = keys::view(poll);
        let difference = PollDifference {
            poll_id: poll.clone(),
            stored: view.state.sums(),
            recounted: Some(recount.sums()),
            events_differ: self.digest(&key, &view.state).await? != Some(recount.digest()),
        };
        let differs = difference.stored != difference.recounted || difference.events_differ;
        if !differs && !view.state.is_stuck() && !view.is_unreadable() {
            return Ok(None);
        }
        let Some(passed) = mend_as_of else { return Ok(Some(Compared::Differs(difference))) };
        let is_written = self.mend_poll(&key, view, recount, passed).await?;
        Ok(Some(Compared::repaired(is_written, difference)))
    }

    /// When choices won and lost votes, by what a view says; `None` if a block cannot be read. The blocks do not change, whatever
    /// becomes of the view.
    async fn digest(&self, key: &Key, state: &PollTally) -> Result<Option<EventDigest>> {
        let mut digest = state.digest();
        let (Some((first, last)), Some(end)) = (state.blocks_of_events(), state.end()) else {
            return Ok(Some(digest));
        };
        let query = Query {
            keys: Some("pk = :pk AND sk BETWEEN :first AND :last"),
            values: vec![
                (":pk", text(key.pk.as_str())),
                (":first", text(first)),
                (":last", text(last)),
            ],
            ..Query::default()
        };
        let counted =
            scan(self.views.table(), "blocks read", query, |row| digest.add_block(row, end));
        match counted.await {
            Ok(()) => Ok(Some(digest)),
            Err(DynamoError::Corrupt { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Writes what the view should say, unless it has changed.
    async fn mend_poll(
        &self,
        key: &Key,
        view: View<PollTally>,
        recount: Recount,
        passed: &View<BarrierProgress>,
    ) -> Result<bool> {
        let (state, blocks) = recount.repaired(&view.state, key);
        let keys: Vec<_> = blocks.iter().map(key_of).collect();
        let puts = blocks.into_iter().map(|block| self.views.table().put(block));
        stream::iter(puts).buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
        let mended = view.with(state.clone()).caught_up_with(passed);
        if !self.views.write(vec![mended.write(key.clone())]).await? {
            // A write that was answered late and repeated is refused by itself.
            let there = self.views.read(key.clone(), View::<PollTally>::read_to_fold).await?;
            if there.state.first_block() != state.first_block() {
                for key in keys {
                    self.views.table().delete(key, None).await?;
                }
                return Ok(false);
            }
        }
        self.expire_past(key, &state).await?;
        Ok(true)
    }

    /// Marks the old blocks to expire.
    async fn expire_past(&self, view: &Key, state: &PollTally) -> Result<()> {
        let query = Query {
            filter: Some("attribute_not_exists(#forget)"),
            projection: Some("pk, sk"),
            names: vec![("#forget", FORGET_AT)],
            ..partition(view.pk.as_str())
        };
        let mut past = Vec::new();
        scan(self.views.table(), "blocks read", query, |row| {
            past.extend(Some(Key::of(row)?).filter(|key| state.is_past(&key.sk)));
            Ok(())
        })
        .await?;
        let until = self.clock.now().unix_seconds_after(KEPT);
        let marks = past.into_iter().map(|key| {
            let mark = marking("SET #forget = :until", "attribute_exists(pk)", until);
            self.views.table().update(key.into_item(), mark)
        });
        let marked = stream::iter(marks).buffer_unordered(IN_FLIGHT);
        marked.try_for_each(|_| std::future::ready(Ok(()))).await
    }
}

/// The attributes of the key of an item.
fn key_of(item: &Item) -> Item {
    let key = item.iter().filter(|(name, _)| matches!(name.as_str(), "pk" | "sk"));
    key.map(|(name, value)| (name.clone(), value.clone())).collect()
}
