//! Applying commands: one file for each feature, in the folder of its wing.

mod changes;
mod history;
mod social;

use std::fmt;

use shared::command::Command;
use shared::platform::facts::Claim;

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;
use history::{events, tenants};
use social::{
    activities, battles, follows, likes, notifications, polls, profiles, rooms, segments, tags,
};

/// Applies one command. Commands are idempotent and order-independent.
///
/// # Errors
/// [`Failure`]; parts of the command may be in effect, and applying it again completes them.
pub(crate) async fn apply(cx: &Context, command: Command) -> Result<Disposition, Failure> {
    // Boxed, so that the largest future does not determine the size of all.
    match command {
        Command::Publish(publish) => Box::pin(activities::publish(cx, publish)).await,
        Command::Update(update) => Box::pin(activities::update(cx, update)).await,
        Command::Delete(delete) => Box::pin(activities::delete(cx, delete)).await,
        Command::Follow(change) => Box::pin(follows::follow(cx, change)).await,
        Command::Profile(update) => Box::pin(profiles::update(cx, update)).await,
        Command::Like(change) => Box::pin(likes::like(cx, change)).await,
        Command::MarkRead(mark) => Box::pin(notifications::mark_read(cx, mark)).await,
        Command::OpenPoll(opened) => Box::pin(polls::open(cx, opened)).await,
        Command::ClosePoll(closed) => Box::pin(polls::close(cx, closed)).await,
        Command::Vote(vote) => Box::pin(polls::vote(cx, vote)).await,
        Command::OpenBattle(opened) => Box::pin(battles::open(cx, opened)).await,
        Command::Hit(hit) => Box::pin(battles::hit(cx, hit)).await,
        Command::Tag(change) => Box::pin(tags::tag(cx, change)).await,
        Command::Post(post) => Box::pin(rooms::post(cx, post)).await,
        Command::DeleteMessage(delete) => Box::pin(rooms::delete(cx, delete)).await,
        Command::Membership(change) => Box::pin(rooms::change_membership(cx, change)).await,
        Command::Segment(segment) => Box::pin(segments::segment(cx, segment)).await,

        Command::RecordEvent(event) => Box::pin(events::record(cx.history()?, event)).await,
        Command::RecordEvents(events) => Box::pin(events::record_all(cx.history()?, events)).await,
        Command::UpdateCustomer(update) => {
            Box::pin(tenants::update_customer(cx.history()?, update)).await
        }
        Command::Rule(change) => Box::pin(tenants::rule(cx.history()?, change)).await,
        Command::Score(change) => Box::pin(tenants::score(cx.history()?, change)).await,
        Command::ReadAlerts(read) => Box::pin(tenants::read_alerts(cx.history()?, read)).await,

        Command::Changed(change) => Box::pin(changes::changed(cx, change)).await,
        Command::Continued(_) => {
            let (command, delivery) = cx.delivery.clone().open(command);
            Box::pin(apply(&Context { delivery, ..cx.clone() }, command)).await
        }
    }
}

/// Applied if the command is recorded under its id; a failure if other content was recorded there first. `member` is the member
/// of the command with the id, for the failure.
fn unless_taken(
    claim: Claim,
    member: &'static str,
    id: &impl fmt::Display,
) -> Result<Disposition, Failure> {
    match claim {
        Claim::Recorded => Ok(Disposition::Applied(None)),
        Claim::Taken => Err(Failure::Taken { member, id: id.to_string() }),
    }
}
