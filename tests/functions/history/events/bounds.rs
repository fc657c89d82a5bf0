//! What recording and reading cost at most, and busy customers.

use std::collections::BTreeSet;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_local::faults::Faulty;
use serde_json::{Value, json};
use shared::history::events::{
    Customer, EventSettings, MOST_BYTES, MOST_KEYS, PeriodLength, PeriodRow, PeriodState, ROUNDS,
    UNITS, periods,
};
use tests::World;

use super::{NOON, batch, ids, login, page_of, reasons, recorded};
use crate::platform::most_bytes;
use crate::platform::units::UnitCounter;

fn customer(id: &str) -> Customer {
    format!("acme#{id}").parse().unwrap()
}

/// The partition keys in the table of a period.
async fn partitions(world: &World, period: &str) -> BTreeSet<String> {
    let table = world.tables.events.tables().table(period.parse().unwrap());
    let rows = table.all(shared::platform::dynamo::Query::default()).await.unwrap();
    rows.iter().map(|row| row.text("pk").unwrap().to_owned()).collect()
}

fn at(n: usize) -> String {
    format!("2026-11-20T11:{:02}:{:02}.000Z", n / 60 % 60, n % 60)
}

/// Pages of a walk, each within its bounds; what they show.
async fn walk(counter: &UnitCounter, customer: &str, query: &str) -> Vec<String> {
    let (mut shown, mut next, mut pages) = (Vec::new(), query.to_owned(), 0);
    loop {
        let body = page_of(&counter.world, customer, &next).await;
        let (units, rounds) = counter.take_with_rounds();
        // Once in a few seconds the rows of periods are read before.
        assert!(units.reads <= (UNITS + 8) as f64 && rounds <= ROUNDS + 1, "{units:?} {rounds}");
        shown.extend(ids(&body).into_iter().map(ToOwned::to_owned));
        pages += 1;
        let Some(cursor) = body["next_cursor"].as_str() else { return shown };
        assert!(pages < 200, "{body}");
        next = format!("limit=100&cursor={cursor}");
    }
}

#[tokio::test]
async fn an_event_costs_one_write_and_a_period_is_looked_up_once() {
    let counter = UnitCounter::new();
    counter.uncounted(async |world| world.make_period("2026-11").await).await;
    let one = async |n: usize, length: usize| {
        counter
            .apply(&[recorded("c-9", &format!("e{n}"), NOON, "login", json!("x".repeat(length)))])
            .await;
        let units = counter.take();
        (units.writes, units.reads)
    };
    assert_eq!(one(0, 900).await, (1.0, 1.0));
    assert_eq!(one(1, 900).await, (1.0, 0.0));
    // Said again: one call, whose refusal costs what the item does.
    counter.apply(&[recorded("c-9", "e1", NOON, "login", json!("x".repeat(900)))]).await;
    assert_eq!(counter.take_with_rounds().0.calls, 1);
    assert_eq!(one(2, 1_000).await, (2.0, 0.0));
    counter
        .apply(&[batch(&(0..50).map(|n| login(&format!("b{n}"), NOON)).collect::<Vec<_>>())])
        .await;
    assert_eq!(counter.take().writes, 50.0);
}

#[tokio::test]
async fn no_event_is_larger_than_its_bound() {
    let world = super::world().await;
    let id = "x".repeat(128);
    let mut largest = recorded(&id, &id, NOON, &"n".repeat(64), json!("p".repeat(4_094)));
    largest["tenant_id"] = json!(id);
    world.done(&[largest]).await;
    let scan = json!({"TableName": "nagare-events-2026-11"}).to_string();
    let (_, answer) = world.engine.call("Scan", scan.as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let item = answer["Items"][0].as_object().unwrap();
    let text = |value: &Value| value["S"].as_str().unwrap().len();
    let bytes: usize = item.iter().map(|(name, value)| name.len() + text(value)).sum();
    // With several keys, the number of one stands behind.
    let bytes = bytes + "#63".len();
    assert!(bytes <= MOST_BYTES && MOST_BYTES - bytes < 20, "{bytes}");
    assert_eq!(most_bytes("events: event"), MOST_BYTES);
}

#[tokio::test(start_paused = true)]
async fn a_silent_customer_costs_few_rounds() {
    let mut counter = UnitCounter::far();
    let settings =
        EventSettings { length: PeriodLength::Day, lateness_days: 60, ..EventSettings::default() };
    counter.world.writer.events.as_mut().unwrap().settings = settings;
    // To readers most of these days are closed.
    counter.world.history_reader.events.settings = EventSettings { lateness_days: 7, ..settings };
    let days = (1..=30).map(|day| format!("2026-10-{day:02}"));
    let days: Vec<_> = days.chain((1..=20).map(|day| format!("2026-11-{day:02}"))).collect();
    counter
        .uncounted(async |world| {
            for day in &days {
                world.make_period(day).await;
            }
            world.done(&[login("long-ago", "2026-10-01T12:00:00Z")]).await;
        })
        .await;
    counter.take_with_rounds();
    let shown = walk(&counter, "c-9", "").await;
    assert_eq!(shown, ["long-ago"]);
    // One that has something in the newest table costs one round.
    counter
        .uncounted(async |world| {
            let events: Vec<_> = (0..40).map(|n| login(&format!("e{n}"), &at(n))).collect();
            world.done(&[batch(&events)]).await;
        })
        .await;
    page_of(&counter.world, "c-9", "").await;
    counter.take_with_rounds();
    page_of(&counter.world, "c-9", "").await;
    let (units, rounds) = counter.take_with_rounds();
    assert_eq!((units.reads, rounds), (1.0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_page_ends_when_it_has_cost_enough() {
    let counter = UnitCounter::far();
    let mut expected = Vec::new();
    counter
        .uncounted(async |world| {
            world.make_period("2026-11").await;
            for some in 0..10 {
                let event = |n: usize| {
                    let name = if n.is_multiple_of(97) { "rare" } else { "often" };
                    recorded("c-9", &format!("e{n:04}"), &at(n), name, json!("x".repeat(4_000)))
                };
                let events: Vec<_> = (some * 60..(some + 1) * 60).map(event).collect();
                world.done(&[batch(&events)]).await;
            }
        })
        .await;
    expected.extend((0..600).rev().filter(|n| n % 97 == 0).map(|n| format!("e{n:04}")));
    counter.take_with_rounds();
    assert_eq!(walk(&counter, "c-9", "limit=100&name=rare").await, expected);
    assert_eq!(walk(&counter, "c-9", "limit=100&name=none").await, [""; 0]);
    let all: Vec<_> = (0..600).map(|n| format!("e{n:04}")).collect();
    assert_eq!(walk(&counter, "c-9", "limit=100&order=oldest").await, all);
}

#[tokio::test(start_paused = true)]
async fn a_spread_customer_is_read_as_one() {
    for keys in [2, 16, MOST_KEYS] {
        let counter = UnitCounter::far();
        let world = &counter.world;
        counter
            .uncounted(async |world| {
                world.spread_in_period("2026-11", "acme#c-9", keys).await;
                world.make_period("2026-11").await;
                for some in 0..4 {
                    let event = |n: usize| {
                        recorded(
                            "c-9",
                            &format!("e{n:04}"),
                            &at(n),
                            "login",
                            json!("x".repeat(500)),
                        )
                    };
                    let events: Vec<_> = (some * 100..(some + 1) * 100).map(event).collect();
                    // Twice: a repetition finds what was put.
                    world.done(&[batch(&events), batch(&events)]).await;
                }
                world.done(&[recorded("one", "e", NOON, "login", json!(null))]).await;
            })
            .await;
        assert_eq!(world.events_in("2026-11").await, 401);
        assert_eq!(partitions(world, "2026-11").await.len(), usize::try_from(keys).unwrap() + 1);
        counter.take_with_rounds();
        let mut expected: Vec<_> = (0..400).map(|n| format!("e{n:04}")).collect();
        assert_eq!(walk(&counter, "c-9", "limit=100&order=oldest").await, expected, "{keys}");
        expected.reverse();
        assert_eq!(walk(&counter, "c-9", "limit=20").await, expected, "{keys}");
        assert_eq!(reasons(world).await, [""; 0]);
    }
}

/// A world in which a partition takes few writes a second, and of whose periods the next is made.
async fn narrow() -> World {
    let faults = "partition-writes=20".parse().unwrap();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    world.make_period("2026-11").await;
    world.make_period("2026-12").await;
    world
}

fn busy(name: &str) -> Value {
    let events = (0..100).map(|n| recorded("c-9", &format!("{name}-{n}"), &at(n), "x", json!(n)));
    batch(&events.collect::<Vec<_>>())
}

#[tokio::test(start_paused = true)]
async fn a_busy_customer_has_more_keys_in_the_period_after_the_next_one() {
    let world = narrow().await;
    // Where that is not planned yet, nobody is the worse for it.
    world.done(&[busy("a")]).await;
    world.period("2027-01").await;
    world.done(&[busy("b"), busy("b")]).await;
    assert_eq!(world.events_in("2026-11").await, 200);
    let keys = async |period: &str| world.period(period).await.keys_of(&customer("c-9"));
    // Twice as many as now, however often it was refused; nothing changes of what is made.
    assert_eq!((keys("2026-11").await, keys("2026-12").await, keys("2027-01").await), (1, 1, 2));
    // What is planned after that begins with as many.
    assert_eq!(keys("2027-02").await, 2);
    assert_eq!(world.period("2027-01").await.keys_of(&customer("calm")), 1);
}

#[tokio::test(start_paused = true)]
async fn nobody_has_more_keys_than_the_most_nor_does_a_made_period_change() {
    let faults = "partition-writes=20".parse().unwrap();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    world.spread_in_period("2026-11", "acme#c-9", MOST_KEYS).await;
    world.make_period("2026-11").await;
    world.make_period("2027-01").await;
    let before = world.period("2027-01").await;
    // Each of the keys is busy.
    for n in 0..8 {
        let events: Vec<_> = (0..100)
            .map(|m| recorded("c-9", &format!("e{n}-{m}"), &at(n), "x", json!(null)))
            .collect();
        let other = (0..100).map(|m| recorded("calm", &format!("e{n}-{m}"), &at(n), "x", json!(m)));
        world.done(&[batch(&events), batch(&other.collect::<Vec<_>>())]).await;
    }
    assert_eq!(world.period("2027-01").await, before);
    assert_eq!(world.events_in("2026-11").await, 1_600);
}

#[tokio::test(start_paused = true)]
async fn a_period_has_no_more_busy_customers_than_its_row_has_room_for() {
    let world = narrow().await;
    let mut row = world.period("2027-01").await;
    for n in 0..periods::MOST_SPREAD {
        row.spread.insert(customer(&format!("busy-{n}")), 2);
    }
    assert!(world.tables.events.periods().replace(&row).await.unwrap());
    world.done(&[busy("a")]).await;
    let full = world.period("2027-01").await;
    assert_eq!(full.spread, row.spread);
    // The row is within its bound however long the ids are.
    let mut largest = PeriodRow { state: PeriodState::Planned, ..full };
    let id = "x".repeat(125);
    largest.spread = (0..periods::MOST_SPREAD)
        .map(|n| (format!("{id}{n:03}#{id}{n:03}").parse().unwrap(), MOST_KEYS))
        .collect();
    assert!(world.tables.events.periods().replace(&largest).await.unwrap());
    let bytes: usize = largest.spread.keys().map(|it| it.to_string().len() + 5).sum();
    assert!(bytes + 1_000 < most_bytes("ledger: period"), "{bytes}");
}
