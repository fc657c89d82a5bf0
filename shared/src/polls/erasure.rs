//! Erases the votes of a viewer.

use aws_sdk_dynamodb::types::AttributeValue;

use super::history::{VOTES, instants};
use super::{PollRow, element};
use crate::dynamo::item::Item;
use crate::projection::Change;
use crate::values::{Timestamp, ViewerId};

/// The votes in a row, whether they can be read or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Votes {
    /// The elements of the set of votes.
    pub elements: Vec<String>,
    /// The names of the attributes that are votes of one instant each, as an earlier version wrote them.
    pub instants: Vec<String>,
}

impl Votes {
    #[must_use]
    pub fn of(row: &Item) -> Self {
        let elements = row.get(VOTES).and_then(|votes| votes.as_ss().ok());
        Self {
            elements: elements.cloned().unwrap_or_default(),
            instants: instants(row).map(ToOwned::to_owned).collect(),
        }
    }

    /// The instant of the latest vote.
    #[must_use]
    pub fn last(&self) -> Option<Timestamp> {
        let elements = self.elements.iter().filter_map(|it| Some(element::read(it)?.0));
        let instants = self.instants.iter().filter_map(|name| Timestamp::parse(name).ok());
        elements.chain(instants).max()
    }
}

/// Removes the votes of a viewer up to an instant, or all of them, from a change that waits for a poll. Returns `None` if the
/// change has nothing else.
///
/// The votes are removed from both images of each change, so the remaining changes add up to the votes since.
#[must_use]
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
        let Votes { mut elements, instants } = Votes::of(image);
        elements.retain(|it| element::read(it).is_some_and(|(at, _)| is_later(at)));
        let is_later = |name: &String| Timestamp::parse(name).is_ok_and(is_later);
        let (stay, gone): (Vec<_>, Vec<_>) = instants.into_iter().partition(is_later);
        gone.iter().for_each(|name| drop(image.remove(name)));
        says_something |= !stay.is_empty() || !elements.is_empty();
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
    use crate::dynamo::item::Key;
    use crate::polls::{Cast, keys};
    use crate::values::{ActorId, PollId};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix_millis(second * 1000)
    }

    fn change(key: Key, before: &[i64], after: &[i64]) -> Change {
        // Odd seconds are of an earlier version.
        let image = |votes: &[i64]| {
            let (earlier, now): (Vec<&i64>, Vec<&i64>) =
                votes.iter().partition(|second| *second % 2 > 0);
            let red = || AttributeValue::Ss(vec!["red".to_owned()]);
            let mut image: Item =
                earlier.into_iter().map(|second| (at(*second).to_string(), red())).collect();
            let element = |second: &i64| element::write(at(*second), &Cast::Withdrawn);
            if !now.is_empty() {
                let votes = now.into_iter().map(element).collect();
                image.insert(VOTES.to_owned(), AttributeValue::Ss(votes));
            }
            image
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
