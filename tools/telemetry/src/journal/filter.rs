//! Which log lines a reader wants to see.

use tracing::Level;

use super::Line;

/// The outcomes of messages, requests and changes, as log lines begin with them.
pub const OUTCOMES: [&str; 16] = [
    "applied",
    "split",
    "continued",
    "older than retention",
    "suppressed by an earlier delete",
    "refused",
    "retry later",
    "gave up",
    "could not give up",
    "dead letter",
    "not kept",
    "served",
    "not read",
    "not folded",
    "set aside",
    "the whole batch failed",
];

/// The fields in which the projector names what a change is about, by kind and id.
const SUBJECTS: [&str; 2] = ["subject", "view"];
/// The fields that say what a line is about.
const ABOUT: [&str; 4] = ["activity_id", "poll_id", "battle_id", "room_id"];
/// The fields that name a message. A dead letter that is not the first under its message's id has an id of its own.
const OF_MESSAGE: [&str; 2] = ["message_id", "dead_letter"];

/// Which log lines a reader wants: those that match every condition that is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// About this activity, poll or battle, or in this room.
    pub about: Option<String>,
    /// About this message.
    pub message: Option<String>,
    /// About this person, in any role.
    pub person: Option<String>,
    pub outcome: Option<String>,
    /// Of this level, or a more serious one.
    pub level: Option<Level>,
    pub function: Option<String>,
    /// With this text anywhere, ignoring case.
    pub text: Option<Needle>,
}

/// A text to look for, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle(String);

impl From<&str> for Needle {
    fn from(text: &str) -> Self {
        Self(text.to_ascii_lowercase())
    }
}

impl Filter {
    /// True if a line matches.
    pub fn fits(&self, line: &Line) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        self.level.is_none_or(|level| line.level() <= level)
            && is(&self.function, Some(line.function()))
            && self.message.as_deref().is_none_or(|id| is_of_message(line, id))
            && self.outcome.as_deref().is_none_or(|outcome| line.outcome() == outcome)
            && self.about.as_deref().is_none_or(|id| is_about(line, id))
            && self.person.as_deref().is_none_or(|id| line.people().any(|person| person == id))
            && self.text.as_ref().is_none_or(|text| text.is_in(line))
    }
}

fn is_of_message(line: &Line, id: &str) -> bool {
    OF_MESSAGE.iter().any(|name| line.field(name) == Some(id))
}

fn is_about(line: &Line, id: &str) -> bool {
    ABOUT.iter().any(|name| line.field(name) == Some(id))
        || SUBJECTS.iter().filter_map(|name| line.field(name)).any(|subject| {
            // `likes of live-1`, or `activity#live-1`.
            subject.split([' ', '#']).any(|part| part == id)
        })
}

impl Needle {
    fn is_in(&self, line: &Line) -> bool {
        line.text().to_ascii_lowercase().contains(&self.0) || line.target().contains(&self.0)
    }
}
