//! What became of the changes of one subject.

use std::sync::Arc;

use shared::dynamo::DynamoError;
use shared::dynamo::item::Key;
use shared::projection::{Change, Folded, Sequence, Unfolded};

use crate::failure::Failure;

/// What became of the changes of one subject in a batch.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What they are about, for the log.
    pub(crate) subject: String,
    /// Where the first of them is.
    pub(crate) first: Option<Sequence>,
    /// How many there are.
    pub(crate) changes: usize,
    /// How many of them were folded by this.
    pub(crate) folded: usize,
    /// Those that no delivery can fold, and their view.
    pub(crate) unfolded: Vec<Unfolded>,
    pub(crate) view: Key,
    /// How often somebody else wrote a view meanwhile.
    pub(crate) conflicts: u64,
    /// Why they are not folded, if they are not.
    pub(crate) failure: Option<Arc<Failure>>,
}

impl Outcome {
    /// Of changes about which nothing is known yet.
    pub(crate) fn of(subject: String, view: Key, changes: &[&Change]) -> Self {
        let first = changes.iter().map(|change| change.sequence).min();
        let (changes, unfolded) = (changes.len(), Vec::new());
        Self { subject, first, changes, folded: 0, unfolded, view, conflicts: 0, failure: None }
    }

    /// Of changes that are folded.
    pub(crate) fn written(self, Folded { new, unfolded, .. }: Folded) -> Self {
        Self { folded: self.folded + new, unfolded, failure: None, ..self }
    }

    /// Of changes of which nothing had to be written. What was set aside before may not be a dead letter yet.
    pub(crate) fn known(self, Folded { unfolded, .. }: Folded) -> Self {
        Self { unfolded, failure: None, ..self }
    }

    /// Of changes that are not.
    pub(crate) fn failed(self, failure: Arc<Failure>) -> Self {
        Self { failure: Some(failure), ..self }
    }

    /// Of changes that are not, and never will be if it is what is stored that fails: those become dead letters.
    pub(crate) fn refused(self, failure: DynamoError, changes: &[&Change]) -> Self {
        match failure {
            DynamoError::Corrupt { .. } => {
                Self { unfolded: Unfolded::all(changes, &failure), failure: None, ..self }
            }
            other => self.failed(Arc::new(other.into())),
        }
    }
}
