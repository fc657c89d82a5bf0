//! Whom a viewer has left is hidden, however many they are.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use serde_json::Value;
use shared::timelines::EntryWrite;
use shared::values::{ActorId, ViewerId};
use tests::{NOW, World, follow, publish, soon, unfollow};

/// More than one item has marks for.
const MANY: usize = 210;
const LEFT: &str = "2026-11-20T12:01:00.000Z";
const AGAIN: &str = "2026-11-20T12:02:00.000Z";

fn actor(n: usize) -> String {
    format!("actor-{n:03}")
}

/// Puts the entry of an actor's activity back, as a fan-out does that died before its second check.
async fn left_behind(world: &World, n: usize) {
    let (bob, actor) = (ViewerId::new("bob").unwrap(), ActorId::new(actor(n)).unwrap());
    let sort_key = format!("{NOW}#{actor}-live");
    let entry = EntryWrite::Put {
        viewer: &bob,
        sort_key: &sort_key,
        actor: &actor,
        expires_at: 2_000_000_000,
    };
    world.tables.timelines.write([entry], soon(), soon()).await.unwrap().whole().unwrap();
}

/// The attributes of the item that says whom bob is not shown.
fn hidden(world: &World) -> serde_json::Map<String, Value> {
    let request = serde_json::json!({"TableName": "nagare-ledger"}).to_string();
    let (_, answer) = world.engine.call("Scan", request.as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let items = answer["Items"].as_array().unwrap().iter();
    let mut items = items.filter(|item| item["pk"]["S"] == "person#bob#hidden");
    items.next().unwrap().as_object().unwrap().clone()
}

fn marks(world: &World) -> usize {
    hidden(world).keys().filter(|name| name.starts_with("left#")).count()
}

#[tokio::test]
async fn who_leaves_very_many_is_shown_none_of_them() {
    let world = World::new();
    for n in 0..MANY {
        let live = format!("{}-live", actor(n));
        world.done(&[follow("bob", &actor(n), NOW), publish(&actor(n), &live, NOW)]).await;
    }
    assert_eq!((world.ids("bob", "limit=100").await.len(), marks(&world)), (100, 0));
    let mut most = 0;
    for n in 0..MANY {
        world.done(&[unfollow("bob", &actor(n), LEFT)]).await;
        most = if n % 30 == 29 { most.max(marks(&world)) } else { most };
    }
    assert!((100..MANY).contains(&most) && marks(&world) < most, "{most}, then {}", marks(&world));
    assert_eq!(world.ids("bob", "").await, [] as [String; 0]);
    // Of the first there was a mark, of the last there never was one.
    for n in [0, MANY - 1] {
        left_behind(&world, n).await;
    }
    assert_eq!(world.ids("bob", "").await, [] as [String; 0]);
    for n in [0, MANY - 1] {
        world.done(&[follow("bob", &actor(n), AGAIN)]).await;
    }
    let live = |n| format!("{}-live", actor(n));
    assert_eq!(world.ids("bob", "").await, [live(MANY - 1), live(0)]);
    assert_eq!(world.ids("eve", "").await, [] as [String; 0]);
}

#[tokio::test]
async fn marks_go_once_retention_has_passed() {
    let world = World::new();
    world.done(&[follow("bob", "anna", NOW), unfollow("bob", "anna", LEFT)]).await;
    world.set_clock("2026-12-20T12:00:00Z");
    world.done(&[unfollow("bob", "carl", NOW)]).await;
    assert_eq!(marks(&world), 2);
    world.set_clock("2026-12-22T12:00:00Z");
    world.done(&[unfollow("bob", "dora", NOW)]).await;
    assert_eq!(marks(&world), 2, "that of carl and that of dora");
    // An unfollow that comes again, late, changes nothing.
    world.done(&[follow("bob", "anna", AGAIN), unfollow("bob", "anna", LEFT)]).await;
    world.done(&[publish("anna", "live", "2026-12-22T11:00:00.000Z")]).await;
    assert_eq!(world.ids("bob", "").await, ["live"]);
}

const UNFOLLOWED: &str = "2026-11-20T10:01:00.000Z";

/// Has what the unfollow writes arrive a second late, each time.
#[derive(Debug, Clone)]
struct LateUnfollows(SharedHttpConnector);

impl HttpConnector for LateUnfollows {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
        let is_late = body.contains(UNFOLLOWED);
        let inside = self.0.clone();
        HttpConnectorFuture::new(async move {
            if is_late {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            inside.call(request).await
        })
    }
}

/// An unfollow is in flight while the viewer, who still follows the actor, follows them again with a later `at`.
#[tokio::test(start_paused = true)]
async fn a_late_unfollow_does_not_hide_what_a_later_follow_has_completed() {
    let world = World::behind(|inside| SharedHttpConnector::new(LateUnfollows(inside)));
    world.done(&[follow("bob", "anna", "2026-11-20T10:00:00Z")]).await;
    world.done(&[publish("anna", "a", "2026-11-20T11:00:00Z")]).await;
    let late = [unfollow("bob", "anna", UNFOLLOWED)];
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        world.done(&[follow("bob", "anna", "2026-11-20T10:02:00Z")]).await;
        for _ in 0..30 {
            assert_eq!(world.ids("bob", "").await, ["a"]);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::join!(world.done(&late), meanwhile);
    assert_eq!(world.ids("bob", "").await, ["a"]);
}
