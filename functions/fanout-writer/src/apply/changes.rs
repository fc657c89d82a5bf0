//! Changes of facts that a view could not fold.

use shared::platform::projection::{UnfoldedChange, redriven};

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Records that a change comes back. The projectors do the rest.
pub(crate) async fn changed(cx: &Context, change: UnfoldedChange) -> Result<Disposition, Failure> {
    let letter = &cx.delivery.origin;
    redriven::bring_back(&change, letter, &cx.facts).await?;
    Ok(Disposition::Applied(None))
}
