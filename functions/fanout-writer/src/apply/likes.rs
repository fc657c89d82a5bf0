//! Likes.

use shared::likes::{LikeChange, LikeList, Likes};

use crate::{Context, Disposition, Failure};

/// Records a like or an undo, unless one that wins over it is on record. The projector does the rest.
pub(crate) async fn like(cx: &Context, change: LikeChange) -> Result<Disposition, Failure> {
    let likes = Likes::new(&cx.facts);
    LikeList::new(&cx.ledger).record(&likes, &change, cx.delivery.deadline).await?;
    Ok(Disposition::Applied(None))
}
