//! Waits until all facts that exist now are folded.

use std::time::Duration;

use shared::dynamo::DynamoError;
use shared::facts::Facts;
use shared::projection::{Barrier, BarrierProgress, View, Views};
use shared::runtime::clock::Clock;

/// How long to wait until the facts are folded.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two looks whether they are.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a projector is given if no barrier shows how far it has come. It is some milliseconds behind if nothing is wrong.
const WITHOUT_BARRIER: Duration = Duration::from_secs(2);

/// How an audit knows that what it has seen of the facts is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folded {
    /// By a [`Barrier`], which is written among the facts. Whatever differs then is wrong.
    ByBarrier,
    /// By time alone, because nothing may be written. Whatever differs may be what the projector has yet to fold.
    ByTime,
}

impl Folded {
    /// Waits until all facts of this moment are folded, or for a fixed time. Returns the barrier, if there is one: nothing else knows
    /// how far the projector has come.
    pub(super) async fn wait(
        self,
        facts: &Facts,
        views: &Views,
        clock: &Clock,
    ) -> Result<Option<View<BarrierProgress>>, AuditError> {
        match self {
            Self::ByBarrier => projected(facts, views, clock).await.map(Some),
            Self::ByTime => {
                tokio::time::sleep(WITHOUT_BARRIER).await;
                Ok(None)
            }
        }
    }
}

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

/// Waits until all facts of this moment are folded. Returns the barrier, which knows how far the projector has come.
///
/// # Errors
/// [`AuditError`]
pub(crate) async fn projected(
    facts: &Facts,
    views: &Views,
    clock: &Clock,
) -> Result<View<BarrierProgress>, AuditError> {
    let barrier = Barrier::raise(facts, clock.now()).await?;
    let passed = async {
        loop {
            match barrier.passed(views).await? {
                Some(passed) => return Ok(passed),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, passed).await.map_err(|_| AuditError::NotProjected)?
}
