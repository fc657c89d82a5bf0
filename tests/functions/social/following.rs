//! The row behind each edge: it ends as the edge says, whatever is cut off, late or repeated, and an audit restores it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_operator::audit::{Auditor, FollowingDifference};
use nagare_operator::erasure::marks::Marks;
use serde_json::json;
use shared::platform::dynamo::item::{text, truth};
use shared::platform::register::TOMBSTONE_KEPT;
use shared::platform::values::{ActorId, Retention, Timestamp, ViewerId};
use shared::social::follows::keys;
use tests::{NOW, World, follow, unfollow};

use crate::social::lists::{at, followers, following, walk};

/// Lets writes of rows wait for an hour, which nobody who is told to stop survives, or for so long.
#[derive(Debug, Clone)]
struct SlowRows {
    inside: SharedHttpConnector,
    of: String,
    on: Arc<AtomicBool>,
    wait: Duration,
}

impl HttpConnector for SlowRows {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
        let is_row = body.contains("#following\"") && body.contains(&self.of);
        let slow = is_row && body.contains("UpdateExpression") && self.on.load(Relaxed);
        let (inside, wait) = (self.inside.clone(), self.wait);
        HttpConnectorFuture::new(async move {
            if slow {
                tokio::time::sleep(wait).await;
            }
            inside.call(request).await
        })
    }
}

/// A world in which the row of what is said at an instant is written late, until that is switched off.
fn slow(of: &str, wait: Duration) -> (World, Arc<AtomicBool>) {
    let on = Arc::new(AtomicBool::new(true));
    let (of, switch) = (of.to_owned(), Arc::clone(&on));
    let world =
        World::behind(|inside| SharedHttpConnector::new(SlowRows { inside, of, on: switch, wait }));
    (world, on)
}

/// Since when bob follows anna, by both lists.
async fn since(world: &World) -> [Option<String>; 2] {
    let mut since = [following("bob"), followers("anna")].map(|path| (path, None));
    for (path, since) in &mut since {
        *since = walk(world, path, 100).await.pop().map(|(_, since)| since);
    }
    since.map(|(_, since)| since)
}

fn both(minute: u8) -> [Option<String>; 2] {
    [Some(at(minute)), Some(at(minute))]
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_dies_between_edge_and_row_is_completed_by_the_next() {
    for command in [follow("bob", "anna", &at(5)), unfollow("bob", "anna", &at(5))] {
        let (world, on) = slow(&at(5), Duration::from_secs(3_600));
        world.done(&[follow("bob", "anna", &at(1))]).await;
        let body = command.to_string();
        let killed = tokio::time::timeout(Duration::from_secs(1), world.write(&[&body], 1)).await;
        assert!(killed.is_err(), "it was not killed");
        on.store(false, Relaxed);
        let expected = match command["type"] == "follow.created" {
            true => both(5),
            false => [None, None],
        };
        assert_eq!(since(&world).await, [Some(at(1)), expected[1].clone()], "the row is behind");
        assert_eq!(world.write(&[&body], 2).await, [0_usize; 0]);
        assert_eq!(since(&world).await, expected);
    }
}

/// The follow's writer has written its edge, and writes its row when a later command is long done.
#[tokio::test(start_paused = true)]
async fn the_row_of_an_earlier_command_that_is_late_changes_nothing() {
    for (early, late, expected) in [
        (follow("bob", "anna", &at(1)), unfollow("bob", "anna", &at(2)), [None, None]),
        (follow("bob", "anna", &at(1)), unfollow("bob", "anna", &at(1)), [None, None]),
        (follow("bob", "anna", &at(1)), follow("bob", "anna", &at(2)), both(2)),
        (unfollow("bob", "anna", &at(1)), follow("bob", "anna", &at(2)), both(2)),
    ] {
        let (world, on) = slow(&at(1), Duration::from_secs(1));
        let [early, late] = [early.to_string(), late.to_string()];
        let later = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            on.store(false, Relaxed);
            assert_eq!(world.write(&[&late], 1).await, [0_usize; 0]);
            assert_eq!(since(&world).await, expected, "{late}");
        };
        let early_body = [early.as_str()];
        let (unfinished, ()) = tokio::join!(world.write(&early_body, 1), later);
        assert_eq!(unfinished, [0_usize; 0]);
        assert_eq!(since(&world).await, expected, "{early}, then {late}");
    }
}

#[tokio::test]
async fn a_tombstone_expires_and_the_edge_keeps_earlier_follows_out() {
    let world = World::new();
    world.done(&[follow("bob", "anna", &at(1)), unfollow("bob", "anna", &at(2))]).await;
    let row = || async {
        let key = keys::followee(&ViewerId::new("bob").unwrap(), &ActorId::new("anna").unwrap());
        world.tables.ledger.get(key).await.unwrap().map(|row| row.item)
    };
    let kept = i64::try_from(TOMBSTONE_KEPT.as_millis()).unwrap();
    let expiry = NOW.parse::<Timestamp>().unwrap().plus_millis(kept);
    world.engine.sweep(expiry.plus_millis(-1000)).unwrap();
    assert!(row().await.is_some_and(|row| !row.contains_key("following")));
    world.engine.sweep(expiry.plus_millis(1000)).unwrap();
    assert_eq!(row().await, None);
    world.done(&[follow("bob", "anna", &at(1))]).await;
    assert_eq!(since(&world).await, [None, None]);
    assert!(row().await.is_some(), "a tombstone again");
    // A follow in force never expires.
    world.done(&[follow("bob", "anna", &at(3))]).await;
    world.engine.sweep(expiry.plus_millis(kept)).unwrap();
    assert_eq!(since(&world).await, both(3));
}

/// What is left of a row after an erasure keeps its follow out, and no later one.
#[tokio::test]
async fn an_erased_row_comes_back_by_a_later_follow_only() {
    let world = World::new();
    world.done(&[follow("bob", "anna", &at(5))]).await;
    let key = keys::followee(&ViewerId::new("bob").unwrap(), &ActorId::new("anna").unwrap());
    let marks = Marks(world.tables.ledger.clone());
    assert!(marks.empty(&key, &at(5), 2_000_000_000).await.unwrap());
    world.done(&[follow("bob", "anna", &at(5)), follow("bob", "anna", &at(4))]).await;
    assert_eq!(walk(&world, &following("bob"), 9).await, []);
    world.done(&[follow("bob", "anna", &at(6))]).await;
    assert_eq!(since(&world).await, both(6));
}

fn auditor(world: &World) -> Auditor {
    let (ledger, timelines) = (&world.tables.ledger, world.tables.timelines.clone());
    Auditor::new(ledger, timelines, Retention::default(), world.clock.clone())
}

#[tokio::test]
async fn an_audit_finds_and_restores_what_is_not_as_the_edges_say() {
    let world = World::new();
    let bob = ViewerId::new("bob").unwrap();
    world.done(&["anna", "carl", "dora"].map(|actor| follow("bob", actor, &at(5)))).await;
    world.done(&[follow("bob", "left", &at(1)), unfollow("bob", "left", &at(2))]).await;
    let auditor = auditor(&world);
    assert_eq!(auditor.following_differences(&bob).await.unwrap(), []);
    let right = walk(&world, &following("bob"), 9).await;
    let key = |actor: &str| keys::followee(&bob, &ActorId::new(actor).unwrap());
    let put = async |actor: &str, minute: u8| {
        let row = [("at".to_owned(), text(at(minute))), ("following".to_owned(), truth(true))];
        world.tables.ledger.put(key(actor), row).await.unwrap();
    };
    // One that is missing, and others that no command ever wrote.
    world.tables.ledger.delete(key("anna")).await.unwrap();
    for (actor, minute) in [("carl", 4), ("dora", 6), ("left", 7), ("stranger", 8)] {
        put(actor, minute).await;
    }
    let differences = auditor.following_differences(&bob).await.unwrap();
    let instant = |minute: Option<u8>| minute.map(|minute| at(minute).parse().unwrap());
    let expected = [
        ("anna", None, Some(5)),
        ("carl", Some(4), Some(5)),
        ("dora", Some(6), Some(5)),
        ("left", Some(7), None),
        ("stranger", Some(8), None),
    ];
    let expected = expected.map(|(actor, listed, follows)| FollowingDifference {
        viewer_id: bob.clone(),
        actor_id: ActorId::new(actor).unwrap(),
        listed_since: instant(listed),
        follows_since: instant(follows),
    });
    assert_eq!(differences, expected);
    let printed = serde_json::to_value(&differences[0]).unwrap();
    let expected = json!({"viewer_id": "bob", "actor_id": "anna", "listed_since": null, "follows_since": at(5)});
    assert_eq!(printed, expected);
    auditor.repair_following(&differences).await.unwrap();
    assert_eq!(auditor.following_differences(&bob).await.unwrap(), []);
    assert_eq!(walk(&world, &following("bob"), 9).await, right);
}
