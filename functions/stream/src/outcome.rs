//! The outcome of the changes of one subject.

use std::fmt;
use std::sync::Arc;

use shared::platform::dynamo::DynamoError;
use shared::platform::dynamo::item::Key;
use shared::platform::projection::{Change, Folded, Sequence, Unfolded};

use crate::failure::Failure;

/// The subject of changes: changes of one subject are folded together.
pub trait Subject: fmt::Display {
    fn view(&self) -> Key;
}

/// The outcome of the changes of one subject in a batch.
#[derive(Debug)]
pub struct Outcome<S> {
    pub subject: S,
    /// Where the first of them is.
    pub first: Option<Sequence>,
    /// How many there are.
    pub changes: usize,
    /// How many of them were folded by this.
    pub folded: usize,
    /// Those that no delivery can fold.
    pub unfolded: Vec<Unfolded>,
    /// How often somebody else wrote a view meanwhile.
    pub conflicts: u64,
    /// True if the shard needs a checkpoint, because the view has many marks.
    pub wants_checkpoint: bool,
    /// Why they are not folded, if they are not.
    pub failure: Option<Arc<Failure>>,
}

impl<S> Outcome<S> {
    /// Of changes about which nothing is known yet.
    pub fn new(subject: S, changes: &[&Change]) -> Self {
        let first = changes.iter().map(|change| change.sequence).min();
        let (changes, unfolded) = (changes.len(), Vec::new());
        Self {
            subject,
            first,
            changes,
            folded: 0,
            unfolded,
            conflicts: 0,
            wants_checkpoint: false,
            failure: None,
        }
    }

    /// Of changes that are folded.
    #[must_use]
    pub fn written(self, folded: Folded) -> Self {
        let new = self.folded + folded.new;
        Self { folded: new, ..self.known(folded) }
    }

    /// Of changes of which nothing had to be written. What was set aside before may not be a dead letter yet.
    #[must_use]
    pub fn known(mut self, Folded { unfolded, wants_checkpoint, .. }: Folded) -> Self {
        self.wants_checkpoint |= wants_checkpoint;
        // What was set aside a moment ago is told of again, without the reason.
        let is_new = |one: &Unfolded| self.unfolded.iter().all(|it| it.sequence != one.sequence);
        let unfolded: Vec<_> = unfolded.into_iter().filter(is_new).collect();
        self.unfolded.extend(unfolded);
        Self { failure: None, ..self }
    }

    /// Of changes that are not.
    #[must_use]
    pub fn failed(self, failure: Arc<Failure>) -> Self {
        Self { failure: Some(failure), ..self }
    }

    /// Of changes that are not. Those that are refused never will be: they become dead letters.
    #[must_use]
    pub fn refused(self, failure: DynamoError, changes: &[&Change]) -> Self {
        if !failure.is_refusal() {
            return self.failed(Arc::new(failure.into()));
        }
        self.set_aside(changes, &failure.to_string())
    }

    /// Of changes that become dead letters, for this reason.
    #[must_use]
    pub fn set_aside(mut self, changes: &[&Change], why: &str) -> Self {
        let unfolded = Unfolded::all(changes, why);
        self.unfolded.retain(|it| unfolded.iter().all(|one| one.sequence != it.sequence));
        self.unfolded.extend(unfolded);
        Self { failure: None, ..self }
    }
}

/// Logs what was set aside of the changes of a subject, and why they are not folded, as lines of the function that calls this.
#[macro_export]
macro_rules! log_outcome {
    ($outcome:expr) => {{
        let outcome: &$crate::Outcome<_> = $outcome;
        let subject = &outcome.subject;
        for one in &outcome.unfolded {
            $crate::tracing::warn!(view = %subject, sequence = %one.sequence, "set aside: {}", one.why);
        }
        if let Some(failure) = &outcome.failure {
            let (changes, reason) = (outcome.changes, failure.reason());
            $crate::tracing::error!(%subject, changes, reason, "not folded: {failure}");
        }
    }};
}
