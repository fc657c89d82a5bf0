//! The keys of polls, among the facts and among the views.
//!
//! ```text
//! views    poll#<poll>     poll           how many votes each choice has
//!          poll#<poll>     events#<n>     when they were won and lost
//!          poll#<poll>     waiting#<n>    votes that came before the poll
//! ```

use crate::platform::dynamo::item::Key;
use crate::platform::dynamo::keys;
use crate::platform::stored::{BLOCK, ROW};
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
        pub opened(poll: PollId) = partition(poll), "poll" in Facts as "poll" {
            says: "the poll {poll}, as it was opened",
            most: 8_192, grows: "choices (32 of 64 bytes) and payload, written once",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Tombstone,
        } => PollRow::Opened(poll);
        /// The end that an actor gave a poll, among the facts.
        pub end(poll: PollId, actor: ActorId) = partition(poll), "end#{actor}" in Facts as "poll's end" {
            says: "when {actor} ended the poll {poll}",
            most: 512, grows: "nothing",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Tombstone,
        } => PollRow::End(poll, actor);
        /// The votes of a viewer in a poll, among the facts: what, and when. The partition key is the viewer, so that votes of one
        /// poll are spread over all partitions from the first one on.
        pub vote(viewer: ViewerId, poll: PollId) = of_viewer(viewer), "{poll}" in Facts as "votes" {
            says: "how {viewer} voted in {poll}",
            most: ROW, grows: "votes of one viewer, each with its instant in 8 bytes and the choice behind it: 47,160 bytes of them, some 4,000. All are remembered, since which one counts depends on an end that may still come forward",
            at_bound: "the next vote is a dead letter, `too-many-votes`; those that are on record count, and are no failure when they come again",
            test: "`votes::a_viewer_has_room_for_so_many_votes`",
            later: Kept, erased: Tombstone,
        } => PollRow::Vote(viewer, poll);
        /// The view of a poll.
        pub view(poll: PollId) = partition(poll), "poll" in Views as "poll" {
            says: "the sums of the poll {poll}",
            most: ROW, grows: "choices (32), events of up to 600 bytes, marks of shards",
            at_bound: "events move to blocks",
            test: "`polls::many_votes_are_taken_back_when_the_poll_closes_early`",
            later: Kept, erased: Tombstone,
        };
        block(poll: PollId, number: u64) = partition(poll), "events#{number:020}" in Views as "poll's events" {
            says: "earlier votes in the poll {poll}",
            most: BLOCK, grows: "what one fold changes, cut at 8,192 events",
            at_bound: "there are more blocks",
            test: "`polls::many_votes_are_taken_back_when_the_poll_closes_early`",
            later: Never, erased: Gone,
        };
        waiting(poll: PollId, number: u64) = partition(poll), "waiting#{number:020}" in Views as "poll's waiting changes" {
            says: "votes that are not counted in the poll {poll} yet",
            most: BLOCK, grows: "votes of one batch; those of one viewer wait as one, whose row before and after is 95,000 bytes at most",
            at_bound: "there are more blocks",
            test: "`bounds::votes_that_wait_are_in_blocks_of_a_bounded_size`",
            later: Never, erased: Gone,
        };
    }
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
