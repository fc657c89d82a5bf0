//! Erases the votes of a viewer.

use aws_sdk_dynamodb::types::AttributeValue;

use super::ballot::VOTES;
use super::{PollRow, vote_encoding};
use crate::platform::dynamo::item::Item;
use crate::platform::projection::Change;
use crate::platform::values::{Timestamp, ViewerId};

/// The votes in a row, whether they can be read or not: the elements of its set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Votes(pub Vec<String>);

impl Votes {
    pub fn read(row: &Item) -> Self {
        let elements = row.get(VOTES).and_then(|votes| votes.as_ss().ok());
        Self(elements.cloned().unwrap_or_default())
    }

    /// The instant of the latest vote.
    pub fn last(&self) -> Option<Timestamp> {
        self.0.iter().filter_map(|it| Some(vote_encoding::read(it)?.0)).max()
    }
}

/// Removes the votes of a viewer up to an instant, or all of them, from a change that waits for a poll. Returns `None` if the
/// change has nothing else.
///
/// The votes are removed from both images of each change, so the remaining changes add up to the votes since.
pub fn without_votes(
    mut change: Change,
    viewer: &ViewerId,
    until: Option<Timestamp>,
) -> Option<Change> {
    match PollRow::of(&change.key) {
        Some(PollRow::Vote(of, _)) if of == *viewer => {}
        // Closing somebody else's poll has no effect, and the viewer's own poll is erased with them.
        Some(PollRow::End(_, actor)) if actor.as_str() == viewer.as_str() => return None,
        _ => return Some(change),
    }
    let is_later = |at: Timestamp| until.is_some_and(|until| at > until);
    let mut says_something = false;
    for image in [&mut change.before, &mut change.after].into_iter().flatten() {
        let Votes(mut elements) = Votes::read(image);
        elements.retain(|it| vote_encoding::read(it).is_some_and(|(at, _)| is_later(at)));
        says_something |= !elements.is_empty();
        match elements.is_empty() {
            true => drop(image.remove(VOTES)),
            false => drop(image.insert(VOTES.to_owned(), AttributeValue::Ss(elements))),
        }
    }
    says_something.then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::dynamo::item::Key;
    use crate::platform::values::{ActorId, PollId};
    use crate::social::polls::{Cast, keys};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix_millis(second * 1000)
    }

    fn change(key: Key, before: &[i64], after: &[i64]) -> Change {
        let image = |votes: &[i64]| {
            let element = |second: &i64| vote_encoding::write(at(*second), &Cast::Withdrawn);
            let votes = (!votes.is_empty()).then(|| votes.iter().map(element).collect());
            let votes = votes.map(|votes| (VOTES.to_owned(), AttributeValue::Ss(votes)));
            Item::from_iter(votes)
        };
        Change {
            key,
            before: Some(image(before)),
            after: Some(image(after)),
            sequence: "1".parse().expect("a number"),
            at: at(0),
            redriven: None,
        }
    }

    #[test]
    fn what_was_voted_since_stays() {
        let [anna, bob] = ["anna", "bob"].map(|id| ViewerId::new(id).expect("an id"));
        let poll = PollId::new("p").expect("an id");
        let of = |viewer, before: &[i64], after: &[i64]| {
            change(keys::vote(viewer, &poll), before, after)
        };
        let without = |change| without_votes(change, &anna, Some(at(20)));
        assert_eq!(without(of(&anna, &[], &[10])), None);
        assert_eq!(without(of(&anna, &[10, 11, 20], &[])), None);
        for later in [30, 31] {
            let change = of(&anna, &[10, 11], &[10, 11, later]);
            assert_eq!(without(change.clone()), Some(of(&anna, &[], &[later])));
            assert_eq!(without_votes(change, &anna, None), None);
            let since = of(&anna, &[later], &[later, 40, 41]);
            assert_eq!(without(since.clone()), Some(since));
        }
        assert_eq!(without(of(&bob, &[], &[10])), Some(of(&bob, &[], &[10])));
        let end = |who| change(keys::end(&poll, &ActorId::new(who).expect("an id")), &[], &[]);
        assert_eq!(without(end("anna")), None);
        assert_eq!(without(end("bob")), Some(end("bob")));
    }
}
