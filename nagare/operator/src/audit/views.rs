//! Audits of views: comparing them with the facts they are folded from.
//!
//! A view and its facts can be compared only if no change is on its way from one to the other. So the views are read before all facts
//! are scanned, and once more when all that the scan may have seen is folded ([`projected`](super::projected())). A view that is the
//! same both times has folded what the scan saw, and nothing else: then the numbers must be equal. A view that changed is compared in
//! another round, and the others go on. A repair is written only over the very view that was compared. An audit that may write
//! nothing, not even a barrier, waits a while instead ([`Folded::ByTime`]), and repairs nothing.

use shared::dynamo::DynamoError;
use shared::dynamo::item::Key;
use shared::facts::Facts;
use shared::projection::{State, View, Views};
use shared::runtime::clock::Clock;

use super::projected::Folded;

/// Compares views with facts: one file for each feature.
#[derive(Debug, Clone)]
pub struct ViewsAuditor {
    pub(super) facts: Facts,
    pub(super) views: Views,
    pub(super) clock: Clock,
    pub(super) folded: Folded,
}

impl ViewsAuditor {
    /// Over these tables.
    #[must_use]
    pub fn new(facts: &Facts, views: &Views, clock: Clock) -> Self {
        let folded = Folded::ByBarrier;
        Self { facts: facts.clone(), views: views.clone(), clock, folded }
    }

    /// The same, with another way to know that facts are folded.
    #[must_use]
    pub fn waiting(self, folded: Folded) -> Self {
        Self { folded, ..self }
    }

    /// Reads what views are compared with, and the views before and after. Returns `None` for a view that has changed meanwhile.
    pub(super) async fn around<S: State, T, E: From<DynamoError>>(
        &self,
        keys: &[Key],
        read: impl Future<Output = Result<T, E>>,
    ) -> Result<(Vec<Option<View<S>>>, T), E> {
        let before = self.stored::<S>(keys).await?;
        let read = read.await?;
        let after = self.stored(keys).await?;
        let unchanged = before.into_iter().zip(after).map(|(before, after)| {
            let is_unchanged = before.version() == after.version();
            is_unchanged.then_some(after)
        });
        Ok((unchanged.collect(), read))
    }

    /// The views at these keys. One that cannot be read says nothing, which differs.
    async fn stored<S: State>(&self, keys: &[Key]) -> Result<Vec<View<S>>, DynamoError> {
        self.views.read_all(keys, View::read_to_fold).await?.into_iter().collect()
    }
}
