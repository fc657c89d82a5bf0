//! The reader's share in [idle viewers](shared::social::follows::idle_viewers): reading is noted, and a return is completed.

use std::time::Duration;

use function_http::Problem;
use shared::platform::values::{Timestamp, ViewerId};
use shared::social::follows::{Follows, IdleState};
use shared::social::timelines::Reconciler;

use crate::reader::Reader;

/// The time that a return leaves for its page, and for a note of its position.
const RESERVE: Duration = Duration::from_millis(1_500);

impl Reader {
    /// True if entries were missing when this idle state was read, because the viewer returns. The timeline has them by now.
    ///
    /// # Errors
    /// [`Problem::Returning`] if time was up: the next request continues.
    pub(crate) async fn has_returned(
        &self,
        viewer: &ViewerId,
        seen: &IdleState,
        now: Timestamp,
    ) -> Result<bool, Problem> {
        let Self { ledger, timelines, retention, hold, idle_viewers, requests, .. } = self;
        if !idle_viewers.returns(seen, now) {
            Follows::new(ledger).note_reading(idle_viewers, viewer, seen, now).await?;
            return Ok(false);
        }
        let reconciler =
            Reconciler::new(ledger, timelines.clone(), *retention, requests.clock.clone(), *hold);
        let deadline = timelines.table().deadline();
        let checkpoint_at = deadline.within(deadline.remaining().saturating_sub(RESERVE));
        match reconciler.complete_return(idle_viewers, viewer, seen, checkpoint_at).await? {
            true => Ok(true),
            false => Err(Problem::Returning),
        }
    }
}
