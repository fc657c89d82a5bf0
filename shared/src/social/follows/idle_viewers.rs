//! Idle viewers: fan-outs write no entries for a viewer who has not read their timeline for a while.
//!
//! The item of [hidden actors](super::HiddenActors), which each page reads anyway, also says until when its viewer counts as
//! reading ([`IdleState`]). Pages move that on. When it has passed, the viewer is idle. The first page after that is their
//! return: it completes the timeline from the outboxes of the actors they follow
//! ([`Reconciler::complete_return`](crate::social::timelines::Reconciler::complete_return)).
//!
//! | the item says | a fan-out | a page |
//! |---|---|---|
//! | nothing | writes the entry, and may note a first `reading_until` | is served |
//! | `reading_until` is to come | writes the entry | is served; moves it on once the idle days, or less, are left of it |
//! | `reading_until` has passed | writes nothing | first moves it on, and then as below |
//! | `return_position` as well | writes the entry, as `reading_until` says | first adds the missing entries, and removes `return_position` |
//!
//! Deletes, unfollows and follows ignore it: they change nothing about an absent entry, and a viewer who follows is about to
//! read.
//!
//! # Why nothing is missing
//!
//! 1. **A publish writes its outbox row, and then asks who is idle; a page moves `reading_until`, and then reads the outboxes.**
//!    If the publish has read the item before it was moved, its row was there before the outboxes were read. If it read the
//!    item later, it writes the entry itself.
//! 2. `reading_until` only moves on, so what a process remembers of it errs towards writing.
//! 3. Clocks differ, so a page treats a viewer as idle a [slack](IdleViewers::with_slack) before a fan-out may do so. That is
//!    far longer than a request takes, so a page that moves `reading_until` on has done so before anything was left out.
//! 4. A page is served if the view that it was made with says so. The last entry of a return is written a
//!    [hold](crate::platform::runtime::hold) before `return_position` is removed, so a page whose rows were read within a hold
//!    of that view, or after it, has all of them.
//! 5. A poll that finds nothing reads no view. If there may be idle viewers, it reads the item first.
//!
//! # Bounds
//!
//! Two attributes of one item: a number, and the position of a return, which is an id and a sort key. A fan-out reads an item
//! for each follower whom its process does not remember as reading, 4,000 a second; a hundred thousand are remembered. For
//! each page of followers it notes a hundred who read at most; the others are written to, and are noted by later fan-outs.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use super::{Follows, keys};
use crate::platform::dynamo::item::{Row, number, text};
use crate::platform::dynamo::{BATCH_GET, Changed, DynamoError, Update};
use crate::platform::ledger::{FORGET_AT, LedgerKey};
use crate::platform::values::{ActorId, SortKey, Timestamp, ViewerId};

/// The days after which viewers may be idle. A week is much longer than clocks differ.
pub const DAYS: RangeInclusive<u32> = 7..=3650;
/// Viewers whom a process remembers as reading: some ten megabytes.
const REMEMBERED: usize = 100_000;
/// Viewers a second of whom a process asks whether they are idle: a read unit each, or two. The rest of the table is for pages.
const ASKED: u32 = 4_000;
/// Calls that ask, of a hundred viewers each, at once.
const ASKED_AT_ONCE: usize = 4;
/// Viewers of whom one page of followers notes for the first time that they read.
const NOTED: usize = 100;
const NOTED_AT_ONCE: usize = 8;
/// How much earlier pages treat a viewer as idle than fan-outs do.
const SLACK: Duration = Duration::from_secs(86_400);
/// How long a viewer counts as reading from the beginning of their return, if no viewer is skipped any more.
const NEVER_IDLE: Duration = Duration::from_secs(30 * 86_400);
/// Until when the viewer counts as reading, in unix seconds.
const READING_UNTIL: &str = "reading_until";
/// Where the return of the viewer continues.
const RETURN_POSITION: &str = "return_position";

/// Whether fan-outs skip idle viewers, and when a viewer is idle.
#[derive(Debug, Clone)]
pub struct IdleViewers {
    /// How long a viewer may not read; `None` if no viewer is skipped.
    idle_after: Option<Duration>,
    slack: Duration,
    /// Until when viewers count as reading, as far as this process knows.
    reading: Arc<Mutex<LruCache<ViewerId, i64>>>,
    /// When it may ask for more of them.
    next_question: Arc<Mutex<Option<Instant>>>,
}

impl IdleViewers {
    /// No viewer is skipped. The next page of a viewer who was idle before is their return.
    pub fn off() -> Self {
        let reading = Arc::new(Mutex::new(LruCache::unbounded()));
        Self { idle_after: None, slack: SLACK, reading, next_question: Arc::default() }
    }

    /// A viewer is idle who has not read for this long, and at most a quarter longer.
    pub fn after(idle_after: Duration) -> Self {
        Self { idle_after: Some(idle_after), ..Self::off() }
    }

    /// The same, where clocks differ by less than this, and no request takes as long.
    #[must_use]
    pub fn with_slack(self, slack: Duration) -> Self {
        Self { slack, ..self }
    }

    /// The same, in another process.
    #[must_use]
    pub fn remembering_nothing(&self) -> Self {
        Self { idle_after: self.idle_after, slack: self.slack, ..Self::off() }
    }

    /// True if idle viewers are skipped.
    pub fn is_on(&self) -> bool {
        self.idle_after.is_some()
    }

    /// True if the next page of the viewer is their return: entries may be missing.
    pub fn returns(&self, seen: &IdleState, now: Timestamp) -> bool {
        seen.return_position.is_some() || self.has_passed(seen, now)
    }

    /// True if a fan-out may have left the viewer out since `reading_until`.
    pub(super) fn has_passed(&self, seen: &IdleState, now: Timestamp) -> bool {
        seen.reading_until.is_some_and(|until| seconds(now) >= until - length(self.slack))
    }

    /// Until when a viewer counts as reading who reads now.
    pub(super) fn reading_until(&self, now: Timestamp) -> i64 {
        let idle_after = self.idle_after.unwrap_or(NEVER_IDLE);
        seconds(now) + length(idle_after + idle_after / 4)
    }

    /// Those of these viewers whom this process does not remember as reading.
    fn unknown(&self, viewers: &[&ViewerId], now: Timestamp) -> Vec<ViewerId> {
        let (mut reading, now) = (self.reading.lock(), seconds(now));
        let mut is_known =
            |viewer: &ViewerId| reading.get(viewer).is_some_and(|until| now < *until);
        viewers.iter().filter(|viewer| !is_known(viewer)).map(|viewer| (*viewer).clone()).collect()
    }

    /// Waits for a turn to read the idle states of this number of viewers. A process reads at most [`ASKED`] a second.
    async fn wait_to_ask(&self, viewers: usize) {
        let time = Duration::from_secs(1) * u32::try_from(viewers).unwrap_or(u32::MAX) / ASKED;
        let turn = {
            let mut next = self.next_question.lock();
            let turn = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
            *next = Some(turn + time);
            turn
        };
        sleep_until(turn).await;
    }

    fn remember(&self, viewer: &ViewerId, until: i64) {
        let mut reading = self.reading.lock();
        reading.put(viewer.clone(), until);
        if reading.len() > REMEMBERED {
            reading.pop_lru();
        }
    }
}

/// A number of days after which viewers cannot be idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 0, or {} to {} days", DAYS.start(), DAYS.end())]
pub struct IdleDaysError;

/// The days after which viewers are idle; with 0 no viewer is.
impl FromStr for IdleViewers {
    type Err = IdleDaysError;

    fn from_str(text: &str) -> Result<Self, IdleDaysError> {
        match text.parse::<u32>() {
            Ok(0) => Ok(Self::off()),
            Ok(days) if DAYS.contains(&days) => {
                Ok(Self::after(Duration::from_secs(u64::from(days) * 86_400)))
            }
            _ => Err(IdleDaysError),
        }
    }
}

impl Default for IdleViewers {
    fn default() -> Self {
        Self::off()
    }
}

/// Until when a viewer counts as reading, and whether their timeline is being completed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdleState {
    /// In unix seconds; `None` for a viewer for whom nothing was ever left out.
    reading_until: Option<i64>,
    return_position: Option<ReturnPosition>,
}

/// Where a return continues: the timeline has the entries of actors with lesser ids, and the newer ones of this actor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReturnPosition {
    /// `None` at the beginning.
    pub actor: Option<ActorId>,
    pub reached: Option<SortKey>,
}

impl IdleState {
    /// Reads it from the item of hidden actors.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let until = row.item.contains_key(READING_UNTIL).then(|| row.number(READING_UNTIL));
        let position = |text: &str| {
            let position = ReturnPosition::parse(text);
            position.ok_or_else(|| row.corrupt(RETURN_POSITION, "an actor, and a sort key"))
        };
        let return_position = row.optional_text(RETURN_POSITION)?.map(position);
        Ok(Self {
            reading_until: until.transpose()?,
            return_position: return_position.transpose()?,
        })
    }

    /// Where the viewer's return continues, if it has begun.
    pub fn return_position(&self) -> Option<&ReturnPosition> {
        self.return_position.as_ref()
    }
}

impl ReturnPosition {
    fn text(&self) -> String {
        let actor = self.actor.as_ref().map_or("", ActorId::as_str);
        match &self.reached {
            None => actor.to_owned(),
            // An id has no `#`.
            Some(reached) => format!("{actor}#{reached}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (actor, reached) = match text.split_once('#') {
            None => (text, None),
            Some((actor, reached)) => (actor, Some(reached.parse().ok()?)),
        };
        let actor = (!actor.is_empty()).then(|| ActorId::new(actor)).transpose().ok()?;
        Some(Self { actor, reached })
    }
}

impl Follows {
    /// Reads the idle state of a viewer.
    pub async fn idle_state(&self, viewer: &ViewerId) -> Result<IdleState, DynamoError> {
        let row = self.ledger.get(keys::hidden(viewer)).await?;
        row.as_ref().map_or(Ok(IdleState::default()), IdleState::read)
    }

    /// Finds the idle viewers among these: they get no entries now. Notes of some viewers without a note that they count as
    /// reading from now on.
    ///
    /// # Errors
    /// [`DynamoError`]; some may be noted as reading.
    pub async fn find_idle(
        &self,
        idle_viewers: &IdleViewers,
        viewers: &[&ViewerId],
        now: Timestamp,
    ) -> Result<HashSet<ViewerId>, DynamoError> {
        let unknown =
            if idle_viewers.is_on() { idle_viewers.unknown(viewers, now) } else { Vec::new() };
        let (mut idle, mut new) = (HashSet::new(), Vec::new());
        let asked = unknown.chunks(BATCH_GET).map(|some| self.idle_states(idle_viewers, some));
        let asked: Vec<_> = asked.collect();
        let mut asked = stream::iter(asked).buffered(ASKED_AT_ONCE);
        let mut viewers = unknown.iter();
        while let Some(states) = asked.try_next().await? {
            for (viewer, state) in viewers.by_ref().zip(states) {
                match state.reading_until {
                    Some(until) if seconds(now) >= until => drop(idle.insert(viewer.clone())),
                    Some(until) => idle_viewers.remember(viewer, until),
                    None => new.push(viewer.clone()),
                }
            }
        }
        let until = idle_viewers.reading_until(now);
        new.truncate(NOTED);
        let noted = new.iter().map(|viewer| self.note_first(viewer, until)).collect::<Vec<_>>();
        stream::iter(noted).buffer_unordered(NOTED_AT_ONCE).try_collect::<()>().await?;
        new.iter().for_each(|viewer| idle_viewers.remember(viewer, until));
        Ok(idle)
    }

    /// Reads the idle states of up to [`BATCH_GET`] viewers, in their order.
    fn idle_states<'a>(
        &'a self,
        idle_viewers: &'a IdleViewers,
        viewers: &'a [ViewerId],
    ) -> BoxFuture<'a, Result<Vec<IdleState>, DynamoError>> {
        Box::pin(async move {
            idle_viewers.wait_to_ask(viewers.len()).await;
            let keys = viewers.iter().map(|viewer| keys::hidden(viewer).into_item()).collect();
            let mut found = HashMap::new();
            for row in self.ledger.table().batch_get(keys).await? {
                found.insert(LedgerKey::of(&row)?, IdleState::read(&row)?);
            }
            let state = |viewer| found.remove(&keys::hidden(viewer)).unwrap_or_default();
            Ok(viewers.iter().map(state).collect())
        })
    }

    /// Notes until when a viewer counts as reading about whom nothing is noted. A follow has made the item; if it is gone by now, or about
    /// to go, its viewer was erased.
    async fn note_first(&self, viewer: &ViewerId, until: i64) -> Result<(), DynamoError> {
        let first = Update {
            expression: "SET #at = :at, reading_until = :until",
            condition: Some(
                "attribute_exists(pk) AND attribute_not_exists(#forget) \
                 AND attribute_not_exists(reading_until)",
            ),
            names: vec![("#forget", FORGET_AT)],
            values: vec![(":until", number(until))],
        };
        self.change_item(viewer, first).await.map(|_| ())
    }

    /// Moves on until when a viewer counts as reading, once the idle days, or less, are left of it.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been moved.
    pub async fn note_reading(
        &self,
        idle_viewers: &IdleViewers,
        viewer: &ViewerId,
        seen: &IdleState,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let (Some(until), Some(idle_after)) = (seen.reading_until, idle_viewers.idle_after) else {
            return Ok(());
        };
        if until - seconds(now) > length(idle_after) {
            return Ok(());
        }
        let moved = Update {
            expression: "SET #at = :at, reading_until = :next",
            names: Vec::new(),
            condition: Some("reading_until = :seen AND attribute_not_exists(return_position)"),
            values: vec![
                (":seen", number(until)),
                (":next", number(idle_viewers.reading_until(now))),
            ],
        };
        self.change_item(viewer, moved).await.map(|_| ())
    }

    /// Begins a return, or takes over one that has begun: from here on fan-outs write the viewer's entries. `None` if another
    /// request has changed the idle state meanwhile.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have begun.
    pub(crate) async fn begin_return(
        &self,
        idle_viewers: &IdleViewers,
        viewer: &ViewerId,
        seen: &IdleState,
        now: Timestamp,
    ) -> Result<Option<IdleState>, DynamoError> {
        let (Some(until), true) = (seen.reading_until, idle_viewers.has_passed(seen, now)) else {
            return Ok(Some(seen.clone()));
        };
        let begun = Update {
            expression: "SET #at = :at, reading_until = :next, return_position = :start",
            names: Vec::new(),
            condition: Some("reading_until = :seen"),
            values: vec![
                (":seen", number(until)),
                (":next", number(idle_viewers.reading_until(now))),
                (":start", text(ReturnPosition::default().text())),
            ],
        };
        self.idle_state_after(viewer, begun).await
    }

    /// Notes where a return continues, unless another request has noted it since.
    pub(crate) async fn note_return_position(
        &self,
        viewer: &ViewerId,
        seen: &IdleState,
        position: &ReturnPosition,
    ) -> Result<(), DynamoError> {
        let expression = "SET #at = :at, return_position = :position";
        let position = Some((":position", text(position.text())));
        self.idle_state_after(viewer, seen.update(expression, position)).await.map(|_| ())
    }

    /// Ends a return: the timeline is complete. False if another request has changed the idle state meanwhile.
    pub(crate) async fn end_return(
        &self,
        idle_viewers: &IdleViewers,
        viewer: &ViewerId,
        seen: &IdleState,
    ) -> Result<bool, DynamoError> {
        let expression = match idle_viewers.is_on() {
            true => "SET #at = :at REMOVE return_position",
            false => "SET #at = :at REMOVE return_position, reading_until",
        };
        Ok(self.idle_state_after(viewer, seen.update(expression, None)).await?.is_some())
    }

    async fn idle_state_after(
        &self,
        viewer: &ViewerId,
        update: Update<'_>,
    ) -> Result<Option<IdleState>, DynamoError> {
        match self.change_item(viewer, update).await? {
            Changed::Done(item) => IdleState::read(&self.ledger.table().row(item)).map(Some),
            Changed::Refused(_) => Ok(None),
        }
    }
}

impl IdleState {
    /// An update of a return that is still where it was seen.
    fn update<'a>(
        &self,
        expression: &'a str,
        value: Option<(&'a str, AttributeValue)>,
    ) -> Update<'a> {
        let seen = self.return_position.clone().unwrap_or_default();
        let seen = [
            (":until", number(self.reading_until.unwrap_or_default())),
            (":seen", text(seen.text())),
        ];
        Update {
            expression,
            condition: Some("reading_until = :until AND return_position = :seen"),
            values: seen.into_iter().chain(value).collect(),
            ..Update::default()
        }
    }
}

fn seconds(now: Timestamp) -> i64 {
    now.unix_millis().div_euclid(1000)
}

fn length(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
