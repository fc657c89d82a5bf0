//! Audits of likes and notifications: what differs from the facts is found and repaired while likes go on.

use std::time::Duration;

use nagare_operator::audit::{AuditError, Found, LikesDifference, ViewsAuditor};
use serde_json::{Value, json};
use shared::platform::dynamo::item::{Item, number};
use shared::platform::values::{ActivityId, ViewerId};
use shared::social::likes::keys::count;
use shared::social::notifications::keys::inbox;
use tests::{World, publish};

use crate::platform::projecting::{projecting, projecting_behind};

const AT: &str = "2026-11-20T11:00:00.000Z";

fn like(viewer: usize, activity: &str) -> Value {
    let viewer = format!("viewer-{viewer}");
    json!({"type": "like.created", "viewer_id": viewer, "activity_id": activity, "at": AT})
}

fn auditor(world: &World) -> ViewsAuditor {
    ViewsAuditor::new(&world.tables.facts, &world.tables.views, world.clock.clone())
}

fn activities(ids: &[&str]) -> Vec<ActivityId> {
    ids.iter().map(|id| ActivityId::new(*id).unwrap()).collect()
}

async fn audit(world: &World, ids: &[&str], repair: bool) -> Found<LikesDifference, ActivityId> {
    let auditor = auditor(world);
    projecting(world, auditor.activities(&activities(ids), repair)).await.unwrap()
}

/// Changes an attribute of a view as nobody should.
async fn damage(world: &World, key: Item, name: &str, value: i64) {
    let views = world.tables.views.table();
    let mut item = views.get(key).await.unwrap().unwrap().item;
    item.insert(name.to_owned(), number(value));
    views.put(item).await.unwrap();
}

async fn shown(world: &World) -> (Value, Value) {
    let (_, _, activity) = world.get("/v1/activities/a", "").await;
    let (_, _, notifications) = world.get("/v1/notifications/anna", "").await;
    (activity["likes"]["count"].clone(), notifications["unread_count"].clone())
}

#[tokio::test(start_paused = true)]
async fn what_differs_is_found_and_mended() {
    let world = World::new();
    world.done(&[publish("anna", "a", AT), publish("anna", "b", AT)]).await;
    world.done(&(0..40).map(|n| like(n, "a")).collect::<Vec<_>>()).await;
    world.done(&(0..5).map(|n| like(n, "b")).collect::<Vec<_>>()).await;
    assert!(audit(&world, &["a", "b", "unknown"], false).await.differences.is_empty());
    let (a, anna) = (activities(&["a"]), [ViewerId::new("anna").unwrap()]);
    damage(&world, count(&a[0]).into_item(), "count", 44).await;
    world.tables.views.table().delete(inbox(&anna[0]).into_item(), None).await.unwrap();
    assert_eq!(shown(&world).await, (json!(44), json!(0)));
    let found = audit(&world, &["a", "b"], false).await;
    let [difference] = found.differences.as_slice() else { panic!("{found:?}") };
    assert_eq!((difference.stored.count, difference.recounted.count), (44, 40));
    assert_eq!((found.mended, found.busy.len()), (0, 0));
    let found = audit(&world, &["a", "b"], true).await;
    assert_eq!((found.differences.len(), found.mended), (1, 1));
    let found = auditor(&world).inboxes(&anna, true).await.unwrap();
    assert_eq!((found.differences.len(), found.mended), (1, 1));
    assert_eq!((found.differences[0].stored, found.differences[0].recounted), (0, 45));
    assert_eq!(shown(&world).await, (json!(40), json!(45)));
    assert!(audit(&world, &["a", "b"], true).await.differences.is_empty());
    assert!(auditor(&world).inboxes(&anna, true).await.unwrap().differences.is_empty());
    // What is folded afterwards is counted from there.
    world.done(&[like(99, "a")]).await;
    projecting(&world, tokio::time::sleep(Duration::from_secs(1))).await;
    assert_eq!(shown(&world).await, (json!(41), json!(46)));
}

/// A view that is gone altogether is made again from the facts.
#[tokio::test(start_paused = true)]
async fn what_is_lost_is_made_again() {
    let world = World::new();
    world.done(&[publish("anna", "a", AT)]).await;
    world.done(&(0..300).map(|n| like(n, "a")).collect::<Vec<_>>()).await;
    let a = activities(&["a"]);
    audit(&world, &["a"], false).await;
    world.tables.views.table().delete(count(&a[0]).into_item(), None).await.unwrap();
    // The projector has gone on: nothing of before comes again.
    let last = world.engine.stream_behind(0, usize::MAX).unwrap().last().unwrap().number;
    let auditor = auditor(&world);
    let found = projecting_behind(&world, last, auditor.activities(&a, true)).await.unwrap();
    let anna = [ViewerId::new("anna").unwrap()];
    auditor.inboxes(&anna, true).await.unwrap();
    assert_eq!((found.differences.len(), found.mended), (1, 1));
    assert_eq!(shown(&world).await, (json!(300), json!(300)));
    assert!(audit(&world, &["a"], false).await.differences.is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_of_what_is_not_projected() {
    let world = World::new();
    world.done(&[publish("anna", "a", AT), like(1, "a")]).await;
    let said = auditor(&world).activities(&activities(&["a"]), true).await;
    assert!(matches!(said, Err(AuditError::NotProjected)), "{said:?}");
}
