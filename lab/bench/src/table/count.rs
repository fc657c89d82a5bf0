//! What arrived, and when.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::batch::Key;

/// The resolution of a trace.
const STEP: Duration = Duration::from_millis(100);

/// Counts what is accepted and what is not.
#[derive(Debug)]
pub(super) struct Count {
    calls: u64,
    refused: u64,
    offered: u64,
    accepted: u64,
    /// When the first write came, and when the last one was accepted.
    begun: Option<Instant>,
    ended: Option<Instant>,
    distinct: Option<HashSet<(String, String)>>,
    /// What was accepted in each step, by activity: each writer has its own.
    traces: Option<BTreeMap<String, Vec<u64>>>,
}

/// The summary that is printed at the end.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    calls: u64,
    /// Calls of which nothing was accepted.
    calls_refused: u64,
    items_offered: u64,
    items_accepted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    distinct_keys: Option<usize>,
    /// From the first item to the last accepted one.
    seconds: f64,
    /// CPU time of this process.
    cpu_seconds: f64,
    /// By sort key; each writer has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_per_100_ms: Option<BTreeMap<String, Vec<u64>>>,
}

impl Count {
    pub(super) fn new(distinct: bool, trace: bool) -> Self {
        Self {
            calls: 0,
            refused: 0,
            offered: 0,
            accepted: 0,
            begun: None,
            ended: None,
            distinct: distinct.then(HashSet::new),
            traces: trace.then(BTreeMap::new),
        }
    }

    /// Counts a call that offered these keys, of which the first `accepted` were accepted.
    pub(super) fn add(&mut self, offered: &[Key<'_>], accepted: usize, now: Instant) {
        let begun = *self.begun.get_or_insert(now);
        self.calls += 1;
        self.offered += offered.len() as u64;
        self.accepted += accepted as u64;
        if accepted == 0 {
            self.refused += 1;
            return;
        }
        self.ended = Some(now);
        let keys = &offered[..accepted];
        if let Some(distinct) = &mut self.distinct {
            let owned = |key: &Key<'_>| (key.viewer().to_owned(), key.sort_key().to_owned());
            distinct.extend(keys.iter().map(owned));
        }
        if let Some(traces) = &mut self.traces {
            let step = ((now - begun).as_nanos() / STEP.as_nanos()) as usize;
            keys.iter().for_each(|key| draw(traces, key.sort_key(), step));
        }
    }

    pub(super) fn summary(&self, cpu_seconds: f64) -> Summary {
        let span = self.begun.zip(self.ended).map(|(begun, ended)| ended - begun);
        Summary {
            calls: self.calls,
            calls_refused: self.refused,
            items_offered: self.offered,
            items_accepted: self.accepted,
            distinct_keys: self.distinct.as_ref().map(HashSet::len),
            seconds: span.unwrap_or_default().as_secs_f64(),
            cpu_seconds,
            accepted_per_100_ms: self.traces.clone(),
        }
    }
}

fn draw(traces: &mut BTreeMap<String, Vec<u64>>, writer: &str, step: usize) {
    if !traces.contains_key(writer) {
        traces.insert(writer.to_owned(), Vec::new());
    }
    let Some(trace) = traces.get_mut(writer) else { return };
    if trace.len() <= step {
        trace.resize(step + 1, 0);
    }
    trace[step] += 1;
}
