//! Notifications.

use shared::social::notifications::{MarkRead, Notifications};

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Records which notifications a viewer has read. The projector then updates the inbox.
pub(crate) async fn mark_read(cx: &Context, mark: MarkRead) -> Result<Disposition, Failure> {
    let notifications = Notifications::new(&cx.facts, &cx.views);
    let MarkRead { viewer_id, what } = &mark;
    let (origin, now) = (&cx.delivery.origin, cx.clock.now());
    notifications.mark(viewer_id, what, origin, now).await?;
    Ok(Disposition::Applied(None))
}
