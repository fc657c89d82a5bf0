//! Polls. The projector counts.

use shared::platform::outbound::Happened;
use shared::platform::values::{ActorId, PollId};
use shared::social::polls::{PollClosed, PollDefinition, PollOpened, Polls, RecordedVote, Vote};

use crate::apply::unless_taken;
use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Records what was opened. Another poll under the same id is refused.
pub(crate) async fn open(cx: &Context, opened: PollOpened) -> Result<Disposition, Failure> {
    let (poll, definition): (PollId, PollDefinition) = opened.into();
    let claim = polls(cx).open(&poll, &definition).await?;
    let disposition = unless_taken(claim, "poll_id", &poll)?;
    // It may have been closed before.
    tell_of_end(cx, &poll, &definition.rules.actor_id).await?;
    Ok(disposition)
}

/// Records that an actor ended a poll. Whether the actor may do so is known once the poll is.
pub(crate) async fn close(cx: &Context, closed: PollClosed) -> Result<Disposition, Failure> {
    polls(cx).close(&closed).await?;
    tell_of_end(cx, &closed.poll_id, &closed.actor_id).await?;
    Ok(Disposition::Applied(None))
}

/// Tells the bus that an actor has ended a poll, if it is their poll. Both the command that opens a poll and the one that ends it
/// check this after writing.
async fn tell_of_end(cx: &Context, poll: &PollId, by: &ActorId) -> Result<(), Failure> {
    if !cx.bus.is_on() {
        return Ok(());
    }
    let closed = polls(cx).closed_early(poll).await?;
    let Some((actor_id, at)) = closed.filter(|(actor, _)| actor == by) else { return Ok(()) };
    cx.tell(Happened::PollClosed { poll_id: poll.clone(), actor_id }, at).await
}

/// Records a vote or a withdrawal, unless the viewer has voted so often that there is no room for another.
pub(crate) async fn vote(cx: &Context, vote: Vote) -> Result<Disposition, Failure> {
    match polls(cx).vote(&vote, cx.clock.now()).await? {
        RecordedVote::Done => Ok(Disposition::Applied(None)),
        RecordedVote::Full(most) => {
            let Vote { viewer_id, poll_id, .. } = vote;
            Err(Failure::Full { viewer_id, poll_id, most })
        }
    }
}

fn polls(cx: &Context) -> Polls {
    Polls::new(&cx.facts, &cx.views).queueing(&cx.queues.votes)
}
