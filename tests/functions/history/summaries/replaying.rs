//! A recount finds what is wrong with summaries, and nothing else; a replay sets it right while events come in.

use nagare_local::faults::Fault;
use nagare_operator::audit::{Found, SummariesAuditor, SummaryDifference, SummaryFault};
use nagare_operator::event_scope::EventScope;
use serde_json::{Value, json};
use shared::history::events::{Archives, PeriodState};
use shared::history::summaries::Summaries;
use tests::World;

use super::{Sent, check, filled, fold, fold_all, records, shrunk, some};
use crate::platform::blows::{Blow, Steps};

const BLOWS: [Blow; 3] = [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer)];

fn auditor(world: &World, steps: &Steps) -> SummariesAuditor {
    let (tables, objects) = world.operator(|inside| steps.before(inside));
    let archives = Archives::new(&tables.ledger);
    let summaries = Summaries::new(&tables.views);
    let events = (tables.events.clone(), archives, objects);
    SummariesAuditor::new(events, summaries, tables.ledger.clone(), world.clock.clone())
}

fn scope(customer: Option<&str>) -> EventScope {
    let customer_id = customer.map(|id| id.parse().unwrap());
    EventScope { tenant_id: "acme".parse().unwrap(), customer_id }
}

async fn differences(world: &World, mends: bool) -> Found<SummaryDifference, String> {
    let auditor = auditor(world, &Steps::with(None));
    auditor.differences(&scope(None), mends).await.unwrap()
}

async fn assert_right(world: &World) {
    let found = differences(world, false).await;
    assert!(found.differences.is_empty() && found.busy.is_empty(), "{found:?}");
}

/// Changes an item of the views by hand.
fn break_view(world: &World, pk: &str, sk: &str, expression: &str) {
    let update = json!({"TableName": world.tables.views.table().name(), "Key": {"pk": {"S": pk}, "sk": {"S": sk}},
        "UpdateExpression": expression});
    let mut update = update;
    if expression.contains(":n") {
        update["ExpressionAttributeValues"] = json!({":n": {"N": "1"}});
    }
    let (status, answer) = world.engine.call("UpdateItem", update.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
}

/// The keys of the views that begin so.
async fn keys(world: &World, of: &str) -> Vec<(String, String)> {
    let rows =
        world.tables.views.table().all(shared::platform::dynamo::Query::default()).await.unwrap();
    let text =
        |row: &shared::platform::dynamo::item::Row<'_>, name| row.text(name).unwrap().to_owned();
    let keys = rows.iter().map(|row| (text(row, "pk"), text(row, "sk")));
    keys.filter(|(pk, sk)| {
        pk.starts_with(of) || (of == "witness#" && pk.starts_with(of) && sk == "acme")
    })
    .collect()
}

/// Breaks a customer, a name, and a witness, on a day on which the stream of the earlier period is over.
async fn break_some(world: &World) {
    world.set_clock("2026-11-10T00:00:00Z");
    let rows =
        world.tables.views.table().all(shared::platform::dynamo::Query::default()).await.unwrap();
    // The days of others may all be in blocks.
    let has_days = |row: &&shared::platform::dynamo::item::Row<'_>| {
        row.text("pk").unwrap().starts_with("customer#acme#") && row.item.contains_key("recent")
    };
    let customer = rows.iter().find(has_days).unwrap().text("pk").unwrap();
    break_view(world, customer, "summary", "REMOVE recent");
    let (pk, sk) = keys(world, "names#acme#").await.remove(0);
    break_view(world, &pk, &sk, "REMOVE days, tally");
    // Of a period whose stream is over: until then, it may bring what a witness lacks.
    let all = keys(world, "witness#2026-10#").await;
    let (pk, sk) = all.iter().find(|(_, sk)| sk == "acme").unwrap();
    break_view(world, pk, sk, "SET events = :n");
}

fn kinds(found: &Found<SummaryDifference, String>) -> Vec<SummaryFault> {
    let mut kinds: Vec<_> = found.differences.iter().map(|it| it.difference).collect();
    kinds.sort_by_key(|kind| *kind as u8);
    kinds
}

#[tokio::test(start_paused = true)]
async fn what_is_right_or_in_the_stream_is_no_difference() {
    let (world, events) = (World::within(&shrunk(2_048), |inside| inside), some(150));
    filled(&world, &events).await;
    let all = records(&world, "2026-11");
    fold(&world, "2026-11", "one", &all[..all.len() / 2]).await;
    let (found, ()) = futures::join!(differences(&world, false), async {
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        fold(&world, "2026-11", "one", &all[all.len() / 2..]).await;
        fold(&world, "2026-10", "one", &records(&world, "2026-10")).await;
    });
    assert!(found.differences.is_empty() && found.busy.is_empty(), "{found:?}");
    // What has expired, only views know.
    world.move_period("2026-10", PeriodState::Dropped).await;
    assert_right(&world).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_found_and_set_right() {
    let (world, events) = (World::within(&shrunk(2_048), |inside| inside), some(150));
    filled(&world, &events).await;
    fold_all(&world, 40).await;
    assert_right(&world).await;
    break_some(&world).await;
    let expected = [SummaryFault::Customer, SummaryFault::Name, SummaryFault::Witness];
    let found = differences(&world, false).await;
    assert_eq!((kinds(&found), found.mended), (expected.to_vec(), 0), "{found:?}");
    let found = differences(&world, true).await;
    assert_eq!((kinds(&found), found.mended), (expected.to_vec(), 3), "{found:?}");
    assert_right(&world).await;
    check(&world, &events).await;
    // What comes again is known, and what comes is counted.
    fold_all(&world, 9).await;
    check(&world, &events).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_period_that_is_gone_stays_as_views_have_it() {
    let (world, events) = (World::new(), some(90));
    filled(&world, &events).await;
    fold_all(&world, 40).await;
    world.move_period("2026-10", PeriodState::Dropped).await;
    let days = |body: &Value| body["days"].clone();
    let name = async || world.get("/v1/tenants/acme/names/name-1", "").await.2;
    let before = name().await;
    // Parts of it alone, so that what is left of it says less than its customers.
    for (pk, sk) in keys(&world, "names#acme#").await {
        if sk == "name-1" {
            break_view(&world, &pk, &sk, "REMOVE days, tally");
        }
    }
    let found = differences(&world, true).await;
    assert_eq!((kinds(&found), found.mended), (vec![SummaryFault::Name], 1), "{found:?}");
    let after = name().await;
    assert_eq!((days(&after), &after), (days(&before), &before));
}

#[tokio::test(start_paused = true)]
async fn it_is_set_right_while_events_come_in() {
    let (world, events) = (World::new(), some(90));
    filled(&world, &events).await;
    fold_all(&world, 40).await;
    break_some(&world).await;
    let mut all = events.clone();
    let (found, ()) = futures::join!(differences(&world, true), async {
        for n in 0..40 {
            let at = format!("2026-11-03T10:00:{n:02}.000Z");
            let command = json!({"type": "event.recorded", "tenant_id": "acme", "customer_id": format!("c-{}", n % 4),
                "event_id": format!("new-{n}"), "name": "name-1", "at": at});
            world.done(&[command]).await;
            all.push(("acme", format!("c-{}", n % 4), "name-1".to_owned(), at));
            tokio::time::sleep(std::time::Duration::from_millis(700)).await;
            fold_all(&world, 100).await;
        }
    });
    // What changed all the time is set right once it is quieter.
    assert!(!found.differences.is_empty());
    let again = differences(&world, true).await;
    assert!(again.busy.is_empty(), "{again:?}");
    assert_right(&world).await;
    check(&world, &all).await;
}

/// However long it is behind: what it brings later would be counted twice.
#[tokio::test(start_paused = true)]
async fn nothing_is_replaced_while_the_projector_is_behind() {
    let (world, events) = (World::new(), some(90));
    filled(&world, &events).await;
    let all = records(&world, "2026-11");
    fold(&world, "2026-11", "one", &all[..all.len() / 2]).await;
    fold(&world, "2026-10", "one", &records(&world, "2026-10")).await;
    let found = differences(&world, true).await;
    assert!(found.mended == 0 && !found.busy.is_empty(), "{found:?}");
    fold(&world, "2026-11", "one", &all[all.len() / 2..]).await;
    check(&world, &events).await;
}

#[tokio::test(start_paused = true)]
async fn alerts_that_are_missing_are_found() {
    let (world, events) = (World::new(), some(60));
    let rule = json!({"type": "rule.defined", "tenant_id": "acme", "rule_id": "often", "at": "2026-11-05T00:00:00Z",
        "when": {"event": "name-1", "count": 1, "within": "day"}});
    world.done(&[rule]).await;
    filled(&world, &events).await;
    fold_all(&world, 40).await;
    assert_right(&world).await;
    let (_, _, body) = world.get("/v1/tenants/acme/alerts", "").await;
    let first = body["items"][0].clone();
    let text = |name: &str| first[name].as_str().unwrap().to_owned();
    let sk = format!("{}#{}", text("decided_at"), text("alert_id"));
    let key = json!({"pk": {"S": "tenant#acme#alerts"}, "sk": {"S": sk}});
    let delete = json!({"TableName": world.tables.ledger.table().name(), "Key": key});
    assert_eq!(world.engine.call("DeleteItem", delete.to_string().as_bytes()).0, 200);
    let found = differences(&world, false).await;
    assert_eq!(kinds(&found), [SummaryFault::Alert], "{found:?}");
    assert_eq!(found.differences[0].of, text("alert_id"));
}

/// It dies at some of its calls, and is run again: it looks at what differs many times.
#[tokio::test(start_paused = true)]
async fn a_replay_that_dies_is_run_again() {
    let events: Vec<Sent> = some(12);
    for (first, blow) in (0..).zip(BLOWS) {
        for call in (first..).step_by(17) {
            let world = World::within(&shrunk(1_024), |inside| inside);
            filled(&world, &events).await;
            fold_all(&world, 40).await;
            break_some(&world).await;
            let steps = Steps::with(Some((call, blow)));
            let (dying, scope) = (auditor(&world, &steps), scope(None));
            tokio::select! {
                ended = dying.differences(&scope, true) => drop(ended),
                () = steps.died() => {}
            }
            let found = differences(&world, true).await;
            assert!(found.busy.is_empty() && found.mended == found.differences.len(), "{found:?}");
            assert_right(&world).await;
            check(&world, &events).await;
            if steps.taken() <= call {
                assert!(call > 20, "{call}");
                break;
            }
        }
    }
}
