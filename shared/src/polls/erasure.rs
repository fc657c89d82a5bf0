//! What is left of votes when a viewer is erased.

use super::PollRow;
use super::history::ERASED_AT;
use crate::dynamo::item::Item;
use crate::ledger::FORGET_AT;
use crate::projection::Change;
use crate::values::{Timestamp, ViewerId};

/// The names of the attributes of a row that are votes: what they are called is when they were cast.
pub fn votes(row: &Item) -> impl Iterator<Item = &str> {
    let names = row.keys().map(String::as_str);
    names.filter(|name| !matches!(*name, "pk" | "sk" | ERASED_AT | FORGET_AT))
}

/// A change that waits for a poll, without what a viewer voted up to an instant; without all of it, if there is no such
/// instant. Nothing, if the change is about that alone.
///
/// It is taken out of both images of each of their changes, so what the changes that remain come to is what was voted
/// since.
#[must_use]
pub fn without_votes(
    mut change: Change,
    viewer: &ViewerId,
    until: Option<Timestamp>,
) -> Option<Change> {
    match PollRow::of(&change.key) {
        Some(PollRow::Vote(of, _)) if of == *viewer => {}
        // Who ends somebody else's poll changes nothing, and their own goes with them.
        Some(PollRow::End(_, actor)) if actor.as_str() == viewer.as_str() => return None,
        _ => return Some(change),
    }
    let is_later =
        |name: &str| Timestamp::parse(name).is_ok_and(|at| until.is_some_and(|until| at > until));
    let mut says_something = false;
    for image in [&mut change.before, &mut change.after].into_iter().flatten() {
        let gone: Vec<_> =
            votes(image).filter(|name| !is_later(name)).map(ToOwned::to_owned).collect();
        gone.iter().for_each(|name| drop(image.remove(name)));
        says_something |= votes(image).next().is_some();
    }
    says_something.then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamo::item::{Key, text};
    use crate::polls::keys;
    use crate::values::{ActorId, PollId};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix_millis(second * 1000)
    }

    fn change(key: Key, before: &[i64], after: &[i64]) -> Change {
        let image = |votes: &[i64]| {
            votes.iter().map(|second| (at(*second).to_string(), text("red"))).collect::<Item>()
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
        assert_eq!(without(of(&anna, &[10, 20], &[])), None);
        assert_eq!(without(of(&anna, &[10], &[10, 30])), Some(of(&anna, &[], &[30])));
        assert_eq!(without_votes(of(&anna, &[10], &[10, 30]), &anna, None), None);
        assert_eq!(without(of(&bob, &[], &[10])), Some(of(&bob, &[], &[10])));
        let end = |who| change(keys::end(&poll, &ActorId::new(who).expect("an id")), &[], &[]);
        assert_eq!(without(end("anna")), None);
        assert_eq!(without(end("bob")), Some(end("bob")));
    }
}
