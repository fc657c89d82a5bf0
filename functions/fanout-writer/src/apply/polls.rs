//! Polls. The projector counts.

use shared::polls::{Definition, PollClosed, PollOpened, Polls, Vote};
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

/// Records a vote or a withdrawal.
pub(crate) async fn vote(cx: &Context, vote: Vote) -> Result<Disposition, Failure> {
    polls(cx).vote(&vote, cx.delivery.deadline).await?;
    Ok(Disposition::Applied(None))
}

fn polls(cx: &Context) -> Polls {
    Polls::new(&cx.facts, &cx.views)
}
