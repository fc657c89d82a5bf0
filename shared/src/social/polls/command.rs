//! The commands of polls.

use serde_json::Value;

#[cfg(test)]
use crate::platform::message::ValueSchema;
use crate::platform::message::{Body, CommandError, Member, MemberError, Members, command};
use crate::platform::values::{ActorId, Choice, Payload, PollId, Timestamp, ViewerId};

/// The choices that a poll may have.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=32;

command! {
    /// An actor opened a poll. Opening the same again changes nothing. The same `poll_id` with
    /// another content is a dead letter.
    PollOpened by actor_id creates poll_id {
        /// The poll's id. It belongs to the first command with it that is processed.
        poll_id: PollId,
        /// The actor, who may close it early.
        actor_id: ActorId,
        /// The choices, in the order in which they are shown.
        choices: Vec<Choice>,
        /// The first instant at which a vote counts.
        opens_at: Timestamp = opens_at [planned()],
        /// The first instant at which votes no longer count. It is after `opens_at`.
        closes_at: Timestamp = closes_at [planned()],
        payload: Payload,
    }
    "poll.opened": r#"{ "poll_id": "mvp", "actor_id": "anna", "choices": ["red", "blue"], "opens_at": "2026-11-20T12:00:00.000Z", "closes_at": "2026-11-20T12:10:00.000Z", "payload": { "title": "Who?" } }"#
}

command! {
    /// An actor closed a poll early: votes from `at` on no longer count. The earliest `at` wins. It
    /// may arrive before the poll. It has no effect if it names another actor than the opening, or
    /// if `at` is not before `closes_at`.
    PollClosed by actor_id {
        /// The poll's id.
        poll_id: PollId,
        /// The actor who opened it.
        actor_id: ActorId,
        /// The first instant at which votes no longer count.
        at: Timestamp,
    }
    "poll.closed": r#"{ "poll_id": "mvp", "actor_id": "anna", "at": "2026-11-20T12:05:00.000Z" }"#
}

command! {
    /// A viewer voted, or withdrew their vote.
    Vote by viewer_id {
        /// The poll's id.
        poll_id: PollId,
        /// The viewer who votes.
        viewer_id: ViewerId,
        /// The instant of the vote. The latest within the poll's time counts.
        at: Timestamp,
    }
    /// The choice.
    choice: Option<Choice> {
        /// A viewer voted. The poll need not be known yet. Of the votes and withdrawals of one
        /// viewer within the poll's time the latest `at` wins; on a tie the choice that is greater
        /// byte by byte, and a withdrawal over any choice. A vote outside that time, or for
        /// something that is not a choice of the poll, does not count.
        "vote.cast": r#"{ "poll_id": "mvp", "viewer_id": "bob", "choice": "red", "at": "2026-11-20T12:00:02.000Z" }"#
        /// A viewer withdrew their vote. The latest `at` wins, as for votes, and on a tie this one.
        "vote.withdrawn": r#"{ "poll_id": "mvp", "viewer_id": "bob", "at": "2026-11-20T12:00:09.000Z" }"#
    }
}

fn expected(member: &'static str, what: &'static str) -> CommandError {
    CommandError::Malformed { member, problem: MemberError::Expected(what) }
}

impl Member for Vec<Choice> {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        let json = members.required(name)?;
        let wrong = || expected(name, "a list of 2 to 32 different strings");
        let texts: Vec<Value> = serde_json::from_str(json).map_err(|_| wrong())?;
        if !CHOICES.contains(&texts.len()) {
            return Err(wrong());
        }
        let mut choices: Vec<Choice> = Vec::with_capacity(texts.len());
        for text in texts {
            let Value::String(text) = text else { return Err(wrong()) };
            let choice = Choice::new(text)
                .map_err(|e| CommandError::Malformed { member: name, problem: e.into() })?;
            if choices.contains(&choice) {
                return Err(wrong());
            }
            choices.push(choice);
        }
        Ok(choices)
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        let choices: Vec<_> = self.iter().map(|choice| format!("\"{choice}\"")).collect();
        body.json(name, &format!("[{}]", choices.join(",")))
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        ValueSchema::list(Choice::schema(), CHOICES).with(r#""uniqueItems": true"#)
    }
}

fn opens_at(members: &Members<'_>) -> Result<Timestamp, CommandError> {
    members.planned("opens_at")
}

fn closes_at(members: &Members<'_>) -> Result<Timestamp, CommandError> {
    let closes_at = members.planned("closes_at")?;
    match opens_at(members)? < closes_at {
        true => Ok(closes_at),
        false => Err(expected("closes_at", "an instant after `opens_at`")),
    }
}

#[cfg(test)]
fn planned() -> ValueSchema {
    let doc = "As an instant, but up to 366 days after now, which a schema cannot say.";
    ValueSchema::instant(doc).named("planned")
}
