//! Events that their customer has no room for are counted once each, and the first of a day become dead letters.

use std::collections::BTreeSet;

use aws_lambda_events::event::sqs::SqsMessage;
use nagare_local::faults::Fault;
use nagare_operator::letters::redrive;
use serde_json::Value;
use shared::history::refusals::{RefusalCount, Refusals};
use shared::history::summaries::Summaries;
use shared::platform::values::RefusalReason;
use tests::{World, event, soon, unfinished_ids};

use super::{Sent, check_names, check_witnesses, filled, fold, fold_all, records, shrunk};
use crate::platform::blows::{Blow, Steps};

/// A letter of each reason and day.
const MOST: u64 = 5;

/// Events of one customer, each of another name; more than there is room for.
fn named(number: usize) -> impl Iterator<Item = Sent> {
    (0..number).map(|n| {
        let at = format!("2026-11-01T00:{:02}:{:02}.000Z", n / 60, n % 60);
        ("acme", "c-0".to_owned(), format!("{n:064}"), at)
    })
}

fn narrow(mut world: World, most: u64) -> World {
    world.history_projector.refusals = Refusals::new(&world.tables.ledger).keeping(most);
    world
}

/// How many events of a customer are counted.
async fn folded(world: &World, customer: &str) -> u64 {
    let summaries = Summaries::new(&world.tables.views);
    let customer = customer.parse().unwrap();
    summaries.customer(&customer).await.unwrap().unwrap().events() as u64
}

/// The refusals on record, and those without a letter.
async fn counted(world: &World) -> (u64, u64) {
    let counts = Refusals::new(&world.tables.ledger).all(world.clock.now()).await.unwrap();
    let RefusalCount { refused, without_letter } =
        counts.get(&RefusalReason::TOO_MANY_NAMES).copied().unwrap_or_default();
    (refused, without_letter)
}

fn attribute(letter: &SqsMessage, name: &str) -> String {
    letter.message_attributes[name].string_value.clone().unwrap()
}

/// The ids of letters, all of which are of one reason.
async fn letters(world: &World) -> BTreeSet<String> {
    let letters = world.take_dead_letters().await;
    for letter in &letters {
        assert_eq!(attribute(letter, "nagare.reason"), "too-many-names");
        assert!(attribute(letter, "nagare.detail").contains("no room for another"));
    }
    letters.iter().map(|letter| attribute(letter, "nagare.origin")).collect()
}

async fn listed(world: &World) -> Value {
    world.get("/v1/tenants/acme/refusals", "").await.2["items"].clone()
}

#[tokio::test]
async fn an_event_that_has_no_room_is_refused_alone() {
    let world = narrow(World::within(&shrunk(1_024), |inside| inside), MOST);
    let mut events: Vec<_> = named(240).collect();
    let at = "2026-11-01T00:00:00.000Z".to_owned();
    events.push(("acme", "c-1".to_owned(), "login".to_owned(), at));
    filled(&world, &events).await;
    let all = records(&world, "2026-11");
    for at_once in [1_000, 7] {
        for some in all.chunks(at_once) {
            assert_eq!(fold(&world, "2026-11", "a", some).await.batch_item_failures, []);
        }
        let refused = 240 - folded(&world, "acme#c-0").await;
        assert!((10..200).contains(&refused), "{refused}");
        assert_eq!(counted(&world).await, (refused, refused - MOST));
        assert_eq!(letters(&world).await.len() as u64, if at_once == 7 { 0 } else { MOST });
        let items = listed(&world).await;
        let examples = items[0]["examples"].as_array().unwrap();
        assert_eq!(
            (&items[0]["reason"], &items[0]["count"]),
            (&"too-many-names".into(), &refused.into())
        );
        assert_eq!(examples.len() as u64, MOST);
        assert!(examples.iter().all(|it| it["customer_id"] == "c-0" && it["at"].is_string()));
        assert_eq!(folded(&world, "acme#c-1").await, 1);
        check_names(&world, &events).await;
        check_witnesses(&world).await;
    }
    // Nobody is paged for a tenant.
    let lines = world.metrics.lines();
    assert_eq!(lines.iter().filter_map(|line| line["ChangesSetAside"].as_u64()).sum::<u64>(), 0);
}

/// Whatever comes between the events that are refused is folded.
#[tokio::test]
async fn refused_events_hold_up_no_others() {
    let world = World::within(&shrunk(256), |inside| inside);
    let at = |n: usize| format!("2026-11-01T01:{:02}:{:02}.000Z", n / 60, n % 60);
    let login = |n| ("acme", "c-0".to_owned(), "login".to_owned(), at(n));
    let first = std::iter::once(login(0));
    let events: Vec<Sent> =
        first.chain(named(400).enumerate().flat_map(|(n, it)| [it, login(n + 1)])).collect();
    filled(&world, &events).await;
    let all = records(&world, "2026-11");
    assert_eq!(fold(&world, "2026-11", "a", &all).await.batch_item_failures, []);
    let refused = 801 - folded(&world, "acme#c-0").await;
    assert!(refused > 300, "{refused}");
    let (_, _, body) = world.get("/v1/tenants/acme/customers/c-0", "").await;
    assert_eq!(body["names"]["login"]["count"], 401);
    assert_eq!(counted(&world).await, (refused, 0));
    assert_eq!(letters(&world).await.len() as u64, refused);
}

/// Folds all, some records at a time.
async fn fold_some(world: &World, at_once: usize) {
    for some in records(world, "2026-11").chunks(at_once) {
        assert_eq!(fold(world, "2026-11", "a", some).await.batch_item_failures, []);
    }
}

/// The function dies at each of its calls, before and after it, or the call goes wrong; and the batch comes again.
#[tokio::test]
async fn a_batch_that_dies_anywhere_counts_each_refusal_once() {
    let events: Vec<_> = named(48).collect();
    let blows = [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer)];
    let steps = Steps::with(None);
    filled(&World::within(&shrunk(256), |it| steps.before(it)), &events).await;
    let (begin, mut struck) = (steps.taken(), 0);
    for blow in blows {
        for step in 0.. {
            let first = begin + step;
            let steps = Steps::with(Some((first, blow)));
            let world = narrow(World::within(&shrunk(256), |it| steps.before(it)), MOST);
            filled(&world, &events).await;
            tokio::select! {
                () = fold_some(&world, 45) => {}
                () = steps.died() => {}
            }
            let is_past = first >= steps.taken();
            fold_some(&world, 19).await;
            let refused = 48 - folded(&world, "acme#c-0").await;
            assert!(refused > MOST + 3, "{refused}");
            assert_eq!(counted(&world).await, (refused, refused - MOST), "{blow:?} {step}");
            assert_eq!(letters(&world).await.len() as u64, MOST, "{blow:?} {step}");
            if is_past {
                break;
            }
            struck += 1;
        }
    }
    assert!(struck > 20, "{struck}");
}

/// Shards that refuse events of one tenant at the same time share its letters.
#[tokio::test]
async fn batches_that_meet_count_each_refusal_once() {
    let world = narrow(World::within(&shrunk(256), |inside| inside), MOST);
    let events: Vec<_> = named(120).collect();
    filled(&world, &events).await;
    let all = records(&world, "2026-11");
    let shards: Vec<Vec<_>> = (0..4)
        .map(|n| all.iter().filter(|it| it.number % 4 == n).cloned().collect::<Vec<_>>())
        .collect();
    let names = ["a", "b", "c", "d"];
    let folds = names.iter().zip(&shards).map(|(shard, some)| fold(&world, "2026-11", shard, some));
    let again = fold(&world, "2026-11", "a", &shards[0]);
    let (answers, _) = futures::join!(futures::future::join_all(folds), again);
    assert!(answers.iter().all(|answer| answer.batch_item_failures.is_empty()));
    let refused = 120 - folded(&world, "acme#c-0").await;
    assert_eq!(counted(&world).await, (refused, refused - MOST));
    assert_eq!(letters(&world).await.len() as u64, MOST);
}

#[tokio::test]
async fn what_is_redriven_without_room_is_the_letter_it_was() {
    let world = narrow(World::within(&shrunk(256), |inside| inside), MOST);
    filled(&world, &named(60).collect::<Vec<_>>()).await;
    fold_all(&world, 100).await;
    let before = counted(&world).await;
    let keep = async || {
        let taken = world.take_dead_letters().await;
        world.alerter.handle(event(taken), soon()).await.unwrap();
        let kept = world.kept_letters().await.into_iter().map(|it| (it.id, it.reason));
        kept.collect::<BTreeSet<_>>()
    };
    let kept = keep().await;
    assert_eq!(kept.len() as u64, MOST);
    let letters = &world.tables.dead_letters;
    for (id, _) in &kept {
        let letter = letters.get(id).await.unwrap().unwrap();
        redrive(letters, &world.sender, &letter).await.unwrap();
    }
    let commands = world.take_commands().await;
    let answer = world.writer.handle(event(commands), soon()).await.unwrap();
    assert_eq!(unfinished_ids(&answer), [""; 0]);
    world.project("facts").await;
    assert_eq!(keep().await, kept);
    assert_eq!(counted(&world).await, before);
}
