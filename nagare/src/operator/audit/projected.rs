//! Waiting until all that is a fact by now is folded.

use std::time::Duration;

use shared::dynamo::DynamoError;
use shared::facts::Facts;
use shared::projection::{Barrier, Passed, View, Views};
use shared::runtime::clock::Clock;

use crate::operator::soon;

/// How long to wait until what is a fact is folded.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks whether it is.
const PAUSE: Duration = Duration::from_millis(50);

/// Views were not compared with their facts.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A call of the tables failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// Facts are not folded.
    #[error(
        "what was stated a minute ago is not projected yet: see whether the projector runs, and try again"
    )]
    NotProjected,
}

/// Waits until all that is a fact by now is folded. What comes back knows how far that is.
///
/// # Errors
/// [`AuditError`]
pub(crate) async fn projected(
    facts: &Facts,
    views: &Views,
    clock: &Clock,
) -> Result<View<Passed>, AuditError> {
    let barrier = Barrier::raise(facts, clock.now(), soon).await?;
    let passed = async {
        loop {
            match barrier.passed(views, soon()).await? {
                Some(passed) => return Ok(passed),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, passed).await.map_err(|_| AuditError::NotProjected)?
}
