//! What the projector has folded so far, and how long that took.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use shared::likes::{LikeChange, keys};
use tokio::time::Instant;

use super::lag::Lags;
use super::meter::{Fact, Meter};

/// What the projector has folded so far.
#[derive(Debug, Clone)]
pub(super) struct Folded(Arc<Mutex<Progress>>);

#[derive(Debug)]
struct Progress {
    /// The number of the last record.
    behind: i64,
    ended: Instant,
    /// When commands that came at a rate were first sent.
    sent: HashMap<Fact, Instant>,
    lags: Lags,
}

impl Folded {
    /// Nothing so far.
    pub(super) fn new() -> Self {
        let (sent, lags) = (HashMap::new(), Lags::default());
        let progress = Progress { behind: 0, ended: Instant::now(), sent, lags };
        Self(Arc::new(Mutex::new(progress)))
    }

    /// When the last change was in its view, and what each took.
    pub(super) fn end(&self) -> (Instant, Lags) {
        let progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (progress.ended, progress.lags.clone())
    }

    /// Takes note of a batch that was folded.
    pub(super) fn note(&self, event: &Value, meter: &Meter) {
        let (ended, facts) = (Instant::now(), facts(event));
        let put = meter.put_at(&facts);
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = records(event).filter_map(|record| {
            record["dynamodb"]["SequenceNumber"].as_str()?.parse::<i64>().ok()
        });
        progress.behind = behind.fold(progress.behind, i64::max);
        progress.ended = ended;
        progress.lags.facts.extend(put.into_iter().map(|at| ended.duration_since(at)));
        let sent = facts.iter().filter_map(|fact| progress.sent.get(fact).copied());
        let sent: Vec<_> = sent.map(|at| ended.duration_since(at)).collect();
        progress.lags.commands.extend(sent);
    }

    /// Takes note of a command that is sent.
    pub(super) fn sent(&self, change: &LikeChange) {
        let fact = (keys::of_viewer(&change.viewer_id), change.state.changed_at.to_string());
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.sent.entry(fact).or_insert_with(Instant::now);
    }

    pub(super) fn behind(&self) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).behind
    }
}

fn records(event: &Value) -> impl Iterator<Item = &Value> {
    event["Records"].as_array().into_iter().flatten()
}

/// The facts that a batch of the stream tells of.
fn facts(event: &Value) -> Vec<Fact> {
    let facts = records(event).filter_map(|record| {
        let row = &record["dynamodb"]["NewImage"];
        Some((row["pk"]["S"].as_str()?.to_owned(), row["changed_at"]["S"].as_str()?.to_owned()))
    });
    facts.collect()
}
