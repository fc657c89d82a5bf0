//! Commands of one batch that make no difference next to others of it, as a client sends them that
//! tries again, or one person who does not stop.
//!
//! * A command whose body is that of another one changes nothing.
//! * Of several commands about one register or one content, the last in the order of victory
//!   decides. The others change nothing after it, with one exception: the earliest like is noted
//!   even if it was undone, and a join makes its room private. So the earliest of these is applied,
//!   too.
//!
//! Such commands share the outcome of those that stand for them, and cost nothing. Otherwise all of
//! them would begin before one of them is complete, would refuse each other's writes, and each
//! would do all of the work.
//!
//! A command about a register or a content is never refused, except where the event history is off.
//! If any other is handed on before it is known whether it is refused, those that it stands for are
//! applied, or handed on, by themselves, so that each refusal counts.
//!
//! A delivery that may not be the first of its message is applied by itself, and stands for no
//! other: it does all of the work again, because an earlier one may have died half-way. If a
//! command fails that stands for others, each of these is applied by itself, so that each has a
//! receive, a reason and a dead letter of its own.

use std::collections::HashMap;

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::Command;
use shared::history::tenants::CustomerUpdated;
use shared::platform::register::Register;
use shared::platform::values::Timestamp;
use shared::social::activities::ActivityUpdate;
use shared::social::follows::FollowChange;
use shared::social::likes::LikeChange;
use shared::social::profiles::ProfileUpdate;
use shared::social::rooms::MembershipChange;
use shared::social::tags::TagChange;

use crate::delivery::Delivery;
use crate::disposition::Disposition;

/// The register or content that a command changes: of commands with the same one, the last in the
/// order of victory decides.
pub(crate) type Target<'c> = (&'static str, &'c str, &'c str);

/// The order of victory.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank<'c> {
    State(Register),
    Content(Timestamp, &'c str),
}

struct Change<'c> {
    target: Target<'c>,
    rank: Rank<'c>,
    /// Its instant, if it has an effect that stays once it is overtaken.
    begins_at: Option<Timestamp>,
}

/// For each message of a batch, the indices of the messages that stand for it; empty if it is
/// applied. `commands` has no command for a body that is malformed.
pub(crate) fn stand_ins(messages: &[SqsMessage], commands: &[Option<&Command>]) -> Vec<Vec<usize>> {
    let (mut earliest, mut changes) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
    let mut copies = Vec::new();
    for (index, (message, command)) in messages.iter().zip(commands).enumerate() {
        let body = message.body.as_deref().filter(|_| !Delivery::is_again(message));
        let Some(body) = body else { continue };
        let earlier = *earliest.entry(body).or_insert(index);
        if earlier != index {
            copies.push((index, earlier));
        } else if let Some(change) = command.and_then(change) {
            changes.entry(change.target).or_default().push((index, change));
        }
    }
    let mut stand_ins = vec![Vec::new(); messages.len()];
    for of_one in changes.into_values() {
        let decides = of_one.iter().max_by(|one, other| one.1.rank.cmp(&other.1.rank));
        let begins = of_one.iter().filter(|(_, change)| change.begins_at.is_some());
        let begins = begins.min_by_key(|(_, change)| change.begins_at);
        let applied: Vec<_> = decides.into_iter().chain(begins).map(|(index, _)| *index).collect();
        for (index, _) in of_one.iter().filter(|(index, _)| !applied.contains(index)) {
            stand_ins[*index].clone_from(&applied);
        }
    }
    for (copy, of) in copies {
        stand_ins[copy] = match stand_ins[of].is_empty() {
            true => vec![of],
            false => stand_ins[of].clone(),
        };
    }
    stand_ins
}

/// The register or content that a command changes, if the last of several commands about it
/// decides. Such a command is never refused.
pub(crate) fn target(command: &Command) -> Option<Target<'_>> {
    change(command).map(|change| change.target)
}

fn change(command: &Command) -> Option<Change<'_>> {
    let register = |target, state: Register, begins| Change {
        target,
        rank: Rank::State(state),
        begins_at: (begins && state.on).then_some(state.changed_at),
    };
    let content =
        |target, at, content| Change { target, rank: Rank::Content(at, content), begins_at: None };
    Some(match command {
        Command::Follow(FollowChange { follower_id, followee_id, state }) => {
            register(("follow", follower_id.as_str(), followee_id.as_str()), *state, false)
        }
        Command::Tag(TagChange { activity_id, tagged_id, state }) => {
            register(("tag", tagged_id.as_str(), activity_id.as_str()), *state, false)
        }
        Command::Like(LikeChange { viewer_id, activity_id, state }) => {
            register(("like", viewer_id.as_str(), activity_id.as_str()), *state, true)
        }
        Command::Membership(MembershipChange { room_id, viewer_id, state }) => {
            register(("room", viewer_id.as_str(), room_id.as_str()), *state, true)
        }
        Command::Profile(ProfileUpdate { viewer_id, at, payload }) => {
            content(("profile", viewer_id.as_str(), ""), *at, payload.as_json())
        }
        Command::UpdateCustomer(CustomerUpdated { customer, at, payload }) => {
            let target = ("customer", customer.tenant_id.as_str(), customer.customer_id.as_str());
            content(target, *at, payload.as_json())
        }
        // A kind has an instant of its own.
        Command::Update(ActivityUpdate { activity_id, actor_id, at, payload, kind: None }) => {
            let target = ("update", actor_id.as_str(), activity_id.as_str());
            content(target, *at, payload.as_json())
        }
        _ => return None,
    })
}

/// The outcome of a command, if these are the outcomes of those that stand for it. `can_be_refused` is true of a command that is
/// to be counted by itself if it is refused.
pub(crate) fn shared<'d>(
    can_be_refused: bool,
    stand_ins: impl Iterator<Item = &'d Disposition>,
) -> Option<Disposition> {
    let mut outcome = None;
    for disposition in stand_ins {
        outcome = Some(match disposition {
            // The fan-out is counted once.
            Disposition::Applied(_) | Disposition::Split(_) => Disposition::Applied(None),
            Disposition::Unseen => Disposition::Unseen,
            Disposition::Continued => Disposition::Continued,
            Disposition::Undecided if !can_be_refused => Disposition::Undecided,
            Disposition::Expired => Disposition::Expired,
            Disposition::Suppressed => Disposition::Suppressed,
            Disposition::AppliedBut(_)
            | Disposition::Undecided
            | Disposition::Refused(_)
            | Disposition::GivenUp(_)
            | Disposition::Retry(..) => return None,
        });
    }
    outcome
}
