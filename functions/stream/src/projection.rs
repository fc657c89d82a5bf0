//! The tables and queues of a projector, and the response to a batch.

use std::sync::Arc;

use shared::command::InternalSeal;
use shared::platform::dead_letters::{LetterSeal, UNFOLDABLE};
use shared::platform::dynamo::Dynamo;
use shared::platform::environment::Environment;
use shared::platform::facts::Facts;
use shared::platform::outbound::Bus;
use shared::platform::projection::{Change, Sequence, Shard, Unfolded, Views};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env;
use shared::platform::runtime::env::EnvError;
use shared::platform::runtime::metrics::Metrics;
use tracing::{error, warn};

use crate::dead_letters::{DeadLetterQueue, LetterOf};
use crate::metrics::Batch;
use crate::outcome::{Outcome, Subject};
use crate::stream_record::{Failed, StreamEvent, StreamResponse};

/// Where a projector reads and writes, and where it counts.
#[derive(Debug, Clone)]
pub struct Projection {
    pub facts: Facts,
    pub views: Views,
    /// The queue for changes that cannot be folded.
    pub dead_letters: DeadLetterQueue,
    /// Where changes are counted.
    pub metrics: Metrics,
    pub clock: Clock,
    pub bus: Bus,
    /// The shard of batches that name none, as from an emulator with one shard.
    pub only_shard: Option<String>,
}

impl Projection {
    /// Builds a projection from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, metrics, clock, .. } = environment;
        let secrets = variables.secrets(env::INTERNAL_SECRETS)?;
        Ok(Self {
            facts: Facts::new(environment.table(env::FACTS_TABLE)?),
            views: Views::new(environment.table(env::VIEWS_TABLE)?),
            dead_letters: DeadLetterQueue::new(
                environment.sender(env::DEAD_LETTER_QUEUE_URL)?,
                InternalSeal::new(&secrets),
                LetterSeal::new(&secrets),
            ),
            metrics: metrics.clone(),
            clock: clock.clone(),
            bus: environment.bus(env::EVENT_BUS_NAME),
            only_shard: variables.optional(env::ONLY_SHARD),
        })
    }

    /// The records of a batch, whose shard is known even from an emulator that has only one.
    pub fn batch(&self, event: StreamEvent) -> StreamEvent {
        let shard_id = event.shard_id.or_else(|| self.only_shard.clone());
        StreamEvent { shard_id, ..event }
    }

    /// The same, whose tables know the deadline of one batch.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        let (facts, views) = (self.facts.over(dynamo), self.views.over(dynamo));
        Self { facts, views, ..self.clone() }
    }

    pub fn deadline(&self) -> Deadline {
        self.views.table().deadline()
    }

    /// The response to a batch, after the dead letters were sent. `log` logs what became of the changes of a subject, as the
    /// function: see [`log_outcome!`](crate::log_outcome!).
    pub async fn answer<S: Subject>(
        &self,
        shard: Shard,
        changes: &[Change],
        outcomes: Vec<Outcome<S>>,
        log: impl Fn(&Outcome<S>),
    ) -> StreamResponse {
        let outcomes = self.set_aside(shard, changes, outcomes).await;
        outcomes.iter().for_each(log);
        self.report(changes, &outcomes);
        let first = first_failed(&outcomes);
        if first.is_none() {
            self.checkpoint(shard, changes, &outcomes).await;
        }
        let failed = first.map(|sequence| Failed { item_identifier: sequence.to_string() });
        StreamResponse {
            batch_item_failures: failed.into_iter().collect(),
            ..StreamResponse::default()
        }
    }

    /// The changes to fold. A row that brings a change back is replaced by that change.
    pub fn open(&self, changes: Vec<Change>) -> Vec<Change> {
        let facts = self.facts.table().name();
        let opened = changes.into_iter().filter_map(|change| {
            let sequence = change.sequence;
            // Only the writer writes such rows. An unreadable one stays where it is, among the facts.
            let opened = change.open(facts);
            opened.inspect_err(|failure| error!(%sequence, "not brought back: {failure}")).ok()?
        });
        opened.collect()
    }

    /// Sends dead letters for changes that views have set aside. If that fails, the changes have to be delivered again.
    async fn set_aside<S: Subject>(
        &self,
        shard: Shard,
        changes: &[Change],
        outcomes: Vec<Outcome<S>>,
    ) -> Vec<Outcome<S>> {
        let mut kept = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            let (view, unfolded) = (outcome.subject.view(), &outcome.unfolded);
            let sent = match unfolded.is_empty() {
                true => Ok(()),
                false => {
                    let letters = unfolded.iter().filter_map(|Unfolded { sequence, why }| {
                        let change = changes.iter().find(|change| change.sequence == *sequence)?;
                        Some(LetterOf { change, reason: UNFOLDABLE, why })
                    });
                    self.dead_letters.send(&view, shard, letters, self.deadline()).await
                }
            };
            kept.push(match sent {
                Ok(()) => outcome,
                Err(failure) => outcome.failed(Arc::new(failure.into())),
            });
        }
        kept
    }

    /// Notes the checkpoint of the shard, if a view needs it. If that fails, marks stay.
    async fn checkpoint<S>(&self, shard: Shard, changes: &[Change], outcomes: &[Outcome<S>]) {
        let is_wanted = outcomes.iter().any(|outcome| outcome.wants_checkpoint);
        let last = changes.iter().map(|change| change.sequence).max();
        let Some(last) = last.filter(|_| is_wanted) else { return };
        let noted = self.views.note_checkpoint(shard, last, self.clock.now());
        if let Err(failure) = noted.await {
            warn!(%shard, "no checkpoint: {failure}");
        }
    }

    fn report<S>(&self, changes: &[Change], outcomes: &[Outcome<S>]) {
        let now = self.clock.now();
        // A change that comes back is late anyway.
        let first = changes.iter().filter(|change| change.redriven.is_none());
        let oldest = first.map(|change| change.at).min();
        let mut batch =
            Batch { outbound_refused: self.bus.take_refused().into(), ..Batch::default() };
        if let Some(at) = oldest.filter(|at| *at <= now) {
            batch.projection_lag.add(now.since(at));
        }
        for outcome in outcomes {
            let Outcome { folded, unfolded, conflicts, failure, .. } = outcome;
            batch.view_conflicts += *conflicts;
            batch.changes_folded += *folded as u64;
            match failure {
                Some(_) => batch.views_failed += 1,
                None => batch.changes_set_aside += unfolded.len() as u64,
            }
        }
        self.metrics.record(&batch, now);
    }
}

/// The sequence number of the first change that is not folded.
pub fn first_failed<S>(outcomes: &[Outcome<S>]) -> Option<Sequence> {
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some());
    failed.filter_map(|outcome| outcome.first).min()
}
