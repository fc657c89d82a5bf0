//! What the projector has folded so far, and how long that took.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use shared::platform::projection::Change;
use shared::social::likes::{LikeChange, keys};
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
    pub(super) fn note(&self, behind: i64, changes: &[Change], meter: &Meter) {
        let (ended, facts) = (Instant::now(), facts(changes));
        let put = meter.put_at(&facts);
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.behind = progress.behind.max(behind);
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

/// The likes and undos that a batch of the stream tells of.
fn facts(changes: &[Change]) -> Vec<Fact> {
    let facts = changes.iter().filter_map(|change| {
        let changed_at = change.after.as_ref()?.get("changed_at")?.as_s().ok()?;
        Some((change.key.pk.clone(), changed_at.clone()))
    });
    facts.collect()
}
