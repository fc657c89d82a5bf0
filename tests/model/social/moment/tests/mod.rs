//! The checker itself: pages made by hand, in [`bounds`] about where they begin and end,
//! and in [`any`] pages of any kind against the rule tried word by word.

mod any;
mod bounds;

use serde_json::json;

use super::*;
use crate::platform::instants::START;
use crate::social::walk::Walk;

/// What happens before a page is answered.
#[derive(Clone)]
enum Step {
    /// A handler is given a command.
    Begun(What),
    InEffect(What),
    /// Both, one right after the other.
    Done(What),
    Asked,
}
use Step::{Asked, Begun, Done, InEffect};

/// The time at which every page is asked for and answered, but where a test says otherwise.
const NOW: i64 = START;
const NEWEST_FIRST: Walk = Walk { viewer: "bob", newest_first: true, from: None, to: None };

fn follow(actor: &str, at: i64) -> What {
    What::Follow { viewer: "bob".into(), actor: actor.into(), at, following: true }
}

fn unfollow(actor: &str, at: i64) -> What {
    What::Follow { viewer: "bob".into(), actor: actor.into(), at, following: false }
}

fn publish(id: &str, actor: &str, at: i64) -> What {
    let (id, actor, kind) = (id.into(), actor.into(), "live".into());
    What::Publish { at: NOW + at, kind, payload: json!(id), id, actor }
}

fn update(id: &str, actor: &str, at: i64, kind: Option<&str>, payload: &str) -> What {
    let (id, actor, kind) = (id.into(), actor.into(), kind.map(Into::into));
    What::Update { id, actor, at, kind, payload: json!(payload) }
}

fn delete(id: &str, actor: &str) -> What {
    What::Delete { id: id.into(), actor: actor.into() }
}

/// An activity as it was published.
fn item(id: &str, actor: &str, at: i64) -> Shown {
    edited(id, actor, at, "live", id)
}

fn edited(id: &str, actor: &str, at: i64, kind: &str, payload: &str) -> Shown {
    let (id, actor, kind) = (id.into(), actor.into(), kind.into());
    Shown { at: NOW + at, id, actor, kind, payload: json!(payload).to_string() }
}

/// Judges a page of bob's, changed from one that is empty, that was answered after these steps.
fn judge<'a>(steps: &[Step], change: impl FnOnce(&mut Page<'a>)) -> Result<(), String> {
    let (mut log, mut asked) = (Log::default(), 0);
    for step in steps {
        match step {
            Begun(what) => log.begin(what),
            InEffect(what) => log.take_effect(what),
            Done(what) => {
                log.begin(what);
                log.take_effect(what);
            }
            Asked => asked = log.events(),
        }
    }
    let mut page = Page {
        walk: const { &NEWEST_FIRST },
        after: None,
        after_short: false,
        limit: 10,
        items: &[],
        more: false,
        asked: Instant { events: asked, now: NOW },
        answered: Instant { events: log.events(), now: NOW },
        clocks_apart: false,
        short_queries: false,
    };
    change(&mut page);
    log.whole(&page)
}

fn accepts(steps: &[Step], items: &[Shown]) {
    assert_eq!(judge(steps, |page| page.items = items), Ok(()));
}

fn rejects(steps: &[Step], items: &[Shown], why: &str) {
    refused(judge(steps, |page| page.items = items), why);
}

fn refused(judged: Result<(), String>, why: &str) {
    let problem = judged.expect_err("the page is whole");
    assert!(problem.contains(why), "{problem}");
}

#[test]
fn a_page_after_a_short_one_begins_somewhere_behind_what_was_shown() {
    let steps =
        [Done(publish("a", "ann", 1)), Done(publish("b", "ann", 2)), Done(follow("ann", 0)), Asked];
    let (first, second) = (item("b", "ann", 2), item("a", "ann", 1));
    let behind_b = |page: &mut Page<'_>| page.after_short = true;
    let (b, a) = ([first], [second]);
    assert_eq!(
        judge(&steps, |page| {
            behind_b(page);
            page.items = &a
        }),
        Ok(())
    );
    refused(judge(&steps, |page| page.items = &a), "misses b");
    refused(
        judge(&steps, |page| {
            behind_b(page);
            page.items = &b
        }),
        "misses a",
    );
}

#[test]
fn a_follow_brings_in_all_or_nothing() {
    let published = [Done(publish("a", "ann", 1)), Done(publish("b", "ann", 2))];
    let (a, b) = (item("a", "ann", 1), item("b", "ann", 2));
    for steps in [
        [&published[..], &[Begun(follow("ann", 0)), Asked]].concat(),
        [&published[..], &[Asked, Begun(follow("ann", 0))]].concat(),
        [&published[..], &[Asked, Done(follow("ann", 0))]].concat(),
    ] {
        accepts(&steps, &[]);
        accepts(&steps, &[b.clone(), a.clone()]);
        rejects(&steps, std::slice::from_ref(&b), "misses a of ann");
        rejects(&steps, std::slice::from_ref(&a), "misses b of ann");
    }
    let steps = [&published[..], &[Done(follow("ann", 0)), Asked]].concat();
    accepts(&steps, &[b, a]);
    rejects(&steps, &[], "misses a of ann");
}

#[test]
fn nobody_is_shown_who_is_not_followed() {
    let a = [item("a", "ann", 1)];
    rejects(&[Done(publish("a", "ann", 1)), Asked], &a, "actor is not followed");
    let to_another =
        What::Follow { viewer: "cyd".into(), actor: "ann".into(), at: 0, following: true };
    rejects(&[Done(publish("a", "ann", 1)), Done(to_another), Asked], &a, "is not followed");
}

#[test]
fn of_follows_the_latest_counts_and_unfollow_wins_a_tie() {
    let published = Done(publish("a", "ann", 1));
    let a = [item("a", "ann", 1)];
    for (first, second, followed) in [
        (follow("ann", 1), unfollow("ann", 2), false),
        (follow("ann", 2), unfollow("ann", 1), true),
        (follow("ann", 2), unfollow("ann", 2), false),
    ] {
        let steps = [published.clone(), Done(first.clone()), Done(second.clone()), Asked];
        let other_order = [published.clone(), Done(second), Done(first), Asked];
        for steps in [steps, other_order] {
            match followed {
                true => accepts(&steps, &a),
                false => accepts(&steps, &[]),
            }
            match followed {
                true => rejects(&steps, &[], "misses a"),
                false => rejects(&steps, &a, "whose actor is not followed"),
            }
        }
    }
}

#[test]
fn what_was_there_before_is_shown_with_what_begins_later() {
    let steps = [
        Done(follow("ann", 0)),
        Asked,
        Begun(publish("a", "ann", 1)),
        InEffect(publish("a", "ann", 1)),
        Begun(publish("b", "ann", 2)),
    ];
    let (a, b) = (item("a", "ann", 1), item("b", "ann", 2));
    accepts(&steps, &[]);
    accepts(&steps, std::slice::from_ref(&a));
    accepts(&steps, &[b.clone(), a.clone()]);
    rejects(&steps, std::slice::from_ref(&b), "misses a of ann");
    // At the same time: one without the other, either way.
    let steps = [
        Done(follow("ann", 0)),
        Asked,
        Begun(publish("a", "ann", 1)),
        Begun(publish("b", "ann", 2)),
        InEffect(publish("a", "ann", 1)),
    ];
    accepts(&steps, &[a]);
    accepts(&steps, &[b]);
}

#[test]
fn what_began_after_the_answer_is_not_shown() {
    let steps = [Done(follow("ann", 0)), Asked, Begun(publish("a", "ann", 1))];
    let a = [item("a", "ann", 1)];
    accepts(&steps, &a);
    let judged = judge(&steps, |page| (page.items, page.answered.events) = (&a, 2));
    refused(judged, "which was not published so");
}

#[test]
fn what_is_deleted_is_not_shown_with_what_is_published_later() {
    let steps = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", 1)),
        Asked,
        Done(delete("a", "ann")),
        Begun(publish("b", "ann", 2)),
    ];
    let (a, b) = (item("a", "ann", 1), item("b", "ann", 2));
    accepts(&steps, &[]);
    accepts(&steps, std::slice::from_ref(&a));
    accepts(&steps, std::slice::from_ref(&b));
    rejects(&steps, &[b, a], "shows a of ann, which is deleted");
}

#[test]
fn a_delete_is_final_and_only_of_its_actor() {
    let early =
        [Done(follow("ann", 0)), Done(delete("a", "ann")), Done(publish("a", "ann", 1)), Asked];
    accepts(&early, &[]);
    rejects(&early, &[item("a", "ann", 1)], "which is deleted");
    let of_another =
        [Done(follow("ann", 0)), Done(publish("a", "ann", 1)), Done(delete("a", "cyd")), Asked];
    accepts(&of_another, &[item("a", "ann", 1)]);
    rejects(&of_another, &[], "misses a");
}

#[test]
fn who_is_unfollowed_is_not_shown_with_what_comes_later() {
    let steps = [
        Done(follow("ann", 0)),
        Done(follow("cyd", 0)),
        Done(publish("a", "ann", 1)),
        Asked,
        Done(unfollow("ann", 3)),
        Begun(publish("c", "cyd", 2)),
    ];
    let (a, c) = (item("a", "ann", 1), item("c", "cyd", 2));
    accepts(&steps, &[]);
    accepts(&steps, std::slice::from_ref(&a));
    accepts(&steps, std::slice::from_ref(&c));
    rejects(&steps, &[c, a], "shows a of ann, whose actor is not followed");
}

#[test]
fn an_unfollow_takes_out_all_or_nothing() {
    let steps = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", 1)),
        Done(publish("b", "ann", 2)),
        Asked,
        Begun(unfollow("ann", 3)),
    ];
    let (a, b) = (item("a", "ann", 1), item("b", "ann", 2));
    accepts(&steps, &[]);
    accepts(&steps, &[b, a.clone()]);
    rejects(&steps, &[a], "misses b of ann");
}

#[test]
fn of_updates_the_latest_counts() {
    let published = [Done(follow("ann", 0)), Done(publish("a", "ann", 1))];
    let updates = [update("a", "ann", 2, Some("k"), "two"), update("a", "ann", 3, None, "three")];
    let [two, three] = updates.map(Done);
    for updates in [[two.clone(), three.clone()], [three, two]] {
        let steps = [&published[..], &updates, &[Asked]].concat();
        accepts(&steps, &[edited("a", "ann", 1, "k", "three")]);
        for (kind, payload) in [("k", "two"), ("live", "three"), ("live", "a"), ("k", "a")] {
            let mixed_up = [edited("a", "ann", 1, kind, payload)];
            rejects(&steps, &mixed_up, "which does not say that");
        }
    }
}

#[test]
fn updates_in_flight_count_as_a_whole_each() {
    let steps = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", 1)),
        Done(update("a", "ann", 2, Some("k"), "two")),
        Asked,
        Begun(update("a", "ann", 1, Some("early"), "one")),
        Begun(update("a", "ann", 4, Some("l"), "four")),
        Begun(update("a", "ann", 5, None, "five")),
    ];
    for (kind, payload) in [("k", "two"), ("l", "four"), ("k", "five"), ("l", "five")] {
        accepts(&steps, &[edited("a", "ann", 1, kind, payload)]);
    }
    for (kind, payload) in [("l", "two"), ("k", "four"), ("early", "one"), ("live", "a")] {
        let mixed_up = [edited("a", "ann", 1, kind, payload)];
        rejects(&steps, &mixed_up, "which does not say that");
    }
}

#[test]
fn an_update_is_not_shown_before_the_other_that_was_in_effect_when_it_began() {
    let steps = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", 1)),
        Done(publish("b", "ann", 2)),
        Asked,
        Done(update("a", "ann", 1, None, "new a")),
        Begun(update("b", "ann", 1, None, "new b")),
    ];
    let [a, b] = [item("a", "ann", 1), item("b", "ann", 2)];
    let [new_a, new_b] =
        [edited("a", "ann", 1, "live", "new a"), edited("b", "ann", 2, "live", "new b")];
    accepts(&steps, &[b.clone(), a.clone()]);
    accepts(&steps, &[b, new_a.clone()]);
    accepts(&steps, &[new_b.clone(), new_a]);
    rejects(&steps, &[new_b, a], "which does not say that");
}

#[test]
fn an_id_belongs_to_one_publish() {
    let follows = [Done(follow("ann", 0)), Done(follow("cyd", 0))];
    let (anns, cyds) = (publish("a", "ann", 1), publish("a", "cyd", 1));
    let one_by_one = [Done(anns.clone()), Done(cyds.clone()), Asked];
    let steps = [&follows[..], &one_by_one].concat();
    accepts(&steps, &[item("a", "ann", 1)]);
    rejects(&steps, &[item("a", "cyd", 1)], "which was not published so");
    rejects(&steps, &[], "misses a of ann");

    let at_once = [Begun(anns.clone()), Begun(cyds.clone()), InEffect(anns), InEffect(cyds)];
    let steps = [&follows[..], &at_once, &[Asked]].concat();
    accepts(&steps, &[item("a", "ann", 1)]);
    accepts(&steps, &[item("a", "cyd", 1)]);
    rejects(&steps, &[], "misses a of ann");
    rejects(&steps, &[item("a", "cyd", 1), item("a", "ann", 1)], "an id twice");
}

#[test]
fn a_publish_that_died_may_own_its_id_and_not_be_shown() {
    let steps = [
        Done(follow("ann", 0)),
        Done(follow("cyd", 0)),
        Begun(publish("a", "cyd", 1)),
        Done(publish("a", "ann", 1)),
        Asked,
    ];
    accepts(&steps, &[]);
    accepts(&steps, &[item("a", "ann", 1)]);
    accepts(&steps, &[item("a", "cyd", 1)]);
}

#[test]
fn copies_of_a_command_begin_with_the_first_and_take_effect_with_the_first() {
    let copy = || publish("a", "ann", 1);
    let steps = [
        Done(follow("ann", 0)),
        Begun(copy()),
        Begun(copy()),
        InEffect(copy()),
        Asked,
        Begun(copy()),
        InEffect(copy()),
    ];
    accepts(&steps, &[item("a", "ann", 1)]);
    rejects(&steps, &[], "misses a");
}

#[test]
fn what_is_never_acknowledged_may_be_shown_or_not() {
    let steps = [Done(follow("ann", 0)), Begun(publish("a", "ann", 1)), Asked];
    accepts(&steps, &[]);
    accepts(&steps, &[item("a", "ann", 1)]);
}

#[test]
fn what_nobody_said_is_not_shown() {
    let steps = [Done(follow("ann", 0)), Done(publish("a", "ann", 1)), Asked];
    for other in [item("b", "ann", 1), item("a", "ann", 2), item("a", "cyd", 1)] {
        rejects(&steps, &[other], "which was not published so");
    }
    rejects(&steps, &[edited("a", "ann", 1, "live", "b")], "which does not say that");
}
