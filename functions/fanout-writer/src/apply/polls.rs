//! Polls. The projector counts.

use shared::polls::{Definition, PollClosed, PollOpened, Polls, Recorded, Vote};
use shared::values::PollId;

use super::unless_taken;
use crate::{Context, Disposition, Failure};

/// Records what was opened. Another poll under the same id is refused.
pub(crate) async fn open(cx: &Context, opened: PollOpened) -> Result<Disposition, Failure> {
    let (poll, definition): (PollId, Definition) = opened.into();
    let claim = polls(cx).open(&poll, &definition, cx.delivery.deadline).await?;
    unless_taken(claim, "poll_id", &poll)
}

/// Records that an actor ended a poll: whether it is theirs to end is known once the poll is.
pub(crate) async fn close(cx: &Context, closed: PollClosed) -> Result<Disposition, Failure> {
    polls(cx).close(&closed, cx.delivery.deadline).await?;
    Ok(Disposition::Applied(None))
}

/// Records a vote or a withdrawal, unless the viewer has voted so often that there is no room for another.
pub(crate) async fn vote(cx: &Context, vote: Vote) -> Result<Disposition, Failure> {
    match polls(cx).vote(&vote, cx.delivery.deadline).await? {
        Recorded::Done => Ok(Disposition::Applied(None)),
        Recorded::Full(most) => {
            let Vote { viewer_id, poll_id, .. } = vote;
            Err(Failure::Full { viewer_id, poll_id, most })
        }
    }
}

fn polls(cx: &Context) -> Polls {
    Polls::new(&cx.facts, &cx.views)
}
