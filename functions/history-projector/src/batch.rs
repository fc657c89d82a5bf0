//! A batch of one shard in, the first record to be delivered again out.

use function_stream::{EventError, StreamEvent, StreamResponse, log_outcome};
use futures::future::BoxFuture;
use shared::history::summaries::SummaryView;
use shared::platform::projection::Change;
use shared::platform::runtime::deadline::Deadline;
use tracing::error;

use crate::counted::ByView;
use crate::projector::Projector;
use crate::tenant_events;

impl Projector {
    /// Folds a batch. The response names the first record that has to be delivered again.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    ///
    /// # Errors
    /// [`EventError`]: nothing was folded.
    pub fn handle(
        &self,
        event: StreamEvent,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<StreamResponse, EventError>> {
        Box::pin(async move { self.for_work(deadline).fold(event).await })
    }

    async fn fold(&self, event: StreamEvent) -> Result<StreamResponse, EventError> {
        let read = self.projection.batch(event).of_streams();
        let (table, shard, changes) = read.inspect_err(|e| error!("nothing folded: {e}"))?;
        let period = table.and_then(|name| self.tables.period_of(&name));
        let changes = match period {
            Some(_) => changes,
            None => self.projection.open(changes),
        };
        let by_view = match period {
            Some(period) => tenant_events::by_view(self, &changes, period, shard),
            None => brought_back(&changes),
        };
        let outcomes = tenant_events::fold(self, shard, by_view).await;
        let answer = self.projection.answer(shard, &changes, outcomes, |it| log_outcome!(it));
        Ok(answer.await)
    }
}

/// The redriven changes of views of history. Their view identifies them: their key does not, because a tenant may be named like a kind of
/// fact.
fn brought_back(changes: &[Change]) -> ByView<'_> {
    let mut by_view = ByView::new();
    for change in changes {
        let view = change.redriven.as_ref().and_then(|it| SummaryView::of_key(&it.view));
        if let Some(view) = view {
            by_view.entry(view).or_default().push(change);
        }
    }
    by_view
}
