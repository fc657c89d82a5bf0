//! Follow and unfollow.

use shared::command::Command;
use shared::platform::outbound::Happened;
use shared::social::fanout::Reconciliation;
use shared::social::follows::{FollowChange, RecordedFollow};
use shared::social::timelines::StepEnd;

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Records the command, unless a later one is on record, and reconciles the timeline with what is on record. A command that
/// was overtaken reconciles too, because an earlier delivery of it may have died half-way. A repeated command has nothing to
/// reconcile if the timeline is noted to agree.
pub(crate) async fn follow(cx: &Context, change: FollowChange) -> Result<Disposition, Failure> {
    let (fan_outs, delivery) = (&cx.fan_outs, &cx.delivery);
    let (now, retention) = (cx.clock.now(), cx.retention);
    let RecordedFollow { edge, is_repeated } =
        cx.follows.record(&change, now, retention, cx.hold).await?;
    let (viewer, actor) = (&change.follower_id, &change.followee_id);
    let reconciliation = Reconciliation { viewer, actor, origin: &delivery.origin };
    let position = match delivery.may_have_progress() {
        true => fan_outs.reconciled_up_to(reconciliation, edge.state).await?,
        false => None,
    };
    // Handed-on work has a note, even if the edge has another state by now.
    let mut noted = delivery.continued || position.is_some();
    let reconciler = cx.reconciler();
    let mut pair = reconciler.pair(viewer, actor, edge.state, position);
    pair.is_complete = edge.is_complete && !delivery.redelivered;
    loop {
        match pair.go_on(delivery.slice()).await? {
            StepEnd::Whole => break,
            StepEnd::Stopped => {}
        }
        if let Some(position) = &pair.position {
            fan_outs.note_reconciled(reconciliation, pair.state, position).await?;
            noted = true;
        }
        if delivery.checkpoint_at.has_passed() {
            return cx.hand_on(Command::Follow(change)).await;
        }
    }
    // A command that comes once costs no write for this, unless it took long.
    let noted_beyond = cx.noted_beyond(is_repeated);
    if noted || pair.passed > noted_beyond {
        cx.follows.note_complete(viewer, actor, pair.state).await?;
    }
    if noted {
        fan_outs.end_reconciliation(reconciliation).await?;
    }
    // Of a complete timeline, another delivery may have just written the entries.
    let is_seen = !pair.state.on || pair.has_copied || edge.is_complete;
    // A command that was overtaken tells nothing: the later one does.
    if pair.state == change.state && change.state.on {
        let (at, happened) = (change.state.changed_at, followed(change));
        cx.tell(happened, at).await?;
    }
    Ok(if is_seen { Disposition::Applied(None) } else { Disposition::Unseen })
}

fn followed(change: FollowChange) -> Happened {
    let FollowChange { follower_id, followee_id, .. } = change;
    Happened::FollowCreated { follower_id, followee_id }
}
