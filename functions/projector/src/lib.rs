//! The projector: folds what the stream of facts tells into views.
//!
//! ```text
//! handle      a batch of one shard in, the first record to be delivered again out
//!   event         what Lambda hands over
//!   route         which view a change is folded into
//!   dead_letters  what a view cannot fold goes to the dead-letter queue
//!   failure       why changes have to be delivered again
//!   metrics       what is counted of a batch
//! ```
//!
//! Why a change is folded exactly once, however often it comes, is argued in [`shared::projection`].
//!
//! The changes of a batch are gathered by view, and each view is read and written once, whatever the number of
//! its changes. If a view cannot be written, the batch comes again from its first change on. What others
//! have folded meanwhile they pass. A change that no delivery can fold is set aside as a dead letter, and holds up
//! nothing.

mod dead_letters;
mod event;
mod failure;
mod metrics;
mod route;

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use shared::dynamo::IN_FLIGHT;
use shared::facts::Facts;
use shared::projection::{Change, Folded, Sequence, Shard, Unfolded, Views};
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::metrics::Metrics;
use tracing::{error, warn};

pub use dead_letters::DeadLetterQueue;
pub use event::{EventError, Failed, StreamEvent, StreamResponse};
use failure::Failure;
use metrics::Batch;
use route::View;

/// What the projector works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Projector {
    /// What is folded.
    pub facts: Facts,
    /// What it is folded into.
    pub views: Views,
    /// Where changes go that cannot be folded.
    pub dead_letters: DeadLetterQueue,
    /// Where changes are counted.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
}

impl Projector {
    /// Folds a batch. The answer names the first record that has to be delivered again.
    ///
    /// In a box, so that all of it is compiled here and not again in every program that awaits it.
    ///
    /// # Errors
    /// [`EventError`]: nothing was folded.
    pub fn handle(
        &self,
        event: StreamEvent,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<StreamResponse, EventError>> {
        Box::pin(async move {
            let read = event.read();
            let (shard, changes) = read.inspect_err(|e| error!("nothing folded: {e}"))?;
            let changes = self.open(changes);
            let mut by_view: BTreeMap<View, Vec<&Change>> = BTreeMap::new();
            for change in &changes {
                for view in View::of(change).filter(|view| change.concerns(&view.key())) {
                    by_view.entry(view).or_default().push(change);
                }
            }
            let views = by_view.into_iter().map(|view| self.fold(view, shard, deadline));
            let views: Vec<_> = views.collect();
            let folded: Vec<_> = stream::iter(views).buffer_unordered(IN_FLIGHT).collect().await;
            self.count(&changes, &folded);
            let failed = folded.iter().filter(|(folded, _)| folded.is_err());
            let first = failed.map(|(_, sequence)| *sequence).min();
            let failed = first.map(|sequence| Failed { item_identifier: sequence.to_string() });
            Ok(StreamResponse {
                batch_item_failures: failed.into_iter().collect(),
                ..StreamResponse::default()
            })
        })
    }

    /// The changes to fold: those of rows that bring one back are replaced by that one.
    fn open(&self, changes: Vec<Change>) -> Vec<Change> {
        let facts = self.facts.table().name();
        let opened = changes.into_iter().filter_map(|change| {
            let sequence = change.sequence;
            // Nobody but the writer writes such rows. What cannot be read stays where it is, among the facts.
            let opened = change.open(facts);
            opened.inspect_err(|failure| error!(%sequence, "not brought back: {failure}")).ok()?
        });
        opened.collect()
    }

    /// Folds changes into a view. Returns what became of them, and where the first of them is.
    fn fold<'a>(
        &'a self,
        (view, changes): (View, Vec<&'a Change>),
        shard: Shard,
        deadline: Deadline,
    ) -> BoxFuture<'a, (Result<Folded, Failure>, Sequence)> {
        Box::pin(async move {
            let (facts, now) = (self.facts.table().name(), self.clock.now());
            let folded = view.fold(&self.views, shard, &changes, facts, now, deadline).await;
            let folded = match folded {
                Ok(folded) => self.set_aside(&view, shard, &changes, folded, deadline).await,
                Err(failure) => Err(failure.into()),
            };
            if let Err(failure) = &folded {
                let (changes, reason) = (changes.len(), failure.reason());
                error!(view = %view, changes, reason, "not folded: {failure}");
            }
            (folded, changes[0].sequence)
        })
    }

    /// Makes dead letters of what a view has set aside.
    async fn set_aside(
        &self,
        view: &View,
        shard: Shard,
        changes: &[&Change],
        folded: Folded,
        deadline: Deadline,
    ) -> Result<Folded, Failure> {
        if folded.unfolded.is_empty() {
            return Ok(folded);
        }
        let (key, unfolded) = (view.key(), &folded.unfolded);
        for Unfolded { sequence, why } in unfolded {
            warn!(view = %view, %sequence, "set aside: {why}");
        }
        self.dead_letters.send(&key, shard, changes, unfolded, deadline).await?;
        Ok(folded)
    }

    fn count(&self, changes: &[Change], folded: &[(Result<Folded, Failure>, Sequence)]) {
        let now = self.clock.now();
        // One that comes back has been late for long.
        let first = changes.iter().filter(|change| change.redriven.is_none());
        let oldest = first.map(|change| change.at).min();
        let lag = oldest.map(|at| now.unix_millis().saturating_sub(at.unix_millis()));
        let mut batch = Batch {
            projection_lag: lag.and_then(|lag| u64::try_from(lag).ok()),
            ..Batch::default()
        };
        for (folded, _) in folded {
            match folded {
                Ok(Folded { new, conflicts, unfolded }) => {
                    batch.changes_folded += *new as u64;
                    batch.changes_set_aside += unfolded.len() as u64;
                    batch.view_conflicts += *conflicts as u64;
                }
                Err(_) => batch.views_failed += 1,
            }
        }
        self.metrics.record(&batch, now);
    }
}
