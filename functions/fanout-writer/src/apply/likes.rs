//! Likes.

use shared::likes::{LikeChange, Likes};

use crate::{Context, Disposition, Failure};

/// Records a like or an undo, unless one that wins over it is on record. The projector does the rest.
pub(crate) async fn like(cx: &Context, change: LikeChange) -> Result<Disposition, Failure> {
    Likes::new(&cx.facts).record(&change, cx.delivery.deadline).await?;
    Ok(Disposition::Applied(None))
}
