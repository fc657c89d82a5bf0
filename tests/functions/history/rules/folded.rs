//! Rules meet events: by the projector and by the writer, whichever comes last.

use nagare_local::stream_source::event_of;
use serde_json::{Value, json};
use shared::history::tenants::keys;
use shared::platform::values::TenantId;
use tests::{World, soon};

use crate::platform::units::UnitCounter;

const TABLE: &str = "nagare-events-2026-11";

fn login(tenant: &str, customer: &str, n: usize) -> Value {
    json!({"type": "event.recorded", "tenant_id": tenant, "customer_id": customer, "event_id": format!("e{n}"),
        "name": "login", "at": format!("2026-11-0{}T12:00:00Z", n + 1)})
}

fn rule(tenant: &str) -> Value {
    json!({"type": "rule.defined", "tenant_id": tenant, "rule_id": "twice", "at": "2026-11-20T11:00:00Z",
        "when": {"event": "login", "count": 2, "within": "month"}})
}

async fn record(world: &World, events: &[Value]) {
    world.make_period("2026-11").await;
    world.set_clock("2026-11-20T12:00:00Z");
    world.done(events).await;
}

/// Folds all events that were recorded, or those of them that were not folded before.
async fn fold(world: &World) {
    let records = world.engine.stream_of(TABLE, 0, usize::MAX).unwrap();
    let batch = event_of(TABLE, "shard", &records).unwrap();
    let answer = world.fold(batch, soon()).await.unwrap();
    assert_eq!(answer.batch_item_failures, []);
}

async fn alerted(world: &World, tenant: &str) -> Vec<String> {
    let (status, _, body) = world.get(&format!("/v1/tenants/{tenant}/alerts"), "").await;
    assert_eq!(status, 200, "{body}");
    let alerts = body["items"].as_array().unwrap().iter();
    let mut customers: Vec<_> =
        alerts.map(|alert| alert["customer_id"].as_str().unwrap().to_owned()).collect();
    customers.sort();
    customers
}

/// Two customers with two logins each, and one with one.
fn logins(tenant: &str) -> Vec<Value> {
    let logins = [("c-1", 0), ("c-1", 1), ("c-2", 0), ("c-2", 1), ("c-3", 0)];
    logins.map(|(customer, n)| login(tenant, customer, n)).to_vec()
}

#[tokio::test]
async fn the_projector_decides_by_a_rule_that_was_there_before() {
    let world = World::new();
    world.done(&[rule("acme")]).await;
    record(&world, &logins("acme")).await;
    assert_eq!(alerted(&world, "acme").await, Vec::<String>::new());
    fold(&world).await;
    assert_eq!(alerted(&world, "acme").await, ["c-1", "c-2"]);
}

#[tokio::test]
async fn the_writer_decides_on_customers_who_were_there_before_and_once() {
    let counter = UnitCounter::far();
    counter
        .uncounted(async |world| {
            record(world, &logins("acme")).await;
            fold(world).await;
        })
        .await;
    counter.apply(&[rule("acme")]).await;
    let first = counter.take();
    assert_eq!(alerted(&counter.world, "acme").await, ["c-1", "c-2"]);
    counter.take();
    counter.apply(&[rule("acme")]).await;
    let again = counter.take();
    assert!(first.writes > 4.0 && again.writes == 0.0 && again.calls <= 2, "{first:?} {again:?}");
    // Once defined again, it decides again.
    let mut later = rule("acme");
    later["at"] = json!("2026-11-20T11:30:00Z");
    counter.apply(&[later]).await;
    assert_eq!(alerted(&counter.world, "acme").await, ["c-1", "c-2"]);
}

#[tokio::test]
async fn a_definition_that_cannot_be_read_holds_up_no_other_tenant() {
    let world = World::new();
    world.done(&[rule("acme"), rule("bad")]).await;
    let (bad, id) = (TenantId::new("bad").unwrap(), "twice".parse().unwrap());
    let said = [("at".to_owned(), shared::platform::dynamo::item::text("no instant"))];
    world.writer.ledger.put(keys::rule(&bad, &id), said).await.unwrap();
    record(&world, &[logins("bad"), logins("acme")].concat()).await;
    fold(&world).await;
    assert_eq!(alerted(&world, "acme").await, ["c-1", "c-2"]);
    // Once the rule is defined again, nobody who reached the count is left out.
    world.writer.ledger.delete(keys::rule(&bad, &id)).await.unwrap();
    world.done(&[rule("bad")]).await;
    assert_eq!(alerted(&world, "bad").await, ["c-1", "c-2"]);
}
