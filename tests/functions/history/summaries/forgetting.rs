//! A tenant, or one of its customers, is removed from all that is counted, wherever that dies and whatever is folded meanwhile.

use nagare_local::faults::Fault;
use nagare_operator::erasure::history::events::{EventErasure, EventErasureError};
use nagare_operator::erasure::history::tenant::{self, ErasedTenant};
use nagare_operator::event_scope::EventScope;
use serde_json::json;
use shared::history::events::PeriodState;
use shared::history::summaries::Summaries;
use shared::platform::dynamo::{Query, to_json};
use shared::platform::ledger::FORGET_AT;
use tests::World;

use super::{Sent, check, filled, fold, fold_all, records, shrunk, some};
use crate::platform::blows::{Blow, Steps};

const BLOWS: [Blow; 3] = [Blow::DiesBefore, Blow::DiesAfter, Blow::Fails(Fault::LostAnswer)];

fn scope(tenant: &str, customer: Option<&str>) -> EventScope {
    let customer_id = customer.map(|id| id.parse().unwrap());
    EventScope { tenant_id: tenant.parse().unwrap(), customer_id }
}

fn erasure(world: &World, scope: &EventScope, steps: &Steps) -> EventErasure {
    let (tables, objects) = world.operator(|inside| steps.before(inside));
    let (stored, clock) = ((&tables.ledger, &tables.views), world.clock.clone());
    EventErasure::new(scope.clone(), tables.events.clone(), stored, objects, clock)
}

async fn erase(world: &World, scope: &EventScope) -> Result<ErasedTenant, EventErasureError> {
    tenant::erase(&erasure(world, scope, &Steps::with(None))).await
}

fn others(events: &[Sent], scope: &EventScope) -> Vec<Sent> {
    events.iter().filter(|(tenant, customer, ..)| !scope.holds(tenant, customer)).cloned().collect()
}

/// All of the others is counted, and nothing says anything of those who are gone but what goes.
async fn check_erased(world: &World, events: &[Sent], scope: &EventScope) {
    check(world, &others(events, scope)).await;
    let EventScope { tenant_id, customer_id } = scope;
    let tables = [world.tables.views.table(), world.tables.ledger.table()];
    for table in tables {
        for row in table.all(Query::default()).await.unwrap() {
            let stays = !row.item.contains_key(FORGET_AT);
            let says = to_json(&row.item).to_string();
            let is_theirs = match customer_id {
                Some(id) => says.contains(id.as_str()) && says.contains(tenant_id.as_str()),
                None => says.contains(tenant_id.as_str()),
            };
            assert!(!(stays && is_theirs), "{says}");
        }
    }
    let path = format!("/v1/tenants/{tenant_id}/customers");
    if let Some(id) = customer_id {
        assert_eq!(world.get(&format!("{path}/{id}"), "").await.0, 404);
    } else {
        for list in ["customers", "names", "alerts"] {
            let (_, _, body) = world.get(&format!("/v1/tenants/{tenant_id}/{list}"), "").await;
            assert_eq!(body["items"], json!([]), "{list}");
        }
    }
}

/// A rule that gives alerts, a score, and something said of each customer.
async fn said(world: &World) {
    let at = "2026-11-05T00:00:00Z";
    let mut commands = Vec::new();
    for tenant in ["acme", "likes"] {
        commands.push(
            json!({"type": "rule.defined", "tenant_id": tenant, "rule_id": "often", "at": at,
            "when": {"event": "name-1", "count": 1, "within": "day"}}),
        );
        commands.push(
            json!({"type": "score.defined", "tenant_id": tenant, "score_id": "health", "at": at,
            "base": 40, "measures": [{"event": "name-1", "days": 28, "points": 3, "most": 60}]}),
        );
        for n in 0..4 {
            commands.push(json!({"type": "customer.updated", "tenant_id": tenant,
                "customer_id": format!("c-{n}"), "at": at, "payload": {"n": n}}));
        }
    }
    world.done(&commands).await;
}

#[tokio::test(start_paused = true)]
async fn whoever_is_erased_counts_nowhere_and_all_others_do() {
    for scope in [scope("acme", Some("c-1")), scope("acme", Some("c-2")), scope("acme", None)] {
        let (world, events) = (World::new(), some(120));
        filled(&world, &events).await;
        fold_all(&world, 40).await;
        erase(&world, &scope).await.unwrap();
        check_erased(&world, &events, &scope).await;
        // As a mapping that was made again: what was erased comes again, and that it was deleted.
        fold_all(&world, 9).await;
        check_erased(&world, &events, &scope).await;
        let again = erase(&world, &scope).await.unwrap();
        assert_eq!((again.events.in_tables, again.summaries.customers), (0, 0));
        check_erased(&world, &events, &scope).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_said_and_told_of_them_goes_too() {
    for (scope, alerts) in [(scope("acme", Some("c-1")), true), (scope("acme", None), false)] {
        let (world, events) = (World::new(), some(120));
        said(&world).await;
        filled(&world, &events).await;
        fold_all(&world, 40).await;
        let erased = erase(&world, &scope).await.unwrap();
        assert!(erased.items.alerts > 0 && erased.items.payloads > 0);
        assert_eq!(erased.items.definitions, if alerts { 0 } else { 2 });
        let left = world.tables.ledger.table().all(Query::default()).await.unwrap();
        let named = left.iter().map(|row| to_json(&row.item).to_string());
        let is_theirs =
            |says: &String| says.contains("tenant#acme#") && (!alerts || says.contains("c-1"));
        assert_eq!(named.filter(is_theirs).collect::<Vec<_>>(), [""; 0]);
        let (_, _, body) = world.get("/v1/tenants/likes/alerts", "").await;
        assert_ne!(body["items"], json!([]));
        let (_, _, body) = world.get("/v1/tenants/acme/alerts", "").await;
        assert_eq!(body["items"] != json!([]), alerts);
    }
}

/// What is not folded yet when it is erased, and comes while it is.
#[tokio::test(start_paused = true)]
async fn what_is_in_the_stream_is_counted_nowhere_in_the_end() {
    for scope in [scope("acme", Some("c-1")), scope("acme", None)] {
        let (world, events) = (World::new(), some(120));
        filled(&world, &events).await;
        let (begun, all) = (events.len() / 3, records(&world, "2026-11"));
        fold(&world, "2026-11", "one", &all[..begun.min(all.len() / 2)]).await;
        let (erased, ()) = futures::join!(erase(&world, &scope), async {
            tokio::time::sleep(std::time::Duration::from_secs(3)).await;
            let rest = &all[begun.min(all.len() / 2)..];
            fold(&world, "2026-11", "one", rest).await;
            fold(&world, "2026-10", "one", &records(&world, "2026-10")).await;
        });
        erased.unwrap();
        check_erased(&world, &events, &scope).await;
    }
}

/// A customer who has sent more names than there is room for, alone and with the whole tenant.
#[tokio::test(start_paused = true)]
async fn who_had_no_room_for_a_name_is_gone_too() {
    for scope in [scope("acme", Some("c-0")), scope("acme", None)] {
        let world = World::within(&shrunk(1_024), |inside| inside);
        let at = |n: usize| format!("2026-11-01T00:{:02}:{:02}.000Z", n / 60, n % 60);
        let named = (0..240).map(|n| ("acme", "c-0".to_owned(), format!("{n:064}"), at(n)));
        let beside =
            ["acme", "other"].map(|of| (of, "c-1".to_owned(), format!("{:064}", 7), at(9)));
        let events: Vec<Sent> = named.chain(beside).collect();
        filled(&world, &events).await;
        fold_all(&world, 100).await;
        world.take_dead_letters().await;
        erase(&world, &scope).await.unwrap();
        check_erased(&world, &events, &scope).await;
    }
}

/// Nothing folds: it says so, and is completed later.
#[tokio::test(start_paused = true)]
async fn what_is_never_folded_is_waited_for_and_said() {
    let (world, events, scope) = (World::new(), some(40), scope("acme", Some("c-1")));
    filled(&world, &events).await;
    let failure = erase(&world, &scope).await.unwrap_err();
    assert!(matches!(failure, EventErasureError::NotFolded(1)), "{failure}");
    fold_all(&world, 100).await;
    erase(&world, &scope).await.unwrap();
    check_erased(&world, &events, &scope).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_afterwards_is_counted() {
    for scope in [scope("acme", Some("c-1")), scope("acme", None)] {
        let (world, events) = (World::new(), some(60));
        filled(&world, &events).await;
        fold_all(&world, 100).await;
        erase(&world, &scope).await.unwrap();
        let mut left = others(&events, &scope);
        for n in 0..3 {
            let at = format!("2026-11-04T0{n}:00:00.000Z");
            let command = json!({"type": "event.recorded", "tenant_id": "acme", "customer_id": "c-1",
                "event_id": format!("new-{n}"), "name": "name-1", "at": at});
            world.done(&[command]).await;
            left.push(("acme", "c-1".to_owned(), "name-1".to_owned(), at));
        }
        fold_all(&world, 100).await;
        check(&world, &left).await;
        let (_, _, body) = world.get("/v1/tenants/acme/customers", "").await;
        let mut items = body["items"].as_array().unwrap().iter();
        assert!(items.any(|item| item["customer_id"] == "c-1"), "{body}");
        // They stay, and so does what names and witnesses say of them.
        for row in world.tables.views.table().all(Query::default()).await.unwrap() {
            let says = to_json(&row.item).to_string();
            assert!(!(says.contains("customer#acme#c-1") && says.contains(FORGET_AT)), "{says}");
        }
        // And are erased again.
        erase(&world, &scope).await.unwrap();
        check_erased(&world, &left, &scope).await;
    }
}

/// Of a period whose table and archive are gone, only the views know.
#[tokio::test(start_paused = true)]
async fn what_is_gone_from_tables_and_archives_is_taken_out_of_what_counts_it() {
    for scope in [scope("acme", Some("c-1")), scope("acme", None)] {
        let world = World::within(&shrunk(2_048), |inside| inside);
        let events = some(200);
        filled(&world, &events).await;
        fold_all(&world, 9).await;
        world.move_period("2026-10", PeriodState::Dropped).await;
        erase(&world, &scope).await.unwrap();
        // The table is there for the check alone: its witness counts what the archive had.
        let left = others(&events, &scope);
        for (customer, recounted) in super::recounted(&left) {
            let summaries = Summaries::new(&world.tables.views);
            assert_eq!(summaries.customer(&customer).await.unwrap(), Some(recounted));
        }
        super::check_names(&world, &left).await;
        let gone = format!("/v1/tenants/acme/customers/{}", "c-1");
        assert_eq!(world.get(&gone, "").await.0, 404);
    }
}

/// It dies at each of its calls, and is run again while the rest is folded.
#[tokio::test(start_paused = true)]
async fn it_ends_wherever_it_dies() {
    for scope in [scope("acme", Some("c-1")), scope("acme", None)] {
        let events = some(8);
        for blow in BLOWS {
            for call in 0.. {
                let world = World::within(&shrunk(1_024), |inside| inside);
                filled(&world, &events).await;
                let all = records(&world, "2026-11");
                fold(&world, "2026-10", "one", &records(&world, "2026-10")).await;
                fold(&world, "2026-11", "one", &all[..all.len() / 2]).await;
                let steps = Steps::with(Some((call, blow)));
                let dying = erasure(&world, &scope, &steps);
                tokio::select! {
                    _ = tenant::erase(&dying) => {}
                    () = steps.died() => {}
                    () = async {
                        fold(&world, "2026-11", "one", &all[all.len() / 2..]).await;
                        futures::future::pending::<()>().await;
                    } => {}
                }
                fold(&world, "2026-11", "one", &all).await;
                erase(&world, &scope).await.unwrap();
                check_erased(&world, &events, &scope).await;
                if steps.taken() <= call {
                    assert!(call > 20, "{call}");
                    break;
                }
            }
        }
    }
}
