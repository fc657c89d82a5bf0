//! Audits of polls: comparing their views with a recount of the votes.
//!
//! Views and facts are read as `views.rs` says. A view is compared with all that it is made of: rules, end, sums, and the events from
//! which the sums follow if the poll is closed early.
//!
//! A repair writes all events into new blocks, under numbers that no projector writes. Then it writes the view, on the condition that
//! the view is the one that was compared. Whoever has read the view before may still read its old blocks, so those expire a day
//! later.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use shared::dynamo::item::{Item, Key, number, text};
use shared::dynamo::{DynamoError, IN_FLIGHT, Query, Update};
use shared::ledger::FORGET_AT;
use shared::polls::{EventDigest, History, PollRow, PollTally, Recount, Rules, Sums, keys};
use shared::projection::{BarrierProgress, View};
use shared::values::PollId;

use super::projected::AuditError;
use super::rounds::{Compared, Found, Rounds};
use super::views::ViewsAuditor;
use crate::scan::scan;

/// How long old blocks are kept, for readers that have read a view before it was repaired.
const KEPT_MILLIS: i64 = 86_400_000;

/// A view that differs from a recount of the votes.
#[derive(Debug, Clone, Serialize)]
pub struct PollDifference {
    /// Of which poll.
    pub poll_id: PollId,
    /// What the view says; nothing if it cannot be read, or knows no poll.
    pub stored: Option<Sums>,
    /// What the facts come to; nothing if no poll was opened.
    pub recounted: Option<Sums>,
    /// Whether the sums would be wrong after an early end.
    pub events_differ: bool,
}

/// What the facts say of one poll.
enum Tally {
    /// It was opened.
    Opened(Box<Recount>),
    /// It was opened by somebody who is erased.
    Erased,
}

impl ViewsAuditor {
    /// Compares what views say of polls with a recount of the votes, and repairs what differs if that is wanted.
    ///
    /// # Errors
    /// [`AuditError`]; auditing again completes it.
    pub async fn polls(
        &self,
        polls: &[PollId],
        repair: bool,
    ) -> Result<Found<PollDifference, PollId>, AuditError> {
        let mut rounds = Rounds::of(polls);
        while let Some(round) = rounds.next_round() {
            let keys: Vec<_> = round.iter().map(keys::view).collect();
            let votes = self.votes(&round, repair);
            let (views, (mut tallies, passed)) = self.around(&keys, votes).await?;
            let mend_as_of = passed.as_ref().filter(|_| repair);
            for (poll, view) in round.into_iter().zip(views) {
                let compared = match (view, tallies.remove(&poll)) {
                    (None, _) => Compared::Busy,
                    (Some(_), Some(Tally::Erased)) => Compared::Equal,
                    (Some(view), None) => Self::compare_unopened(&poll, &view),
                    (Some(view), Some(Tally::Opened(recount))) => {
                        self.compare_votes(&poll, view, *recount, mend_as_of).await?
                    }
                };
                rounds.add(poll, compared);
            }
        }
        Ok(rounds.found())
    }

    /// What the facts say of these polls, and the barrier by which all of that is folded. Votes are listed under their viewers and not
    /// under the poll, so all facts are scanned.
    async fn votes(
        &self,
        polls: &[PollId],
        keeps_events: bool,
    ) -> Result<(BTreeMap<PollId, Tally>, Option<View<BarrierProgress>>), AuditError> {
        let mut tallies = BTreeMap::new();
        for poll in polls {
            tallies.extend(self.opened(poll, keeps_events).await?.map(|it| (poll.clone(), it)));
        }
        let query = Query {
            filter: Some("begins_with(pk, :votes)"),
            values: vec![(":votes", text(keys::VOTES))],
            ..Query::default()
        };
        scan(self.facts.table(), "facts read", query, |row| {
            let Some(PollRow::Vote(_, poll)) = PollRow::of(&Key::of(row)?) else { return Ok(()) };
            if let Some(Tally::Opened(recount)) = tallies.get_mut(&poll) {
                recount.add(&History::read(row)?);
            }
            Ok(())
        })
        .await?;
        Ok((tallies, self.folded.wait(&self.facts, &self.views, &self.clock).await?))
    }

    /// What the facts say of a poll before its votes are read: its rules and its ends. `None` if it was not opened.
    async fn opened(
        &self,
        poll: &PollId,
        keeps_events: bool,
    ) -> Result<Option<Tally>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::opened(poll).pk))],
            ..Query::default()
        };
        let (mut rules, mut ends) = (None, Vec::new());
        for row in self.facts.table().all(query).await? {
            match PollRow::of(&Key::of(&row)?) {
                Some(PollRow::Opened(_)) if row.item.contains_key(FORGET_AT) => {
                    return Ok(Some(Tally::Erased));
                }
                Some(PollRow::Opened(_)) => rules = Some(Rules::read(&row)?),
                Some(PollRow::End(_, actor)) => ends.push((actor, row.parsed("at", "an instant")?)),
                Some(PollRow::Vote(..)) | None => {}
            }
        }
        let recount = |rules| Box::new(Recount::new(rules, ends, keeps_events));
        Ok(rules.map(|rules| Tally::Opened(recount(rules))))
    }

    /// Checks a poll that was not opened. Votes may wait for it, but its view may say nothing else. There is nothing to repair that
    /// from.
    fn compare_unopened(poll: &PollId, view: &View<PollTally>) -> Compared<PollDifference> {
        let stored = view.state.sums();
        if stored.is_none() && !view.is_unreadable() {
            return Compared::Equal;
        }
        let poll_id = poll.clone();
        Compared::Differs(PollDifference { poll_id, stored, recounted: None, events_differ: false })
    }

    /// Compares a view with a recount. If it is to be repaired, it is written with the high-water marks of the barrier.
    async fn compare_votes(
        &self,
        poll: &PollId,
        view: View<PollTally>,
        recount: Recount,
        mend_as_of: Option<&View<BarrierProgress>>,
    ) -> Result<Compared<PollDifference>, DynamoError> {
        let key = keys::view(poll);
        let difference = PollDifference {
            poll_id: poll.clone(),
            stored: view.state.sums(),
            recounted: Some(recount.sums()),
            events_differ: self.digest(&key, &view.state).await? != Some(recount.digest()),
        };
        let differs = difference.stored != difference.recounted || difference.events_differ;
        if !differs && !view.state.is_stuck() && !view.is_unreadable() {
            return Ok(Compared::Equal);
        }
        let Some(passed) = mend_as_of else { return Ok(Compared::Differs(difference)) };
        Ok(match self.mend_poll(&key, view, recount, passed).await? {
            true => Compared::Mended(difference),
            false => Compared::Busy,
        })
    }

    /// When choices won and lost votes, by what a view says; `None` if a block cannot be read. The blocks do not change, whatever
    /// becomes of the view.
    async fn digest(
        &self,
        key: &Key,
        state: &PollTally,
    ) -> Result<Option<EventDigest>, DynamoError> {
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
    ) -> Result<bool, DynamoError> {
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
    async fn expire_past(&self, view: &Key, state: &PollTally) -> Result<(), DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            filter: Some("attribute_not_exists(#forget)"),
            projection: Some("pk, sk"),
            names: vec![("#forget", FORGET_AT)],
            values: vec![(":pk", text(view.pk.as_str()))],
            ..Query::default()
        };
        let mut past = Vec::new();
        scan(self.views.table(), "blocks read", query, |row| {
            past.extend(Some(Key::of(row)?).filter(|key| state.is_past(&key.sk)));
            Ok(())
        })
        .await?;
        let until = number((self.clock.now().unix_millis() + KEPT_MILLIS) / 1000);
        let marks = past.into_iter().map(|key| {
            let mark = Update {
                expression: "SET #forget = :until",
                condition: Some("attribute_exists(pk)"),
                names: vec![("#forget", FORGET_AT)],
                values: vec![(":until", until.clone())],
            };
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
