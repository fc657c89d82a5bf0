//! The commands of polls.

use serde_json::Value;

use crate::platform::message::{
    Body, CommandError, CommandPayload, LogIds, MemberError, Members, command,
};
use crate::platform::values::{ActorId, Choice, Payload, PollId, Timestamp, ViewerId};

/// The choices that a poll may have.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=32;

/// An actor opens a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollOpened {
    /// The poll. Its id belongs to the first command with it.
    pub poll_id: PollId,
    /// The actor, who may close it early.
    pub actor_id: ActorId,
    /// The choices: 2 to 32, all different, in the order in which they are shown.
    pub choices: Vec<Choice>,
    /// The first instant at which a vote counts.
    pub opens_at: Timestamp,
    /// The first instant at which votes no longer count.
    pub closes_at: Timestamp,
    /// What the product keeps there.
    pub payload: Payload,
}

/// An actor closes a poll early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollClosed {
    pub poll_id: PollId,
    /// The actor. Only the actor who opened the poll can close it.
    pub actor_id: ActorId,
    /// The first instant at which votes no longer count. The earliest wins.
    pub at: Timestamp,
}

/// A viewer votes, or takes their vote back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    pub poll_id: PollId,
    pub viewer_id: ViewerId,
    /// The choice; `None` for a withdrawal.
    pub choice: Option<Choice>,
    /// When. The latest vote within the poll's time counts.
    pub at: Timestamp,
}

fn expected(member: &'static str, what: &'static str) -> CommandError {
    CommandError::Malformed { member, problem: MemberError::Expected(what) }
}

fn choices(members: &Members<'_>) -> Result<Vec<Choice>, CommandError> {
    let json = members.required("choices")?;
    let wrong = || expected("choices", "a list of 2 to 32 different strings");
    let texts: Vec<Value> = serde_json::from_str(json).map_err(|_| wrong())?;
    if !CHOICES.contains(&texts.len()) {
        return Err(wrong());
    }
    let mut choices: Vec<Choice> = Vec::with_capacity(texts.len());
    for text in texts {
        let Value::String(text) = text else { return Err(wrong()) };
        let choice = Choice::new(text)
            .map_err(|e| CommandError::Malformed { member: "choices", problem: e.into() })?;
        if choices.contains(&choice) {
            return Err(wrong());
        }
        choices.push(choice);
    }
    Ok(choices)
}

impl CommandPayload for PollOpened {
    const TYPES: &'static [&'static str] = &["poll.opened"];
    const MEMBERS: &'static [&'static str] =
        &["poll_id", "actor_id", "choices", "opens_at", "closes_at", "payload"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let opened = Self {
            poll_id: members.parsed("poll_id", PollId::new)?,
            actor_id: members.parsed("actor_id", ActorId::new)?,
            choices: choices(members)?,
            opens_at: members.planned("opens_at")?,
            closes_at: members.planned("closes_at")?,
            payload: members.payload()?.unwrap_or_default(),
        };
        match opened.opens_at < opened.closes_at {
            true => Ok(opened),
            false => Err(expected("closes_at", "an instant after `opens_at`")),
        }
    }

    fn write(&self, body: Body) -> Body {
        let choices: Vec<_> = self.choices.iter().map(|choice| format!("\"{choice}\"")).collect();
        body.text("poll_id", &self.poll_id)
            .text("actor_id", &self.actor_id)
            .json("choices", &format!("[{}]", choices.join(",")))
            .text("opens_at", &self.opens_at)
            .text("closes_at", &self.closes_at)
            .json("payload", self.payload.as_json())
    }

    fn subject(&self) -> LogIds {
        let (poll, actor) = (self.poll_id.to_string(), self.actor_id.to_string());
        LogIds { poll_id: Some(poll), actor_id: Some(actor), ..LogIds::default() }
    }

    fn group(&self) -> &str {
        self.actor_id.as_str()
    }
}

command! {
    PollClosed: ["poll.closed"] by actor_id { poll_id, actor_id, at }
}

impl CommandPayload for Vote {
    const TYPES: &'static [&'static str] = &["vote.cast", "vote.withdrawn"];
    const MEMBERS: &'static [&'static str] = &["poll_id", "viewer_id", "choice", "at"];

    fn type_name(&self) -> &'static str {
        Self::TYPES[usize::from(self.choice.is_none())]
    }

    fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let is_cast = type_name == Self::TYPES[0];
        Ok(Self {
            poll_id: members.parsed("poll_id", PollId::new)?,
            viewer_id: members.parsed("viewer_id", ViewerId::new)?,
            choice: is_cast.then(|| members.parsed("choice", Choice::new)).transpose()?,
            at: members.instant("at")?,
        })
    }

    fn write(&self, body: Body) -> Body {
        let body = body.text("poll_id", &self.poll_id).text("viewer_id", &self.viewer_id);
        let body = match &self.choice {
            Some(choice) => body.text("choice", choice),
            None => body,
        };
        body.text("at", &self.at)
    }

    fn subject(&self) -> LogIds {
        let (poll, viewer) = (self.poll_id.to_string(), self.viewer_id.to_string());
        LogIds { poll_id: Some(poll), viewer_id: Some(viewer), ..LogIds::default() }
    }

    fn group(&self) -> &str {
        self.viewer_id.as_str()
    }
}
