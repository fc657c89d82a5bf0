//! The keys of polls, among the facts and among the views.
//!
//! ```text
//! facts    poll#<poll>     poll           what was opened
//!          poll#<poll>     end#<actor>    when that actor ended it
//!          votes#<viewer>  <poll>         what the viewer voted, and when
//! views    poll#<poll>     poll           how many votes each choice has
//!          poll#<poll>     events#<n>     when they were won and lost
//!          poll#<poll>     waiting#<n>    votes that came before the poll
//! ```

use crate::dynamo::item::Key;
use crate::values::{ActorId, PollId, ViewerId};

/// The prefix of the partition keys of polls, among the facts and among the views.
pub const POLLS: &str = "poll#";
const OPENED: &str = "poll";
const END: &str = "end#";
/// The prefix of the partition keys of votes.
pub const VOTES: &str = "votes#";
/// The prefix of the sort keys of blocks of events.
pub(super) const EVENTS: &str = "events#";

/// The partition of a poll, among the facts and among the views.
fn partition(poll: &PollId) -> String {
    format!("{POLLS}{poll}")
}

/// The key of the definition of a poll, among the facts.
#[must_use]
pub fn opened(poll: &PollId) -> Key {
    Key { pk: partition(poll), sk: OPENED.to_owned() }
}

/// The key of the end that an actor gave a poll, among the facts.
#[must_use]
pub fn end(poll: &PollId, actor: &ActorId) -> Key {
    Key { pk: partition(poll), sk: format!("{END}{actor}") }
}

/// The partition of the facts with the votes of a viewer.
#[must_use]
pub fn of_viewer(viewer: &ViewerId) -> String {
    format!("{VOTES}{viewer}")
}

/// The key of the votes of a viewer in a poll, among the facts. The partition key is the viewer, so that votes of one poll are
/// spread over all partitions from the first one on.
#[must_use]
pub fn vote(viewer: &ViewerId, poll: &PollId) -> Key {
    Key { pk: of_viewer(viewer), sk: poll.to_string() }
}

/// The key of the view of a poll.
#[must_use]
pub fn view(poll: &PollId) -> Key {
    Key { pk: partition(poll), sk: OPENED.to_owned() }
}

/// A row of the facts about a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollRow {
    Opened(PollId),
    End(PollId, ActorId),
    Vote(ViewerId, PollId),
}

impl PollRow {
    /// Parses a key of the facts.
    #[must_use]
    pub fn of(key: &Key) -> Option<Self> {
        if let Some(viewer) = key.pk.strip_prefix(VOTES) {
            let (viewer, poll) = (ViewerId::new(viewer).ok()?, PollId::new(key.sk.as_str()).ok()?);
            return Some(Self::Vote(viewer, poll));
        }
        let poll = PollId::new(key.pk.strip_prefix(POLLS)?).ok()?;
        if key.sk == OPENED {
            return Some(Self::Opened(poll));
        }
        Some(Self::End(poll, ActorId::new(key.sk.strip_prefix(END)?).ok()?))
    }

    #[must_use]
    pub fn poll(&self) -> &PollId {
        match self {
            Self::Opened(poll) | Self::End(poll, _) | Self::Vote(_, poll) => poll,
        }
    }
}

/// The poll whose partition of the views has this key.
#[must_use]
pub fn of_view(key: &Key) -> Option<PollId> {
    PollId::new(key.pk.strip_prefix(POLLS)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_say_whose_they_are(poll in "[A-Za-z0-9._:@-]{0,127}[A-Za-z0-9_:@-]", who in "[A-Za-z0-9._:@-]{0,127}[A-Za-z0-9_:@-]") {
            let poll = PollId::new(poll).expect("an id");
            let (viewer, actor) = (ViewerId::new(who.as_str()).expect("an id"), ActorId::new(who).expect("an id"));
            prop_assert_eq!(PollRow::of(&opened(&poll)), Some(PollRow::Opened(poll.clone())));
            prop_assert_eq!(PollRow::of(&end(&poll, &actor)), Some(PollRow::End(poll.clone(), actor)));
            prop_assert_eq!(PollRow::of(&vote(&viewer, &poll)), Some(PollRow::Vote(viewer, poll.clone())));
            prop_assert_eq!(of_view(&view(&poll)), Some(poll));
        }
    }
}
