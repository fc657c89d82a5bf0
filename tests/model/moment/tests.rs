//! The checker itself: pages made by hand, and any pages against the rule tried word by word.

use fastrand::Rng;
use serde_json::json;

use super::*;
use crate::history::START;
use crate::reference::Reference;

/// What happens before a page is answered.
#[derive(Clone)]
enum Step {
    /// A handler is given a command.
    Begun(What),
    /// A command is in effect.
    InEffect(What),
    /// Both, one right after the other.
    Done(What),
    /// The page is asked for.
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
        limit: 10,
        items: &[],
        more: false,
        asked: Instant { events: asked, now: NOW },
        answered: Instant { events: log.events(), now: NOW },
        clocks_apart: false,
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
fn a_page_has_no_more_than_its_limit_and_the_right_order() {
    let published = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", 1)),
        Done(publish("b", "ann", 1)),
        Done(publish("c", "ann", 2)),
        Asked,
    ];
    let (a, b, c) = (item("a", "ann", 1), item("b", "ann", 1), item("c", "ann", 2));
    accepts(&published, &[c.clone(), b.clone(), a.clone()]);
    rejects(&published, &[c.clone(), a.clone(), b.clone()], "behind");
    let all = [c.clone(), b.clone(), a.clone()];
    let judged = judge(&published, |page| (page.limit, page.items) = (2, &all));
    refused(judged, "has 3 of 2");
    let (oldest_first, all) = (Walk { newest_first: false, ..NEWEST_FIRST }, [a, b, c]);
    let judged = judge(&published, |page| (page.walk, page.items) = (&oldest_first, &all));
    assert_eq!(judged, Ok(()));
}

#[test]
fn a_page_covers_its_range() {
    let published = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", 1)),
        Done(publish("b", "ann", 2)),
        Done(publish("c", "ann", 3)),
        Asked,
    ];
    let [a, b, c] = [("a", 1), ("b", 2), ("c", 3)].map(|(id, at)| item(id, "ann", at));
    let walk = Walk { from: Some(NOW + 2), to: Some(NOW + 3), ..NEWEST_FIRST };
    let ranged =
        |items: &[Shown]| judge(&published, |page| (page.walk, page.items) = (&walk, items));
    assert_eq!(ranged(std::slice::from_ref(&b)), Ok(()));
    refused(ranged(&[]), "misses b");
    refused(ranged(&[c, b.clone()]), "shows c of ann, which is out of range");
    refused(ranged(&[b, a]), "shows a of ann, which is out of range");
}

#[test]
fn a_page_goes_on_from_its_cursor_and_ends_where_it_is_full() {
    let published = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", 1)),
        Done(publish("b", "ann", 2)),
        Done(publish("c", "ann", 3)),
        Asked,
    ];
    let [a, b, c] = [("a", 1), ("b", 2), ("c", 3)].map(|(id, at)| item(id, "ann", at));
    let after_c = |items: &[Shown], limit, more| {
        judge(&published, |page| {
            (page.after, page.items, page.limit, page.more) = (Some(&c), items, limit, more);
        })
    };
    assert_eq!(after_c(std::slice::from_ref(&b), 1, true), Ok(()));
    assert_eq!(after_c(&[b.clone(), a.clone()], 2, false), Ok(()));
    refused(after_c(std::slice::from_ref(&b), 1, false), "misses a");
    refused(after_c(std::slice::from_ref(&a), 1, false), "misses b");
    refused(after_c(std::slice::from_ref(&b), 2, true), "has 1 of 2");
    refused(after_c(&[b.clone(), a], 2, true), "has a next_cursor, and nothing is beyond");
    refused(after_c(&[c.clone(), b], 2, true), "behind");
}

#[test]
fn what_is_beyond_a_page_brings_in_all_of_its_actor() {
    let steps = [
        Done(follow("cyd", 0)),
        Done(publish("c", "cyd", 5)),
        Done(publish("a", "ann", 4)),
        Done(publish("b", "ann", 6)),
        Asked,
        Begun(follow("ann", 0)),
    ];
    // Only ann's a could be beyond, and then her b would be on the page.
    let c = [item("c", "cyd", 5)];
    let full = |more| judge(&steps, |page| (page.limit, page.items, page.more) = (1, &c, more));
    assert_eq!(full(false), Ok(()));
    refused(full(true), "nothing is beyond");
    let b = [item("b", "ann", 6)];
    assert_eq!(judge(&steps, |page| (page.limit, page.items, page.more) = (1, &b, true)), Ok(()));
}

#[test]
fn retention_ends_at_one_time_between_question_and_answer() {
    let (first, second) = (-RETENTION, -RETENTION + 5);
    let published = [
        Done(follow("ann", 0)),
        Done(publish("a", "ann", first - 1)),
        Done(publish("b", "ann", first)),
        Done(publish("c", "ann", second)),
        Done(publish("d", "ann", 0)),
        Asked,
    ];
    let items = [("a", first - 1), ("b", first), ("c", second), ("d", 0)];
    let [a, b, c, d] = items.map(|(id, at)| item(id, "ann", at));
    let later = |items: &[Shown], millis, clocks_apart| {
        judge(&published, |page| {
            (page.items, page.clocks_apart) = (items, clocks_apart);
            page.answered.now = NOW + millis;
        })
    };
    let all = [d.clone(), c.clone(), b.clone(), a];
    accepts(&published, &all[..3]);
    rejects(&published, &all, "which is past retention");
    rejects(&published, &all[..2], "misses b");
    for millis in [5, 6] {
        assert_eq!(later(&all[..3], millis, false), Ok(()));
        assert_eq!(later(&all[..2], millis, false), Ok(()));
    }
    refused(later(&all[..1], 5, false), "misses c");
    assert_eq!(later(&all[..1], 6, false), Ok(()));
    // The older without the newer: only if nobody can tell which clock counted.
    let without_c = [d, b];
    refused(later(&without_c, 6, false), "past retention");
    assert_eq!(later(&without_c, 6, true), Ok(()));
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

/// The rule word by word: tries all sets of commands, and all ways in which ids may belong to publishes.
fn some_set_answers(log: &Log, page: &Page<'_>) -> bool {
    let begun: Vec<_> = log.commands.iter().filter(|c| c.begun < page.answered.events).collect();
    let owners = owners_of_ids(&begun);
    (0_u32..1 << begun.len()).any(|set| {
        let (chosen, left_out): (Vec<_>, Vec<_>) =
            (0..begun.len()).partition(|n| set & (1 << n) != 0);
        let [chosen, left_out] = [chosen, left_out].map(|part| part.into_iter().map(|n| begun[n]));
        may_be_left_out(left_out, &chosen.clone().collect::<Vec<_>>(), page)
            && owners.iter().any(|owners| {
                let mut reference = Reference::default();
                let in_force = chosen.clone().filter(|command| !is_refused(command, owners));
                in_force.for_each(|command| reference.take(&command.what));
                is_query(&reference, page)
            })
    })
}

fn may_be_left_out<'a>(
    mut left_out: impl Iterator<Item = &'a Command>,
    chosen: &[&Command],
    page: &Page<'_>,
) -> bool {
    left_out.all(|command| {
        let after = |event| command.in_effect.is_none_or(|in_effect| in_effect >= event);
        after(page.asked.events) && chosen.iter().all(|chosen| after(chosen.begun))
    })
}

/// By id, the event with which its publish began.
type Owners<'a> = BTreeMap<&'a str, usize>;

fn owners_of_ids<'a>(begun: &[&'a Command]) -> Vec<Owners<'a>> {
    let mut by_id: BTreeMap<&str, Vec<&Command>> = BTreeMap::new();
    for command in begun {
        if let What::Publish { id, .. } = &command.what {
            by_id.entry(id).or_default().push(command);
        }
    }
    by_id.into_iter().fold(vec![Owners::new()], |ways, (id, publishes)| {
        let first_in_effect = publishes.iter().filter_map(|publish| publish.in_effect).min();
        let owners = publishes.iter().map(|publish| publish.begun);
        let owners = owners.filter(|begun| first_in_effect.is_none_or(|event| event > *begun));
        let with = |owner| ways.iter().map(move |way| (way.clone(), owner));
        let with = owners.flat_map(with);
        with.map(|(way, owner)| way.into_iter().chain([(id, owner)]).collect()).collect()
    })
}

fn is_refused(command: &Command, owners: &Owners<'_>) -> bool {
    match &command.what {
        What::Publish { id, .. } => owners[id.as_str()] != command.begun,
        _ => false,
    }
}

/// Whether a page is what a query answers at some time between question and answer.
fn is_query(reference: &Reference, page: &Page<'_>) -> bool {
    (page.asked.now..=page.answered.now).any(|now| {
        let mut left: Vec<_> = reference.timeline("bob", now).into_iter().rev().collect();
        left.retain(|it| page.after.is_none_or(|after| it.position() < after.position()));
        let more = left.len() > page.limit;
        left.truncate(page.limit);
        left == page.items && more == page.more
    })
}

fn any_command(random: &mut Rng) -> What {
    let (actor, id) = (["ann", "cyd"][random.usize(0..2)], ["a", "b", "c"][random.usize(0..3)]);
    let at = random.i64(0..3);
    match random.u8(0..12) {
        0..3 => follow(actor, at),
        3..5 => unfollow(actor, at),
        5..9 if random.u8(0..4) == 0 => publish(id, actor, at - RETENTION),
        5..9 => publish(id, ["ann", "cyd", "ann"][usize::from(id.as_bytes()[0] - b'a')], at / 2),
        9..11 => {
            update(id, actor, at, random.bool().then_some("k"), ["x", "y"][random.usize(0..2)])
        }
        _ => delete(id, actor),
    }
}

/// A log of a few commands, some of which are in effect.
fn any_log(random: &mut Rng) -> Log {
    let (mut log, mut open) = (Log::default(), Vec::new());
    for _ in 0..random.usize(1..18) {
        if open.is_empty() || random.bool() {
            open.push(any_command(random));
            log.begin(open.last().unwrap());
        } else {
            log.take_effect(&open.swap_remove(random.usize(..open.len())));
        }
    }
    log
}

#[test]
fn a_page_is_whole_if_some_set_of_commands_answers_it() {
    let mut random = Rng::with_seed(1);
    let mut judged = [0, 0];
    for _ in 0..20_000 {
        let log = any_log(&mut random);
        let mut events = [random.usize(0..=log.events()), random.usize(0..=log.events())];
        events.sort_unstable();
        // What some commands answer, whether or not they may.
        let mut reference = Reference::default();
        for command in &log.commands {
            if random.u8(0..4) > 0 {
                reference.take(&command.what);
            }
        }
        let mut items: Vec<_> = reference.timeline("bob", NOW).into_iter().rev().collect();
        let after = (random.bool() && !items.is_empty()).then(|| items.remove(0));
        let limit = random.usize(1..4);
        let more = items.len() > limit;
        items.truncate(limit);
        let page = Page {
            walk: &NEWEST_FIRST,
            after: after.as_ref(),
            limit,
            items: &items,
            more,
            asked: Instant { events: events[0], now: NOW },
            answered: Instant { events: events[1], now: NOW + random.i64(0..3) },
            clocks_apart: false,
        };
        let (found, expected) = (log.whole(&page), some_set_answers(&log, &page));
        assert_eq!(found.is_ok(), expected, "{:?} {items:?} {more}: {found:?}", page.asked);
        judged[usize::from(expected)] += 1;
    }
    assert!(judged.iter().all(|times| *times > 2_000), "{judged:?}");
}
