//! The progress of large fan-outs.
//!
//! A segment that is done stays done: whoever follows or unfollows later reconciles their own timeline.
//! So delivering a segment again costs one read of it, and one of the others to see whether it was the
//! last. A fan-out that has ended has ended permanently, so a repeated command finds that out by one read. A fan-out without
//! segments notes that it has ended if it has written many entries ([`FanOuts::note_ended`]).
//!
//! All of it expires once no message can be in flight any more, also because a segment that arrives after
//! its actor was erased notes its progress. A command that is repeated later fans out once more.
//!
//! A recheck removes what crashed deliveries may have left. Its progress is noted for each message that was
//! delivered again, because only then are all earlier deliveries of that message over. What one message has
//! rechecked says nothing about a delivery of another message that dies later.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::keys::{FanOutKind, Pass};
use super::{FanOuts, keys};
use crate::platform::dynamo::item::{Item, Row, number, text, truth};
use crate::platform::dynamo::{Condition, DynamoError, Put, Query};
use crate::platform::ledger::FORGET_AT;
use crate::platform::queue::LONGEST_IN_FLIGHT;
use crate::platform::values::Timestamp;
use crate::social::activities::ActivityKey;
use crate::social::follows::FollowerRange;

/// The position to continue a segment from. Absent at its beginning and once it is done.
const POSITION: &str = "place";
/// The number of timelines written, by a segment or by a fan-out without segments.
const WRITTEN: &str = "written";
/// A day longer than a message is in flight.
const KEPT: Duration = Duration::from_secs(LONGEST_IN_FLIGHT.as_secs() + 86_400);

/// The progress of one segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The sort key of the last edge that is done.
    pub position: Option<String>,
    pub written: u64,
    /// Nothing is left to do.
    pub done: bool,
}

/// A fan-out that was cut into segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FanOut {
    pub segments: usize,
    pub begun_at: Timestamp,
    /// When the last of them was done, once it was.
    pub ended_at: Option<Timestamp>,
    pub begun: Vec<(FollowerRange, Progress)>,
}

impl FanOut {
    pub fn written(&self) -> u64 {
        self.begun.iter().map(|(_, progress)| progress.written).sum()
    }

    pub fn segments_left(&self) -> usize {
        let done = self.begun.iter().filter(|(_, progress)| progress.done).count();
        self.segments.saturating_sub(done)
    }
}

fn expiring<const N: usize>(attributes: [(&str, AttributeValue); N], now: Timestamp) -> Item {
    let mut item: Item =
        attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    item.insert(FORGET_AT.to_owned(), number(now.unix_seconds_after(KEPT)));
    item
}

fn write_progress(progress: &Progress, now: Timestamp) -> Item {
    let Progress { done, written, .. } = progress;
    let mut item = expiring([("done", truth(*done)), (WRITTEN, number(*written))], now);
    // What is done needs no position, which would name a follower permanently.
    let position = progress.position.as_ref().filter(|_| !progress.done);
    item.extend(position.map(|position| (POSITION.to_owned(), text(position))));
    item
}

impl FanOuts {
    /// Records the number of segments that a fan-out is cut into, unless it was decided before. Returns the
    /// number in force.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn plan(
        &self,
        key: &ActivityKey,
        kind: FanOutKind,
        segments: usize,
        now: Timestamp,
    ) -> Result<usize, DynamoError> {
        let plan =
            expiring([("parts", number(segments)), ("begun_at", text(now.to_string()))], now);
        let new = Condition::new("attribute_not_exists(pk)");
        match self.ledger.put_if(keys::plan(key, kind), plan, new).await? {
            Put::Done => Ok(segments),
            Put::Refused(there) => Ok(read_plan(&self.ledger.table().row(there))?.segments),
        }
    }

    /// Ends a fan-out at `now` if all its segments are done. Only the caller that ends it gets it back, so
    /// that it is counted once.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have ended.
    pub async fn end(
        &self,
        key: &ActivityKey,
        kind: FanOutKind,
        now: Timestamp,
    ) -> Result<Option<FanOut>, DynamoError> {
        let fan_out = self.fan_out(key, kind).await?;
        let over = |fan_out: &FanOut| fan_out.ended_at.is_none() && fan_out.segments_left() == 0;
        let Some(mut fan_out) = fan_out.filter(over) else { return Ok(None) };
        fan_out.ended_at = Some(now);
        let attributes = [
            ("parts", number(fan_out.segments)),
            ("begun_at", text(fan_out.begun_at.to_string())),
            ("ended_at", text(now.to_string())),
        ];
        let plan = expiring(attributes, now);
        let first = Condition::new("attribute_not_exists(ended_at)");
        let key = keys::plan(key, kind);
        let ended = self.ledger.replace(key, plan, &[], Some(first)).await?;
        Ok((ended == Put::Done).then_some(fan_out))
    }

    /// Records that a fan-out without segments has ended after `written` entries, unless it was cut into segments.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn note_ended(
        &self,
        key: &ActivityKey,
        kind: FanOutKind,
        [begun_at, ended_at]: [Timestamp; 2],
        written: u64,
    ) -> Result<(), DynamoError> {
        let [begun, ended] = [begun_at, ended_at].map(|at| text(at.to_string()));
        let attributes = [
            ("parts", number(1)),
            ("begun_at", begun),
            ("ended_at", ended),
            (WRITTEN, number(written)),
        ];
        let plan = expiring(attributes, ended_at);
        let new = Condition::new("attribute_not_exists(pk)");
        self.ledger.put_if(keys::plan(key, kind), plan, new).await.map(|_| ())
    }

    /// Reads the plan of a fan-out, or the note that it has ended, without its segments. `None` if it has neither: a fan-out
    /// of few entries notes nothing.
    pub async fn noted(
        &self,
        key: &ActivityKey,
        kind: FanOutKind,
    ) -> Result<Option<FanOut>, DynamoError> {
        let plan = self.ledger.get(keys::plan(key, kind)).await?;
        plan.as_ref().map(read_plan).transpose()
    }

    /// The progress of a segment; the default if it has not begun.
    pub async fn progress(
        &self,
        key: &ActivityKey,
        kind: FanOutKind,
        range: FollowerRange,
        pass: Pass<'_>,
    ) -> Result<Progress, DynamoError> {
        let row = self.ledger.get(keys::segment(key, kind, range, pass)).await?;
        row.as_ref().map_or(Ok(Progress::default()), read_progress)
    }

    /// Notes the progress of a segment at `now`, unless it is done already.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_progress(
        &self,
        key: &ActivityKey,
        kind: FanOutKind,
        range: FollowerRange,
        pass: Pass<'_>,
        (progress, now): (&Progress, Timestamp),
    ) -> Result<(), DynamoError> {
        let key = keys::segment(key, kind, range, pass);
        let not_done = Condition::new("attribute_not_exists(pk) OR done = :no");
        let not_done = not_done.value(":no", truth(false));
        let item = write_progress(progress, now);
        self.ledger.replace(key, item, &[POSITION], Some(not_done)).await.map(|_| ())
    }

    /// The progress of a fan-out, if it was cut into segments or has ended.
    pub async fn fan_out(
        &self,
        key: &ActivityKey,
        kind: FanOutKind,
    ) -> Result<Option<FanOut>, DynamoError> {
        let plan = keys::plan(key, kind);
        let query = Query {
            keys: Some("pk = :pk AND begins_with(sk, :plan)"),
            values: vec![(":pk", text(&plan.pk)), (":plan", text(&plan.sk))],
            ..Query::default()
        };
        let mut found = None;
        // The plan sorts before its segments. Segments of an insertion that meet a delete remove, and there
        // may be no plan for that yet, or never.
        for row in self.ledger.table().all(query).await? {
            match found.as_mut() {
                None if row.text("sk")? == plan.sk => found = Some(read_plan(&row)?),
                None => {}
                Some(FanOut { begun, .. }) => begun.push(read_segment(&row)?),
            }
        }
        Ok(found)
    }
}

fn read_plan(row: &Row<'_>) -> Result<FanOut, DynamoError> {
    let segments = usize::try_from(row.number("parts")?)
        .map_err(|_| row.corrupt("parts", "a number of segments"))?;
    let begun_at = row.parsed("begun_at", "an instant")?;
    let ended_at = row.optional("ended_at", "an instant")?;
    let whole = match row.item.contains_key(WRITTEN) {
        true => Some(Progress { written: written(row)?, done: true, ..Progress::default() }),
        false => None,
    };
    let begun = whole.map(|whole| (FollowerRange::ALL, whole)).into_iter().collect();
    Ok(FanOut { segments, begun_at, ended_at, begun })
}

fn read_segment(row: &Row<'_>) -> Result<(FollowerRange, Progress), DynamoError> {
    let range = row.text("sk")?.rsplit_once('#').and_then(|(_, range)| range.parse().ok());
    let range = range.ok_or_else(|| row.corrupt("sk", "a segment of a fan-out"))?;
    Ok((range, read_progress(row)?))
}

fn read_progress(row: &Row<'_>) -> Result<Progress, DynamoError> {
    let position = row.optional_text(POSITION)?.map(ToOwned::to_owned);
    Ok(Progress { position, written: written(row)?, done: row.flag("done")? })
}

fn written(row: &Row<'_>) -> Result<u64, DynamoError> {
    u64::try_from(row.number(WRITTEN)?).map_err(|_| row.corrupt(WRITTEN, "a number of entries"))
}
