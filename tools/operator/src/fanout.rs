//! How far the fan-out of an activity of an actor with many followers has come.

use crate::Result;
use serde::Serialize;
use shared::platform::ledger::Ledger;
use shared::platform::values::ActivityId;
use shared::social::activities::{Activities, ActivityKey};
use shared::social::fanout::{FanOut, FanOutKind, FanOuts, Progress};
use shared::social::follows::FollowerRange;

pub struct FanOutWork {
    pub key: ActivityKey,
    /// Removing entries once the activity is deleted, and inserting them before.
    pub kind: FanOutKind,
}

/// The fan-out of an activity; `None` if nobody has published it.
pub async fn work(ledger: &Ledger, activity_id: &ActivityId) -> Result<Option<FanOutWork>> {
    let activities = Activities::new(ledger);
    let Some((actor_id, _)) = activities.claimed(activity_id).await? else {
        return Ok(None);
    };
    let key = ActivityKey { activity_id: activity_id.clone(), actor_id };
    let kind = match activities.activity(&key).await?.deleted {
        true => FanOutKind::Remove,
        false => FanOutKind::Insert,
    };
    Ok(Some(FanOutWork { key, kind }))
}

/// The progress of the fan-out of an activity; `None` unless it was cut into segments.
pub async fn report(ledger: &Ledger, activity_id: &ActivityId) -> Result<Option<Report>> {
    let Some(FanOutWork { key, kind }) = work(ledger, activity_id).await? else {
        return Ok(None);
    };
    let fan_out = FanOuts::new(ledger).fan_out(&key, kind).await?;
    Ok(fan_out.map(|fan_out| Report::new(activity_id, kind, &fan_out)))
}

#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub activity_id: ActivityId,
    /// `spread`, or `erase` once the activity was deleted.
    pub work: &'static str,
    /// Timelines that were written.
    pub delivered: u64,
    /// Timelines in all: an estimate until no segment is left.
    pub total: u64,
    pub parts: usize,
    pub parts_left: usize,
    /// Timelines a second, as the caller measures it; zero at first.
    pub per_second: u64,
}

impl Report {
    pub fn new(activity_id: &ActivityId, kind: FanOutKind, fan_out: &FanOut) -> Self {
        let begun = &fan_out.begun;
        let (delivered, left) = (fan_out.written(), fan_out.segments_left());
        let covered: f64 = begun.iter().map(|(range, progress)| covered(*range, progress)).sum();
        let total = match (left, covered > 0.0) {
            (0, _) | (_, false) => delivered,
            _ => (delivered as f64 / covered) as u64,
        };
        Self {
            activity_id: activity_id.clone(),
            work: match kind {
                FanOutKind::Insert => "spread",
                FanOutKind::Remove => "erase",
            },
            delivered,
            total,
            parts: fan_out.segments,
            parts_left: left,
            per_second: 0,
        }
    }
}

/// The share of all followers that a segment is done with, from 0 to 1.
fn covered(range: FollowerRange, progress: &Progress) -> f64 {
    let share = match &progress.position {
        _ if progress.done => 1.0,
        None => 0.0,
        Some(position) => range.share_up_to(position),
    };
    share * f64::from(range.width()) / f64::from(FollowerRange::ALL.width())
}
