//! Audits of views: comparing them with the facts they are folded from.
//!
//! A view and its facts can be compared only if no change is on its way from one to the other. So the views are read before all facts
//! are scanned, and once more when all that the scan may have seen is folded ([`projected`]). A view that is the
//! same both times has folded what the scan saw, and nothing else: then the numbers must be equal. A view that changed is compared in
//! another round, and the others go on. A repair is written only over the very view that was compared. An audit that may write
//! nothing, not even a barrier, waits a while instead ([`Folded::ByTime`]), and repairs nothing.

use std::time::Duration;

use nagare_client::failure::Failure;
use shared::platform::dynamo::DynamoError;
use shared::platform::dynamo::item::Key;
use shared::platform::facts::Facts;
use shared::platform::projection::{BarrierProgress, Raised, State, View, Views};
use shared::platform::runtime::clock::Clock;

use crate::Result;
use crate::audit::Found;

/// How long to wait until the facts are folded.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two looks whether they are.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a projector is given if no barrier shows how far it has come. It is some milliseconds behind if nothing is wrong.
const WITHOUT_BARRIER: Duration = Duration::from_secs(2);
/// How often views are compared that keep changing.
const ROUNDS: usize = 8;

/// The result of comparing a view that does not say what it should.
pub(super) enum Compared<D> {
    Differs(D),
    /// It was repaired.
    Mended(D),
    /// It has changed meanwhile.
    Busy,
}

impl<D> Compared<D> {
    /// After a repair, which is not written over a view that has changed.
    pub(super) fn repaired(is_written: bool, difference: D) -> Self {
        if is_written { Self::Mended(difference) } else { Self::Busy }
    }
}

/// How an audit knows that what it has seen of the facts is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folded {
    /// A [barrier](Raised) among the facts says it. Then every difference is an error.
    ByBarrier,
    /// By time alone, because nothing may be written. Whatever differs may be what the projector has yet to fold.
    ByTime,
}

/// Views were not compared with their facts.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// Facts are not folded.
    #[error(
        "what was stated a minute ago is not projected yet: see whether the projector runs, and try again"
    )]
    NotProjected,
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Self {
        match error {
            AuditError::Dynamo(error) => error.into(),
            AuditError::NotProjected => Self::No(error.to_string()),
        }
    }
}

/// Waits until all facts of this moment are folded. Returns the barrier, which knows how far the projector has come.
pub(crate) async fn projected(
    facts: &Facts,
    views: &Views,
    clock: &Clock,
) -> Result<View<BarrierProgress>, AuditError> {
    let barrier = Raised::new(facts, clock.now()).await?;
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

/// Compares views with facts: one file for each feature.
#[derive(Debug, Clone)]
pub struct ViewsAuditor {
    pub(super) facts: Facts,
    pub(super) views: Views,
    pub(super) clock: Clock,
    pub(super) folded: Folded,
}

impl ViewsAuditor {
    pub fn new(facts: &Facts, views: &Views, clock: Clock) -> Self {
        let folded = Folded::ByBarrier;
        Self { facts: facts.clone(), views: views.clone(), clock, folded }
    }

    /// The same, with another way to know that facts are folded.
    pub fn waiting(self, folded: Folded) -> Self {
        Self { folded, ..self }
    }

    /// Compares views with what is read of their ids between two reads of them.
    pub(super) async fn in_rounds<I: Clone, S: State, T, D, C: IntoIterator<Item = Compared<D>>>(
        &self,
        ids: &[I],
        key: impl Fn(&I) -> Key,
        read: impl AsyncFn(&[I]) -> Result<T, AuditError>,
        compare: impl AsyncFn(&I, View<S>, &mut T) -> Result<C>,
    ) -> Result<Found<D, I>, AuditError> {
        let mut found = Found { differences: Vec::new(), mended: 0, busy: ids.to_vec() };
        for _ in 0..ROUNDS {
            if found.busy.is_empty() {
                break;
            }
            let round = std::mem::take(&mut found.busy);
            let keys: Vec<_> = round.iter().map(&key).collect();
            let before = self.stored::<S>(&keys).await?;
            let mut read = read(&round).await?;
            let after = self.stored(&keys).await?;
            for ((id, before), after) in round.into_iter().zip(before).zip(after) {
                if before.version() != after.version() {
                    found.busy.push(id);
                    continue;
                }
                for compared in compare(&id, after, &mut read).await? {
                    match compared {
                        Compared::Differs(difference) => found.differences.push(difference),
                        Compared::Mended(difference) => {
                            found.mended += 1;
                            found.differences.push(difference);
                        }
                        Compared::Busy => found.busy.push(id.clone()),
                    }
                }
            }
        }
        Ok(found)
    }

    /// Waits until all facts of this moment are folded, or for a fixed time. Returns the barrier if there is one and if that is wanted
    /// for repairs: nothing else knows how far the projector has come.
    pub(super) async fn folded(
        &self,
        repair: bool,
    ) -> Result<Option<View<BarrierProgress>>, AuditError> {
        match self.folded {
            Folded::ByBarrier => {
                let passed = projected(&self.facts, &self.views, &self.clock).await?;
                Ok(repair.then_some(passed))
            }
            Folded::ByTime => {
                tokio::time::sleep(WITHOUT_BARRIER).await;
                Ok(None)
            }
        }
    }

    /// The views at these keys. One that cannot be read says nothing, which differs.
    async fn stored<S: State>(&self, keys: &[Key]) -> Result<Vec<View<S>>> {
        self.views.read_all(keys, View::read_to_fold).await?.into_iter().collect()
    }
}
