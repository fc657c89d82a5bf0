//! The keys of polls, among the facts and among the views.
//!
//! ```text
//! views    poll#<poll>     poll           how many votes each choice has
//!          poll#<poll>     events#<n>     when they were won and lost
//!          poll#<poll>     waiting#<n>    votes that came before the poll
//! ```

use crate::platform::dynamo::item::Key;
use crate::platform::dynamo::keys;
use crate::platform::values::{ActorId, PollId, ViewerId};

/// The prefix of the partition keys of polls, among the facts and among the views.
pub const POLLS: &str = "poll#";
/// The prefix of the partition keys of votes.
pub const VOTES: &str = "votes#";
/// The prefix of the sort keys of blocks of events.
pub(super) const EVENTS: &str = "events#";

/// A row of the facts about a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollRow {
    Opened(PollId),
    End(PollId, ActorId),
    Vote(ViewerId, PollId),
}

keys! {
    fn of_fact -> PollRow;
    partitions {
        partition(poll: PollId) = "poll#{poll}";
        /// The votes of a viewer.
        pub of_viewer(viewer: ViewerId) = "votes#{viewer}";
    }
    items {
        /// The definition of a poll, among the facts: what was opened.
        pub opened(poll: PollId) = partition(poll), "poll" => PollRow::Opened(poll);
        /// The end that an actor gave a poll, among the facts.
        pub end(poll: PollId, actor: ActorId) = partition(poll), "end#{actor}" => PollRow::End(poll, actor);
        /// The votes of a viewer in a poll, among the facts: what, and when. The partition key is the viewer, so that votes of one
        /// poll are spread over all partitions from the first one on.
        pub vote(viewer: ViewerId, poll: PollId) = of_viewer(viewer), "{poll}" => PollRow::Vote(viewer, poll);
    }
}

/// The key of the view of a poll.
pub fn view(poll: &PollId) -> Key {
    opened(poll)
}

impl PollRow {
    /// Parses a key of the facts.
    pub fn of(key: &Key) -> Option<Self> {
        of_fact(&key.pk, &key.sk)
    }

    pub fn poll(&self) -> &PollId {
        match self {
            Self::Opened(poll) | Self::End(poll, _) | Self::Vote(_, poll) => poll,
        }
    }
}

/// The poll whose partition of the views has this key.
pub fn of_view(key: &Key) -> Option<PollId> {
    PollId::new(key.pk.strip_prefix(POLLS)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_say_whose_they_are(poll in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", who in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]") {
            let poll = PollId::new(poll).expect("an id");
            let (viewer, actor) = (ViewerId::new(who.as_str()).expect("an id"), ActorId::new(who).expect("an id"));
            prop_assert_eq!(PollRow::of(&opened(&poll)), Some(PollRow::Opened(poll.clone())));
            prop_assert_eq!(PollRow::of(&end(&poll, &actor)), Some(PollRow::End(poll.clone(), actor)));
            prop_assert_eq!(PollRow::of(&vote(&viewer, &poll)), Some(PollRow::Vote(viewer, poll.clone())));
            prop_assert_eq!(of_view(&view(&poll)), Some(poll));
        }
    }
}
