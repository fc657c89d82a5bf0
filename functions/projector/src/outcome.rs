//! What became of the changes of one subject.

use std::sync::Arc;

use shared::dynamo::DynamoError;
use shared::projection::{Change, Sequence};

/// What became of the changes of one subject in a batch.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What they are about, for the log.
    pub(crate) subject: String,
    /// Where the first of them is.
    pub(crate) first: Option<Sequence>,
    /// How many there are.
    pub(crate) changes: usize,
    /// Whether a view was written.
    pub(crate) is_written: bool,
    /// How often somebody else wrote a view meanwhile.
    pub(crate) conflicts: u64,
    /// Why they are not folded, if they are not.
    pub(crate) failure: Option<Arc<DynamoError>>,
}

impl Outcome {
    /// Of changes about which nothing is known yet.
    pub(crate) fn of(subject: String, changes: &[&Change]) -> Self {
        let first = changes.iter().map(|change| change.sequence).min();
        let changes = changes.len();
        Self { subject, first, changes, is_written: false, conflicts: 0, failure: None }
    }

    /// Of changes that are folded.
    pub(crate) fn written(self) -> Self {
        Self { is_written: true, failure: None, ..self }
    }

    /// Of changes that are not.
    pub(crate) fn failed(self, failure: Arc<DynamoError>) -> Self {
        Self { failure: Some(failure), ..self }
    }
}
