//! Summaries: events folded into what customers did, by name and by day, exactly once.

mod coming_back;
mod forgetting;
mod refusing;
mod replaying;

use std::collections::BTreeMap;

use function_http::Authorization;
use function_stream::StreamResponse;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::faults::Fault;
use nagare_local::stream_source::event_of;
use serde_json::{Value, json};
use shared::history::events::{Customer, Tally};
use shared::history::summaries::{CustomerSummary, Summaries};
use shared::platform::dynamo::{Limits, Query};
use shared::platform::values::{EventName, Timestamp};
use tests::{World, soon};

use crate::platform::blows::{Blow, Steps};

/// An event: tenant, customer, name, instant.
type Sent = (&'static str, String, String, String);

/// The clock of a world shows 2026-11-20.
async fn filled(world: &World, events: &[Sent]) {
    for period in ["2026-10", "2026-11", "2026-12"] {
        world.make_period(period).await;
    }
    world.set_clock("2026-11-05T00:00:00Z");
    for (n, (tenant, customer, name, at)) in events.iter().enumerate() {
        let command = json!({"type": "event.recorded", "tenant_id": tenant, "customer_id": customer,
            "event_id": format!("e{n}"), "name": name, "at": at, "properties": {"n": n}});
        world.done(&[command]).await;
    }
}

/// Events of two tenants, one of which is called like a kind of facts, over two periods.
fn some(number: u32) -> Vec<Sent> {
    let of = |n: u32| {
        let (day, hour) = (n * 7 % 60, n * 5 % 24);
        let at = match day {
            0..30 => format!("2026-10-{:02}T{hour:02}:00:00.000Z", day + 1),
            _ => format!("2026-11-{:02}T{hour:02}:00:00.000Z", (day - 30) % 3 + 1),
        };
        let tenant = if n.is_multiple_of(3) { "likes" } else { "acme" };
        (tenant, format!("c-{}", n % 4), format!("name-{}", n * n % 11), at)
    };
    (0..number).map(of).collect()
}

fn table(period: &str) -> String {
    format!("nagare-events-{period}")
}

fn records(world: &World, period: &str) -> Vec<StreamRecord> {
    world.engine.stream_of(&table(period), 0, usize::MAX).unwrap()
}

async fn fold(world: &World, period: &str, shard: &str, some: &[StreamRecord]) -> StreamResponse {
    let batch = event_of(&table(period), shard, some).unwrap();
    world.fold(batch, soon()).await.unwrap()
}

/// Folds all, some records at a time, in two shards of each stream.
pub(crate) async fn fold_all(world: &World, at_once: usize) {
    for period in ["2026-11", "2026-10"] {
        let all = records(world, period);
        let (even, odd): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.number % 2 == 0);
        for (shard, records) in [("one", even), ("other", odd)] {
            for some in records.chunks(at_once) {
                let answer = fold(world, period, shard, some).await;
                assert_eq!(answer.batch_item_failures, []);
            }
        }
    }
}

/// What events come to, counted one by one.
fn recounted(events: &[Sent]) -> BTreeMap<Customer, CustomerSummary> {
    let mut summaries = BTreeMap::<Customer, CustomerSummary>::new();
    for (tenant, customer, name, at) in events {
        let customer = format!("{tenant}#{customer}").parse().unwrap();
        let (name, at) = (EventName::new(name.as_str()).unwrap(), at.parse().unwrap());
        summaries.entry(customer).or_default().count(&name, at);
    }
    summaries
}

/// Everything that is answered and stored is what was counted one by one.
async fn check(world: &World, events: &[Sent]) {
    let summaries = Summaries::new(&world.tables.views);
    for (customer, recounted) in recounted(events) {
        let folded = summaries.customer(&customer).await.unwrap();
        assert_eq!(folded, Some(recounted.clone()), "{customer}");
        let Customer { tenant_id, customer_id } = &customer;
        let path = format!("/v1/tenants/{tenant_id}/customers/{customer_id}");
        let (status, _, body) = world.get(&path, "").await;
        let names = recounted.names().map(|(name, tally)| {
            let (first_at, last_at) = (tally.first_at, tally.last_at);
            let tally = json!({"count": tally.count, "first_at": first_at, "last_at": last_at});
            (name.to_string(), tally)
        });
        let names: serde_json::Map<_, _> = names.collect();
        let expected = json!({"customer_id": customer_id, "payload": null,
            "events": recounted.events(), "first_at": recounted.first_at(),
            "last_at": recounted.last_at(), "names": names, "scores": {}});
        assert_eq!((status, body), (200, expected));
    }
    check_names(world, events).await;
    check_witnesses(world).await;
}

async fn check_names(world: &World, events: &[Sent]) {
    let mut names = BTreeMap::<(&str, &str), Vec<&str>>::new();
    for (tenant, _, name, at) in events {
        names.entry((*tenant, name.as_str())).or_default().push(at);
    }
    for ((tenant, name), mut instants) in names {
        instants.sort_unstable();
        let mut by_day = BTreeMap::<&str, u64>::new();
        for at in &instants {
            *by_day.entry(&at[..10]).or_default() += 1;
        }
        let days = by_day.iter().rev().map(|(date, count)| json!({"date": date, "count": count}));
        let expected = json!({"name": name, "count": instants.len(), "first_at": instants[0],
            "last_at": instants.last(), "days": days.collect::<Vec<_>>()});
        let path = format!("/v1/tenants/{tenant}/names/{name}");
        let (status, _, body) = world.get(&path, "").await;
        assert_eq!((status, body), (200, expected));
    }
}

/// The witness of each period is what its table adds up to.
async fn check_witnesses(world: &World) {
    let summaries = Summaries::new(&world.tables.views);
    for name in ["2026-10", "2026-11"] {
        let period = name.parse().unwrap();
        let table = world.tables.events.tables().table(period);
        let mut tally = Tally::default();
        for row in table.all(Query::default()).await.unwrap() {
            tally.add(Tally::of_line(&shared::history::events::Event::read(&row).unwrap().line()));
        }
        assert_eq!(summaries.witness(period).await.unwrap(), tally);
    }
}

/// A view that many shards change keeps few marks, because their checkpoints say as much.
#[tokio::test]
async fn what_many_shards_bring_counts_once() {
    let (world, events) = (World::new(), some(120));
    filled(&world, &events).await;
    for _ in 0..2 {
        for period in ["2026-10", "2026-11"] {
            for (n, record) in records(&world, period).iter().enumerate() {
                let (shard, one) = (format!("shard {n}"), std::slice::from_ref(record));
                assert_eq!(fold(&world, period, &shard, one).await.batch_item_failures, []);
            }
        }
        check(&world, &events).await;
    }
}

#[tokio::test]
async fn what_is_folded_is_what_was_taken_whatever_comes_again() {
    let (world, events) = (World::new(), some(120));
    filled(&world, &events).await;
    fold_all(&world, 7).await;
    check(&world, &events).await;
    // As a mapping that was made again, and cuts its batches elsewhere.
    fold_all(&world, 50).await;
    check(&world, &events).await;
}

/// What is refused counts nowhere, and what is repeated counts once.
#[tokio::test]
async fn what_is_refused_or_repeated_is_in_no_summary() {
    let (world, events) = (World::new(), some(20));
    filled(&world, &events).await;
    let (tenant, customer, _, at) = &events[0];
    let conflict = json!({"type": "event.recorded", "tenant_id": tenant, "customer_id": customer,
        "event_id": "e0", "name": "another", "at": at});
    let late = json!({"type": "event.recorded", "tenant_id": tenant, "customer_id": customer,
        "event_id": "late", "name": "late", "at": "2026-08-01T00:00:00Z"});
    world.done(&[conflict, late]).await;
    assert_eq!(world.take_dead_letters().await.len(), 2);
    fold_all(&world, 100).await;
    check(&world, &events).await;
}

#[tokio::test]
async fn batches_that_meet_at_a_view_count_each_event_once() {
    let (world, events) = (World::new(), some(90));
    filled(&world, &events).await;
    let all = records(&world, "2026-10");
    let shards: Vec<Vec<_>> = (0..4)
        .map(|n| all.iter().filter(|it| it.number % 4 == n).cloned().collect::<Vec<_>>())
        .collect();
    let names = ["a", "b", "c", "d"];
    let folds = names.iter().zip(&shards).map(|(shard, some)| fold(&world, "2026-10", shard, some));
    // The second delivery of one, while the first is at work.
    let again = fold(&world, "2026-10", "a", &shards[0]);
    let (answers, _) = futures::join!(futures::future::join_all(folds), again);
    assert!(answers.iter().all(|answer| answer.batch_item_failures.is_empty()));
    let rest = records(&world, "2026-11");
    fold(&world, "2026-11", "a", &rest).await;
    check(&world, &events).await;
}

/// The function dies at each of its calls, before and after it, or the call goes wrong; and the batch comes again.
#[tokio::test]
async fn a_batch_that_dies_anywhere_counts_each_event_once() {
    let events = some(5);
    let blows = [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer)];
    let mut struck = 0;
    let steps = Steps::with(None);
    filled(&World::behind(|it| steps.before(it)), &events).await;
    let begin = steps.taken();
    for blow in blows {
        for step in 0.. {
            let first = begin + step;
            let steps = Steps::with(Some((first, blow)));
            let world = World::behind(|it| steps.before(it));
            filled(&world, &events).await;
            tokio::select! {
                () = fold_all(&world, 100) => {}
                () = steps.died() => {}
            }
            let is_past = first >= steps.taken();
            fold_all(&world, 100).await;
            check(&world, &events).await;
            if is_past {
                break;
            }
            struck += 1;
        }
    }
    assert!(struck > 20, "{struck}");
}

/// The function dies when it has written a third of what it has to write.
#[tokio::test]
async fn a_tenant_with_one_event_does_not_wait_for_one_with_many() {
    let at = "2026-11-01T00:00:00.000Z";
    let event = |tenant, n: usize| (tenant, format!("c-{n}"), "login".to_owned(), at.to_owned());
    let mut events: Vec<Sent> = (0..300).map(|n| event("acme", n)).collect();
    events.push(event("zeta", 0));
    let folded = async |blow| {
        let steps = Steps::with(blow);
        let world = World::behind(|it| steps.before(it));
        filled(&world, &events).await;
        let (begin, all) = (steps.taken(), records(&world, "2026-11"));
        tokio::select! {
            _ = fold(&world, "2026-11", "one", &all) => {}
            () = steps.died() => {}
        }
        (world, begin, steps.taken() - begin)
    };
    let (_, begin, calls) = folded(None).await;
    let (world, ..) = folded(Some((begin + calls / 3, Blow::DiesBefore))).await;
    let summaries = Summaries::new(&world.tables.views);
    let customers = events.iter().map(|(tenant, customer, ..)| format!("{tenant}#{customer}"));
    let mut is_there = Vec::new();
    for customer in customers {
        let found = summaries.customer(&customer.parse().unwrap()).await.unwrap();
        is_there.push(found.is_some());
    }
    assert_eq!(is_there.last(), Some(&true));
    assert!(is_there.contains(&false), "all is written already");
}

fn shrunk(row_bytes: usize) -> Limits {
    Limits { row_bytes, block_bytes: row_bytes * 2, ..Limits::DYNAMODB }
}

#[tokio::test]
async fn what_is_too_much_for_a_view_is_in_blocks() {
    let world = World::within(&shrunk(2_048), |inside| inside);
    let events =
        some(300).into_iter().map(|(tenant, _, name, at)| (tenant, "c-0".to_owned(), name, at));
    let events: Vec<Sent> = events.collect();
    filled(&world, &events).await;
    for at_once in [1, 9, 200] {
        fold_all(&world, at_once).await;
        check(&world, &events).await;
    }
    let table = world.tables.views.table();
    let keys = table.all(Query::default()).await.unwrap();
    let blocks =
        |of: &str| keys.iter().filter(|row| row.text("sk").unwrap().starts_with(of)).count();
    assert!(
        blocks("days#") > 4 && blocks("names#") > 4,
        "{} {}",
        blocks("days#"),
        blocks("names#")
    );
    // Days are asked for that are in blocks alone.
    let customer = "acme#c-0".parse().unwrap();
    let summary = Summaries::new(&world.tables.views).customer(&customer).await.unwrap();
    let summary = summary.unwrap();
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let (from, to) = (at("2026-10-01T00:00:00Z"), at("2026-10-08T00:00:00Z"));
    let is_in = |it: &&Sent| it.0 == "acme" && it.3.as_str() < "2026-10-08";
    let expected = events.iter().filter(is_in).count() as u64;
    assert_eq!(summary.counted_all(from, to), expected);
    assert!(expected > 0);
}

/// Pages go through all of a list, each once, and answer nobody else's cursor.
#[tokio::test]
async fn lists_are_in_order_and_their_cursors_are_theirs() {
    let (world, events) = (World::new(), some(60));
    filled(&world, &events).await;
    fold_all(&world, 100).await;
    for (list, id) in [("customers", "customer_id"), ("names", "name")] {
        let path = format!("/v1/tenants/acme/{list}");
        let (mut shown, mut query, mut cursors) = (Vec::new(), "limit=2".to_owned(), Vec::new());
        loop {
            let (status, _, page) = world.get(&path, &query).await;
            assert_eq!(status, 200, "{page}");
            let items = page["items"].as_array().unwrap().clone();
            assert!((1..=2).contains(&items.len()));
            shown.extend(items);
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            cursors.push(cursor.to_owned());
            query = format!("limit=2&cursor={cursor}");
        }
        let mut expected: Vec<_> = events.iter().filter(|it| it.0 == "acme").collect();
        expected.sort_by_key(|it| if list == "names" { it.2.clone() } else { it.1.clone() });
        expected.dedup_by_key(|it| if list == "names" { it.2.clone() } else { it.1.clone() });
        let ids: Vec<_> = shown.iter().map(|item| item[id].as_str().unwrap()).collect();
        let expected = expected.iter().map(|it| if list == "names" { &it.2 } else { &it.1 });
        assert!(ids.iter().copied().eq(expected.map(String::as_str)), "{ids:?}");
        // What a page shows of one is what is answered of that one.
        for item in &shown {
            let (_, _, mut one) =
                world.get(&format!("{path}/{}", item[id].as_str().unwrap()), "").await;
            one.as_object_mut().unwrap().remove("days");
            assert_eq!(&one, item);
        }
        let other = if list == "names" { "customers" } else { "names" };
        for path in [format!("/v1/tenants/likes/{list}"), format!("/v1/tenants/acme/{other}")] {
            let (status, _, _) = world.get(&path, &format!("cursor={}", cursors[0])).await;
            assert_eq!(status, 400, "{path}");
        }
    }
}

#[tokio::test]
async fn what_is_unknown_or_of_another_tenant_is_not_answered() {
    let (mut world, events) = (World::new(), some(9));
    filled(&world, &events).await;
    fold_all(&world, 100).await;
    for path in ["customers/nobody", "names/nothing"] {
        let (status, _, _) = world.get(&format!("/v1/tenants/acme/{path}"), "").await;
        assert_eq!(status, 404, "{path}");
    }
    let (_, _, empty) = world.get("/v1/tenants/nobody/customers", "").await;
    assert_eq!(empty, json!({"items": [], "next_cursor": null}));
    world.set_authorization(Authorization::Jwt);
    for path in ["customers", "customers/c-1", "names", "names/name-1"] {
        let request = |claims: Value| {
            let path = format!("/v1/tenants/acme/{path}");
            tests::api_event("GET", &path, "", Some(json!({"jwt": {"claims": claims}})))
        };
        for (claims, expected) in [
            (json!({"sub": "a", "tenant_id": "acme"}), 200),
            (json!({"sub": "a", "tenant_id": "likes"}), 403),
            (json!({"sub": "acme"}), 403),
        ] {
            let event = serde_json::from_value(request(claims.clone())).unwrap();
            let answer = world.respond(&event, soon()).await;
            assert_eq!(answer.status_code, expected, "{path} {claims}");
        }
    }
}
