//! A customer, or a whole tenant, is erased while rules decide on them.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fastrand::Rng;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::faults::{Faults, Faulty};
use nagare_local::stream_source::event_of;
use nagare_operator::erasure::history::events::EventErasure;
use nagare_operator::erasure::history::tenant;
use nagare_operator::event_scope::EventScope;
use serde_json::{Value, json};
use shared::platform::dynamo::{Query, to_json};
use shared::platform::ledger::FORGET_AT;
use tests::{World, soon};

const DAYS: u32 = 19;
const RULES: [&str; 4] = ["a", "b", "c", "d"];
const TABLES: [&str; 2] = ["2026-10", "2026-11"];

/// A world whose calls take up to that long.
fn slow(longest: &str, seed: u64) -> World {
    let faults: Faults = format!("slow={longest},seed={seed}").parse().unwrap();
    World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)))
}

fn scope(customer: Option<&str>) -> EventScope {
    let customer_id = customer.map(|id| id.parse().unwrap());
    EventScope { tenant_id: "acme".parse().unwrap(), customer_id }
}

async fn erase(world: &World, scope: &EventScope, longest: &str, seed: u64) {
    let faults: Faults = format!("slow={longest},seed={seed}").parse().unwrap();
    let (tables, objects) =
        world.operator(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    let (stored, clock) = ((&tables.ledger, &tables.views), world.clock.clone());
    let erasure = EventErasure::new(scope.clone(), tables.events.clone(), stored, objects, clock);
    tenant::erase(&erasure).await.unwrap();
}

fn rule(id: &str) -> Value {
    json!({"type": "rule.defined", "tenant_id": "acme", "rule_id": id, "at": "2026-11-01T11:00:00Z",
        "when": {"event": "login", "count": 1, "within": "day"}})
}

/// One event of a customer on each day.
fn logins(customer: &str) -> Vec<Value> {
    let login = |day: u32| {
        let (month, day) = if day < 15 { (10, 17 + day) } else { (11, day - 14) };
        json!({"type": "event.recorded", "tenant_id": "acme", "customer_id": customer,
            "event_id": format!("{customer}-{month}-{day}"), "name": "login",
            "at": format!("2026-{month}-{day:02}T10:00:00Z")})
    };
    (0..DAYS).map(login).collect()
}

fn records(world: &World) -> Vec<(&'static str, Vec<StreamRecord>)> {
    let of = |period| {
        let table = format!("nagare-events-{period}");
        (period, world.engine.stream_of(&table, 0, usize::MAX).unwrap())
    };
    TABLES.map(of).into()
}

async fn fold(world: &World, period: &str, records: &[StreamRecord]) {
    let batch = event_of(&format!("nagare-events-{period}"), "one", records).unwrap();
    let answer = world.fold(batch, soon()).await.unwrap();
    assert_eq!(answer.batch_item_failures, []);
}

async fn fold_all(world: &World) {
    for (period, records) in records(world) {
        fold(world, period, &records).await;
    }
}

async fn prepared(world: &World) {
    for period in TABLES {
        world.make_period(period).await;
    }
    world.set_clock("2026-11-05T00:00:00Z");
}

/// The alerts of a customer: rule and day.
async fn alerts(world: &World, customer: &str) -> BTreeSet<(String, String)> {
    let (mut alerts, mut query) = (BTreeSet::new(), "limit=100".to_owned());
    loop {
        let (status, _, page) = world.get("/v1/tenants/acme/alerts", &query).await;
        assert_eq!(status, 200, "{page}");
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        for it in page["items"].as_array().unwrap() {
            if it["customer_id"] == customer {
                assert!(alerts.insert((text(it, "rule_id"), text(it, "period"))), "twice: {it}");
            }
        }
        let Some(next) = page["next_cursor"].as_str() else { return alerts };
        query = format!("limit=100&cursor={next}");
    }
}

/// What is stored about a customer, in ledger and views, but for what expires.
async fn left(world: &World, of: &str) -> Vec<String> {
    let mut left = Vec::new();
    for table in [world.tables.views.table(), world.tables.ledger.table()] {
        for row in table.all(Query::default()).await.unwrap() {
            let says = to_json(&row.item).to_string();
            if says.contains(of) && !row.item.contains_key(FORGET_AT) {
                left.push(says);
            }
        }
    }
    left
}

/// The projector decides, or the writer by new rules, while a customer or the tenant is erased.
/// Nothing is sent afterwards: nothing is left. Then all is sent again: all alerts come.
#[tokio::test(start_paused = true)]
async fn what_is_decided_beside_an_erasure_goes_with_it_and_comes_again_if_it_is_sent_again() {
    for (seed, longest) in (0..12).flat_map(|seed| [(seed, "10ms"), (seed, "40ms")]) {
        let (world, mut random) = (slow(longest, seed), Rng::with_seed(seed));
        let (by_writer, of_tenant) = (random.bool(), random.bool());
        let scope = scope((!of_tenant).then_some("c-1"));
        prepared(&world).await;
        let defined = RULES.map(rule);
        if !by_writer {
            world.done(&defined).await;
        }
        world.done(&[logins("c-1"), logins("c-2")].concat()).await;
        let begun = Duration::from_millis(random.u64(0..2_500));
        let erasing = async {
            tokio::time::sleep(begun).await;
            erase(&world, &scope, longest, seed).await;
        };
        let deciding = async {
            fold_all(&world).await;
            if by_writer {
                world.done(&defined).await;
            }
        };
        futures::join!(erasing, deciding);
        fold_all(&world).await;
        // A rule that arrives while its tenant is erased counts.
        let about = if of_tenant && !by_writer { "acme" } else { "c-1" };
        let case = format!("seed {seed}, {longest}, {scope:?}, by the writer: {by_writer}");
        assert_eq!(left(&world, about).await, [""; 0], "{case}");
        world.done(&defined).await;
        world.done(&logins("c-1")).await;
        fold_all(&world).await;
        let expected = RULES.len() * DAYS as usize;
        assert_eq!(alerts(&world, "c-1").await.len(), expected, "{case}");
        let others = if of_tenant { 0 } else { expected };
        assert_eq!(alerts(&world, "c-2").await.len(), others, "{case}");
    }
}
