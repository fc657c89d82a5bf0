//! Pages of any kind, against the rule tried word by word: every set of commands that may have answered.

use fastrand::Rng;

use super::*;
use crate::social::reference::Reference;

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
            after_short: false,
            after: after.as_ref(),
            limit,
            items: &items,
            more,
            asked: Instant { events: events[0], now: NOW },
            answered: Instant { events: events[1], now: NOW + random.i64(0..3) },
            clocks_apart: false,
            short_queries: false,
        };
        let (found, expected) = (log.whole(&page), some_set_answers(&log, &page));
        assert_eq!(found.is_ok(), expected, "{:?} {items:?} {more}: {found:?}", page.asked);
        judged[usize::from(expected)] += 1;
    }
    assert!(judged.iter().all(|times| *times > 2_000), "{judged:?}");
}
