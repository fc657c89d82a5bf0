//! Likes.

use shared::social::likes::{LikeChange, LikeList, Likes};

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Records a like or its undo, unless a change that wins is on record already. The projector then updates the counts and the
/// notifications.
pub(crate) async fn like(cx: &Context, change: LikeChange) -> Result<Disposition, Failure> {
    let likes = Likes::new(&cx.facts);
    LikeList::new(&cx.ledger).record(&likes, &change, cx.clock.now()).await?;
    Ok(Disposition::Applied(None))
}
