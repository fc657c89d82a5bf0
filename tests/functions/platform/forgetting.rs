//! Tombstones: they stay for as long as commands may be in flight, and then they expire.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_local::faults::Faulty;
use nagare_operator::erasure::marks::{Marks, Tombstone};
use serde_json::{Value, json};
use shared::platform::values::{ActivityId, ActorId, SortKey, Timestamp, ViewerId};
use shared::social::activities::ActivityKey;
use shared::social::fanout::{FanOutKind, FanOuts, Pass, Progress};
use shared::social::follows::FollowerRange;
use tests::{NOW, World, delete, follow, publish, unfollow};
use tokio::time::Instant;

use crate::platform::projecting::projecting;
use crate::social::rooms::erasure;

const AT: &str = "2026-11-20T11:00:00.000Z";
const LATER: &str = "2026-11-20T11:30:00.000Z";

/// Later than what an unfollow leaves in the list of whom somebody follows.
fn until() -> Timestamp {
    NOW.parse::<Timestamp>().unwrap().plus_millis(4 * 86_400_000)
}

fn anna() -> ActorId {
    ActorId::new("anna").unwrap()
}

fn edge() -> Tombstone {
    Tombstone::Edge(ViewerId::new("bob").unwrap(), anna())
}

async fn mark(world: &World, tombstone: &Tombstone) -> bool {
    let until = until().unix_millis() / 1000;
    Marks(world.tables.ledger.clone()).mark_expired(tombstone, until).await.unwrap()
}

async fn mark_activity(world: &World) -> [bool; 3] {
    let key = ActivityKey { activity_id: ActivityId::new("live").unwrap(), actor_id: anna() };
    let sort_key =
        SortKey { published_at: AT.parse().unwrap(), activity_id: key.activity_id.clone() };
    [
        mark(world, &Tombstone::Claim(key.clone())).await,
        mark(world, &Tombstone::Record(key)).await,
        mark(world, &Tombstone::OutboxRow(anna(), sort_key)).await,
    ]
}

fn ledger(world: &World) -> Vec<Value> {
    let request = json!({"TableName": "nagare-ledger"}).to_string();
    let (status, answer) = world.engine.call("Scan", request.as_bytes());
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["Items"].as_array().unwrap().clone()
}

/// What the ledger holds once the tombstones have expired.
fn swept(world: &World) -> Vec<Value> {
    world.engine.sweep(until().plus_millis(-1000)).unwrap();
    assert!(!ledger(world).is_empty(), "it is not yet time");
    world.engine.sweep(until().plus_millis(1000)).unwrap();
    ledger(world)
}

#[tokio::test]
async fn what_is_in_force_is_not_marked() {
    let world = World::new();
    assert!(!mark(&world, &edge()).await);
    world.done(&[follow("bob", "anna", AT), publish("anna", "live", AT)]).await;
    assert!(!mark(&world, &edge()).await);
    assert_eq!(mark_activity(&world).await, [true, false, false], "a claim is nothing but a claim");
}

/// All that names somebody: the change log has digests, and grows whenever a command comes again.
fn names(world: &World) -> Vec<Value> {
    let is_log = |item: &Value| item["pk"]["S"].as_str().unwrap().starts_with("changes#");
    ledger(world).into_iter().filter(|item| !is_log(item)).collect()
}

#[tokio::test]
async fn commands_that_come_again_write_none_of_it_again() {
    let world = World::new();
    let mut update = publish("anna", "live", AT);
    (update["type"], update["at"]) = (json!("activity.updated"), json!(LATER));
    let commands = [
        follow("bob", "anna", AT),
        publish("anna", "live", AT),
        update,
        delete("anna", "live"),
        unfollow("bob", "anna", LATER),
    ];
    world.done(&commands).await;
    assert_eq!(mark_activity(&world).await, [true; 3]);
    assert!(mark(&world, &edge()).await);
    let before = names(&world);
    world.done(&commands).await;
    world.done(&commands).await;
    assert_eq!(names(&world), before);
    swept(&world);
    // But that bob has left anna, which names her until retention has passed, or she is erased.
    let hidden = |item: &Value| item["pk"]["S"] == "person#bob#hidden";
    assert_eq!(names(&world).iter().filter(|item| !hidden(item)).count(), 0);
}

#[tokio::test]
async fn a_mark_stays_as_it_was_first_set() {
    let world = World::new();
    world.done(&[unfollow("bob", "anna", AT)]).await;
    mark(&world, &edge()).await;
    let before = ledger(&world);
    let later = until().unix_millis() / 1000 + 1_000_000;
    assert!(Marks(world.tables.ledger.clone()).mark_expired(&edge(), later).await.unwrap());
    assert_eq!(ledger(&world), before);
}

#[tokio::test]
async fn a_later_command_takes_the_mark_off() {
    let world = World::new();
    world.done(&[unfollow("bob", "anna", AT)]).await;
    mark(&world, &edge()).await;
    world.done(&[follow("bob", "anna", LATER)]).await;
    let edges = swept(&world).into_iter().filter(|item| item["followee_id"].is_object());
    assert_eq!(edges.count(), 1);
    world.done(&[publish("anna", "live", LATER)]).await;
    assert_eq!(world.ids("bob", "").await, ["live"]);
}

#[tokio::test]
async fn a_deleted_activity_says_nothing_any_more() {
    let world = World::new();
    let mut update = publish("anna", "live", AT);
    (update["type"], update["at"]) = (json!("activity.updated"), json!(LATER));
    (update["payload"], update["kind"]) = (json!("the secret"), json!("secret"));
    let mut secret = publish("anna", "live", AT);
    (secret["payload"], secret["kind"]) = (json!("a secret"), json!("secret"));
    world.done(&[secret.clone(), update.clone()]).await;
    let holds_secret =
        |world: &World| ledger(world).iter().any(|item| item.to_string().contains("secret"));
    assert!(holds_secret(&world));
    world.done(&[delete("anna", "live")]).await;
    assert!(!holds_secret(&world));
    world.done(&[secret, update]).await;
    assert!(!holds_secret(&world));
}

#[tokio::test]
async fn what_is_done_names_no_follower() {
    let world = World::new();
    let key = ActivityKey { activity_id: ActivityId::new("live").unwrap(), actor_id: anna() };
    let (fan_outs, range) = (FanOuts::new(&world.tables.ledger), FollowerRange::ALL);
    for done in [false, true] {
        let progress = Progress { position: Some("2612#bob".to_owned()), written: 1, done };
        let progress = (&progress, world.clock.now());
        fan_outs
            .note_progress(&key, FanOutKind::Insert, range, Pass::Main, progress)
            .await
            .unwrap();
        assert_eq!(ledger(&world)[0].to_string().contains("bob"), !done);
    }
    assert!(fan_outs.progress(&key, FanOutKind::Insert, range, Pass::Main).await.unwrap().done);
}

/// People in what was published, and what the person is in: calls of up to 20 ms, for each tag three.
#[tokio::test(start_paused = true)]
async fn tags_are_erased_several_at_once() {
    let faults = "slow=20ms".parse().unwrap();
    let world = World::behind(move |inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    let tag = |activity: &str, tagged: &str| json!({"type": "tag.created", "activity_id": activity, "tagged_id": tagged, "at": AT});
    let people = (0..300).map(|n| tag("live", &format!("v{n:03}")));
    let theirs = (0..300).map(|n| tag(&format!("live-{n:03}"), "anna"));
    let tags: Vec<_> = people.chain(theirs).collect();
    world.done(&[publish("anna", "live", AT)]).await;
    world.done(&tags).await;
    world.project("a").await;
    let begun = Instant::now();
    let erased = projecting(&world, erasure(&world, "anna").run()).await.unwrap();
    let took = begun.elapsed();
    assert_eq!(erased.tags, 300);
    // One after another they would take 10 ms for each of some 1,800 calls.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let left: Vec<_> =
        ledger(&world).into_iter().filter(|item| item["tagged"]["BOOL"] == true).collect();
    assert_eq!(left, [json!(null); 0]);
}
