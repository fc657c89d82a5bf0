//! Whom a viewer has left is hidden, however many they are.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use serde_json::Value;
use shared::platform::register::Register;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{ActorId, Retention, ViewerId};
use shared::social::follows::{FollowChange, Follows};
use shared::social::timelines::EntryWrite;
use tests::{NOW, World, follow, publish, soon, unfollow};

use crate::platform::overtaking::overtaken;

/// More than one item has marks for.
const MANY: usize = 210;
const LEFT: &str = "2026-11-20T12:01:00.000Z";
const AGAIN: &str = "2026-11-20T12:02:00.000Z";

fn actor(n: usize) -> String {
    format!("actor-{n:03}")
}

/// Puts the entry of an actor's activity back, as a fan-out does that died before its second check.
async fn left_behind(world: &World, n: usize) {
    left_behind_of(world, &actor(n), &format!("{}-live", actor(n))).await;
}

async fn left_behind_of(world: &World, actor: &str, activity: &str) {
    let (bob, actor) = (ViewerId::new("bob").unwrap(), ActorId::new(actor).unwrap());
    let sort_key = format!("{NOW}#{activity}");
    let entry = EntryWrite::Put {
        viewer: &bob,
        sort_key: &sort_key,
        actor: &actor,
        expires_at: 2_000_000_000,
    };
    world.tables.timelines.write([entry], soon()).await.unwrap().whole().unwrap();
}

/// The attributes of the item that says whom bob is not shown.
fn hidden(world: &World) -> serde_json::Map<String, Value> {
    let request = serde_json::json!({"TableName": "nagare-ledger"}).to_string();
    let (_, answer) = world.engine.call("Scan", request.as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let items = answer["Items"].as_array().unwrap().iter();
    let mut items = items.filter(|item| item["pk"]["S"] == "person#bob#hidden");
    items.next().map(|item| item.as_object().unwrap().clone()).unwrap_or_default()
}

fn marks(world: &World) -> usize {
    marks_named(world, "left#")
}

fn marks_named(world: &World, prefix: &str) -> usize {
    hidden(world).keys().filter(|name| name.starts_with(prefix)).count()
}

/// How large the item is, roughly: its names and values.
fn bytes(world: &World) -> usize {
    let item = hidden(world).into_iter();
    item.map(|(name, value)| name.len() + value["S"].as_str().unwrap_or("12345678").len()).sum()
}

/// An unfollow comes between any two calls of the follow that it undoes.
#[tokio::test]
async fn a_follow_that_is_overtaken_leaves_no_mark() {
    let (first, second) = (follow("bob", "anna", LEFT), unfollow("bob", "anna", AGAIN));
    for before in [&[][..], &[publish("anna", "a", NOW)]] {
        for nth in 1.. {
            let (world, was_there) = overtaken(before, &first, &second, nth).await;
            assert_eq!(marks_named(&world, "joining#"), 0, "unfollowed before call {nth}");
            if !was_there {
                assert!(nth > 6, "{nth} calls");
                break;
            }
            assert_eq!(world.ids("bob", "").await, [] as [String; 0]);
        }
    }
}

/// Follows of which none is ever complete, each of another actor: as of messages that give up half-way.
async fn given_up(world: &World, follows: usize) {
    for n in 0..follows {
        recorded(world, &format!("gone-{n:03}"), true, NOW).await;
    }
}

/// Records a follow or an unfollow, and leaves the timeline as it is.
async fn recorded(world: &World, actor: &str, following: bool, at: &str) {
    let state = Register { on: following, changed_at: at.parse().unwrap() };
    let (follower_id, followee_id) = (ViewerId::new("bob"), ActorId::new(actor));
    let (follower_id, followee_id) = (follower_id.unwrap(), followee_id.unwrap());
    let change = FollowChange { follower_id, followee_id, state };
    let (now, retention) = (world.clock.now(), Retention::default());
    let follows = Follows::new(&world.tables.ledger);
    follows.record(&change, now, retention, Hold::NONE).await.unwrap();
}

/// Follows that never end cost no viewer more than some kilobytes, and hide what they bring in anyway.
#[tokio::test]
async fn very_many_follows_that_give_up_are_hidden_in_a_small_item() {
    let world = World::new();
    given_up(&world, 400).await;
    assert!(bytes(&world) < 7_000, "{} bytes", bytes(&world));
    assert!(marks_named(&world, "joining#") < 200);
    // Fan-outs go by edges, and bring entries of actors who are still joining.
    for n in [0, 399] {
        world.done(&[publish(&format!("gone-{n:03}"), &format!("live-{n}"), NOW)]).await;
    }
    assert_eq!(world.ids("bob", "").await, [] as [String; 0]);
    // The same command again completes it.
    for n in [0, 399] {
        world.done(&[follow("bob", &format!("gone-{n:03}"), NOW)]).await;
    }
    assert_eq!(world.ids("bob", "").await, ["live-399", "live-0"]);
    // As does a later one, of whom nobody has heard since.
    world.done(&[follow("bob", "gone-200", AGAIN), publish("gone-200", "live", NOW)]).await;
    assert_eq!(world.ids("bob", "").await.len(), 3);
    world.done(&[unfollow("bob", "gone-399", AGAIN)]).await;
    left_behind_of(&world, "gone-399", "live-399").await;
    assert_eq!(world.ids("bob", "").await, ["live-0", "live"]);
}

/// An earlier follow completes late, while a later one is bringing in again what an unfollow in between removed: wherever
/// its mark is.
#[tokio::test]
async fn an_earlier_follow_does_not_show_what_a_later_one_is_bringing_in() {
    for (left, given_up_before) in [(0, 0), (MANY, 0), (0, 400)] {
        let world = World::new();
        for n in 0..left {
            world.done(&[unfollow("bob", &actor(n), LEFT)]).await;
        }
        given_up(&world, given_up_before).await;
        world.done(&[publish("anna", "a", NOW), publish("anna", "b", NOW)]).await;
        let minutes = ["2026-11-20T12:00:01.000Z", "2026-11-20T12:00:02.000Z", AGAIN];
        recorded(&world, "anna", true, minutes[0]).await;
        recorded(&world, "anna", false, minutes[1]).await;
        recorded(&world, "anna", true, minutes[2]).await;
        left_behind_of(&world, "anna", "a").await;
        let (bob, anna) = (ViewerId::new("bob").unwrap(), ActorId::new("anna").unwrap());
        let follows = Follows::new(&world.tables.ledger);
        follows.show(&bob, &anna, minutes[0].parse().unwrap()).await.unwrap();
        assert_eq!(world.ids("bob", "").await, [] as [String; 0], "{left} {given_up_before}");
        world.done(&[follow("bob", "anna", minutes[2])]).await;
        assert_eq!(world.ids("bob", "").await, ["b", "a"], "{left} {given_up_before}");
    }
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
