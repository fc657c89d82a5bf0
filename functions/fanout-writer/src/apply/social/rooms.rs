//! Rooms. Readers look messages up, so there is nothing to fan out.

use shared::social::rooms::{MembershipChange, MessageDeleted, MessagePosted, Posted, Rooms};

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Records a message, unless its id belongs to another one, which is refused.
pub(crate) async fn post(cx: &Context, post: MessagePosted) -> Result<Disposition, Failure> {
    match rooms(cx).post(&post).await? {
        Posted::Done | Posted::Deleted | Posted::Repeated => Ok(Disposition::Applied(None)),
        Posted::Taken => {
            Err(Failure::Taken { member: "message_id", id: post.key.message_id.to_string() })
        }
    }
}

/// Deletes a message, or notes the delete for when the message comes.
pub(crate) async fn delete(cx: &Context, delete: MessageDeleted) -> Result<Disposition, Failure> {
    rooms(cx).delete(&delete, cx.clock.now()).await?;
    Ok(Disposition::Applied(None))
}

/// Records that somebody joined or left.
pub(crate) async fn change_membership(
    cx: &Context,
    change: MembershipChange,
) -> Result<Disposition, Failure> {
    rooms(cx).change_membership(&change).await?;
    Ok(Disposition::Applied(None))
}

fn rooms(cx: &Context) -> Rooms {
    Rooms::new(&cx.ledger).queueing(&cx.queues.rooms)
}
