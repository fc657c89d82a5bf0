//! Changes that cannot be folded: they hold up nothing, are kept as dead letters, and count once when they are
//! redriven.

mod any_order;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::faults::{Fault, inject};
use nagare_local::stream_source::event as batch;
use serde_json::{Value, json};
use shared::platform::dead_letters::DeadLetter;
use shared::social::likes::LikeCounts;
use tests::{World, event, internal_seal, message, said, soon, unfinished};

use crate::platform::projecting::records;

const SHARD: &str = "shard";

fn like(viewer: &str, activity: &str) -> Value {
    json!({"type": "like.created", "viewer_id": viewer, "activity_id": activity, "at": "2026-11-20T11:00:00.000Z"})
}

/// Changes an item behind the functions' backs.
fn call(world: &World, operation: &str, request: &Value) -> Value {
    let (status, answer) = world.engine.call(operation, request.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

/// A row that says nothing that a like says, of attributes of every type.
fn poison(world: &World, viewer: &str, activity: &str) {
    let row = json!({"pk": {"S": format!("likes#{viewer}")}, "sk": {"S": activity},
        "liked": {"S": "yes"}, "b": {"B": "AP8="}, "l": {"L": [{"NULL": true}, {"N": "1"}]},
        "m": {"M": {"ss": {"SS": ["a", "b"]}}}, "ns": {"NS": ["1"]}, "bs": {"BS": ["AA=="]}});
    call(world, "PutItem", &json!({"TableName": "nagare-facts", "Item": row}));
}

fn view_key(activity: &str) -> Value {
    json!({"pk": {"S": format!("activity#{activity}")}, "sk": {"S": "likes"}})
}

fn view(world: &World, activity: &str) -> Value {
    let request = json!({"TableName": "nagare-views", "Key": view_key(activity)});
    call(world, "GetItem", &request)["Item"].take()
}

fn set(world: &World, activity: &str, attribute: &str, value: &Value) {
    let request = json!({"TableName": "nagare-views", "Key": view_key(activity), "UpdateExpression": "SET #a = :v",
        "ExpressionAttributeNames": {"#a": attribute}, "ExpressionAttributeValues": {":v": value}});
    call(world, "UpdateItem", &request);
}

/// Makes a count something else than a number, if there is one.
fn break_view(world: &World, activity: &str) {
    if let Some(digits) = view(world, activity)["count"]["N"].as_str() {
        set(world, activity, "count", &json!({"S": digits}));
    }
}

fn repair_view(world: &World, activity: &str) {
    if let Some(digits) = view(world, activity)["count"]["S"].as_str() {
        set(world, activity, "count", &json!({"N": digits}));
    }
}

async fn count(world: &World, activity: &str) -> u64 {
    let counts = LikeCounts::new(&world.tables.views).read(&[activity.parse().unwrap()]).await;
    counts.unwrap().into_values().next().unwrap_or_default().count()
}

/// Hands records over as one batch. The number of the first that has to come again.
async fn deliver(world: &World, records: &[StreamRecord]) -> Option<i64> {
    let batch = batch(SHARD, records).unwrap();
    let failures = world.fold(batch, soon()).await.unwrap().batch_item_failures;
    failures.first().map(|failed| failed.item_identifier.parse().unwrap())
}

async fn deliver_all(world: &World) -> Option<i64> {
    deliver(world, &records(world)).await
}

/// Has the alerter keep what is on the dead-letter queue. Returns what is kept, with the bodies.
async fn kept(world: &World) -> Vec<DeadLetter> {
    let arrived = world.take_dead_letters().await;
    for batch in arrived.chunks(10) {
        let answer = world.alerter.handle(event(batch.to_vec()), soon()).await.unwrap();
        assert_eq!(unfinished(&answer), [0_usize; 0]);
    }
    let mut letters = Vec::new();
    for listed in world.kept_letters().await {
        letters.extend(world.tables.dead_letters.get(&listed.id).await.unwrap());
    }
    letters
}

/// Redrives letters, and has the writer record what comes of it.
async fn redrive(world: &World, letters: &[DeadLetter]) {
    for letter in letters {
        nagare_operator::letters::redrive(&world.tables.dead_letters, &world.sender, letter)
            .await
            .unwrap();
    }
    let commands = world.take_commands().await;
    for batch in commands.chunks(10) {
        let answer = world.writer.handle(event(batch.to_vec()), soon()).await.unwrap();
        assert_eq!(answer.batch_item_failures.len(), 0);
    }
}

/// A world whose projector can be kept from sending dead letters.
fn with_a_queue_that_fails() -> (World, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&fails);
    let world = World::behind(|inside| SharedHttpConnector::new(Failing { inside, fails: switch }));
    (world, fails)
}

#[derive(Debug)]
struct Failing {
    inside: SharedHttpConnector,
    fails: Arc<AtomicBool>,
}

impl HttpConnector for Failing {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let fails = target.starts_with("AmazonSQS.") && self.fails.load(Ordering::Relaxed);
        let (inside, fault) = (self.inside.clone(), fails.then_some(Fault::Denied));
        HttpConnectorFuture::new(async move { inject(fault, request, &inside).await })
    }
}

#[tokio::test]
async fn a_poison_row_holds_up_nothing_and_is_kept() {
    let world = World::new();
    world.done(&[like("bob", "a"), like("bob", "b")]).await;
    poison(&world, "mal", "a");
    world.done(&[like("eve", "a"), like("eve", "b")]).await;
    assert_eq!(deliver_all(&world).await, None);
    assert_eq!((count(&world, "a").await, count(&world, "b").await), (2, 2));
    let letters = kept(&world).await;
    let [letter] = letters.as_slice() else { panic!("{letters:?}") };
    assert_eq!((letter.reason.as_str(), letter.receive_count), ("unfoldable", 1));
    assert_eq!(
        letter.detail,
        "table nagare-facts, item likes#mal a, attribute liked: expected true or false"
    );
    assert_eq!(letter.group.as_deref(), Some("mal"));
    let command = said(&letter.body);
    assert_eq!(command["type"], "fact.changed");
    assert_eq!(command["key"], json!({"pk": "likes#mal", "sk": "a"}));
    assert_eq!(command["view"], json!({"pk": "activity#a", "sk": "likes"}));
    assert_eq!(command["after"]["liked"], json!({"S": "yes"}));
    assert_eq!(command["after"]["l"], json!({"L": [{"NULL": true}, {"N": "1"}]}));
    assert_eq!(command.get("before"), None);
    let counted: i64 =
        world.metrics.lines().iter().filter_map(|line| line["ChangesSetAside"].as_i64()).sum();
    assert_eq!(counted, 1);
    // The same batch again is the same letter, and what comes after it drops the note of it.
    assert_eq!(deliver_all(&world).await, None);
    assert_eq!(kept(&world).await.len(), 1);
    assert!(view(&world, "a").get("set_aside_runs").is_some());
    world.done(&[like("dan", "a")]).await;
    assert_eq!(deliver(&world, &records(&world)[5..]).await, None);
    assert!(view(&world, "a").get("set_aside_runs").is_none());
    assert_eq!(count(&world, "a").await, 3);
}

/// Likes and rows that are none, by turns. From some number on what follows is set aside with what cannot be folded, and comes
/// back with it.
#[tokio::test]
async fn what_is_set_aside_one_by_one_has_a_bound() {
    let world = World::new();
    for n in 0..150 {
        world.done(&[like(&format!("v{n}"), "a")]).await;
        poison(&world, &format!("mal{n}"), "a");
    }
    assert_eq!(deliver_all(&world).await, None);
    let letters = kept(&world).await;
    let counted = count(&world, "a").await;
    assert_eq!((counted, letters.len()), (128, 300 - 128));
    let bytes = view(&world, "a")["set_aside_runs"]["B"].as_str().unwrap().len() / 4 * 3;
    assert_eq!(bytes, 128 * 48);
    // The same again is the same letters.
    assert_eq!(deliver_all(&world).await, None);
    let again = kept(&world).await;
    assert_eq!((count(&world, "a").await, again.len()), (counted, letters.len()));
    let before = records(&world).len();
    redrive(&world, &again).await;
    assert_eq!(deliver(&world, &records(&world)[before..]).await, None);
    assert_eq!(kept(&world).await.len(), 150);
    assert_eq!(count(&world, "a").await, 150);
}

/// Nothing has been repaired. It is the same letter again, and can be redriven again.
#[tokio::test]
async fn what_still_cannot_be_folded_comes_back_as_the_same_letter() {
    let world = World::new();
    poison(&world, "mal", "a");
    assert_eq!(deliver_all(&world).await, None);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let letters = kept(&world).await;
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].reason, "unfoldable");
        ids.push(letters[0].id.clone());
        redrive(&world, &letters).await;
        assert_eq!(kept(&world).await.len(), 0);
        assert_eq!(deliver(&world, records(&world).last_chunk::<1>().unwrap()).await, None);
    }
    assert_eq!(ids, vec![ids[0].clone(); 3]);
}

#[tokio::test]
async fn what_a_corrupt_view_missed_counts_once_however_often_it_is_redriven() {
    let world = World::new();
    world.done(&[like("bob", "a"), like("bob", "b")]).await;
    assert_eq!(deliver_all(&world).await, None);
    break_view(&world, "a");
    world.done(&[like("eve", "a"), like("eve", "b"), like("dan", "a")]).await;
    assert_eq!(deliver(&world, &records(&world)[2..]).await, None);
    assert_eq!(count(&world, "b").await, 2);
    let letters = kept(&world).await;
    assert_eq!(letters.len(), 2, "{letters:?}");
    assert!(letters[0].detail.contains("attribute count"), "{}", letters[0].detail);
    repair_view(&world, "a");
    world.done(&[like("zoe", "a")]).await;
    assert_eq!(deliver(&world, &records(&world)[5..]).await, None);
    assert_eq!(count(&world, "a").await, 2, "bob and zoe: what was set aside waits");
    for times in 1..=3 {
        redrive(&world, &letters).await;
        assert_eq!(deliver_all(&world).await, None);
        assert_eq!(records(&world).len(), 8, "each has come back once");
        assert_eq!((count(&world, "a").await, count(&world, "b").await), (4, 2), "{times} times");
    }
    assert_eq!(kept(&world).await.len(), 0);
    // Such a row is deleted some day, and nothing else happens then.
    let row = serde_json::from_str::<Value>(records(&world)[7].keys.get()).unwrap();
    call(&world, "DeleteItem", &json!({"TableName": "nagare-facts", "Key": row}));
    assert_eq!(deliver_all(&world).await, None);
    assert_eq!(count(&world, "a").await, 4);
}

/// What was set aside stays so, even if it could be folded by the time it is sent.
#[tokio::test]
async fn a_batch_comes_again_until_its_letters_are_sent() {
    let (world, fails) = with_a_queue_that_fails();
    world.done(&[like("bob", "a")]).await;
    assert_eq!(deliver_all(&world).await, None);
    break_view(&world, "a");
    world.done(&[like("bob", "b"), like("eve", "a"), like("dan", "b")]).await;
    fails.store(true, Ordering::Relaxed);
    let later = records(&world).split_off(1);
    for _ in 0..3 {
        assert_eq!(deliver(&world, &later).await, Some(later[1].number));
        assert_eq!(count(&world, "b").await, 2);
        assert_eq!(kept(&world).await.len(), 0);
    }
    repair_view(&world, "a");
    assert_eq!(deliver(&world, &later[1..2]).await, Some(later[1].number));
    fails.store(false, Ordering::Relaxed);
    assert_eq!(deliver(&world, &later[1..]).await, None);
    assert_eq!(count(&world, "a").await, 1);
    let letters = kept(&world).await;
    assert_eq!(letters.len(), 1);
    redrive(&world, &letters).await;
    assert_eq!(deliver_all(&world).await, None);
    assert_eq!((count(&world, "a").await, count(&world, "b").await), (2, 2));
}

/// Nobody knows what it has folded, so nothing is noted in it; its changes are kept, and the shard goes on.
#[tokio::test]
async fn a_view_without_marks_holds_up_nothing() {
    let world = World::new();
    world.done(&[like("bob", "a")]).await;
    assert_eq!(deliver_all(&world).await, None);
    set(&world, "a", "marks", &json!({"S": "?"}));
    let before = view(&world, "a");
    world.done(&[like("eve", "a"), like("eve", "b")]).await;
    for _ in 0..2 {
        assert_eq!(deliver(&world, &records(&world)[1..]).await, None);
        assert_eq!(kept(&world).await.len(), 1);
    }
    assert_eq!((view(&world, "a"), count(&world, "b").await), (before, 1));
}

#[tokio::test]
async fn nobody_but_the_projector_makes_changes() {
    let world = World::new();
    poison(&world, "mal", "a");
    assert_eq!(deliver_all(&world).await, None);
    let letters = kept(&world).await;
    let bare = said(&letters[0].body).to_string();
    let other = letters[0].body.replace("likes#mal", "likes#bob");
    assert_ne!(other, letters[0].body);
    for (forged, reason) in [(&bare, "unknown-type"), (&other, "unknown-type")] {
        world.write(&[forged], 1).await;
        let refused = world.take_dead_letters().await.pop().unwrap();
        let said = &refused.message_attributes["nagare.reason"];
        assert_eq!(said.string_value.as_deref(), Some(reason), "{forged}");
    }
    assert_eq!(records(&world).len(), 1);
    assert!(internal_seal().parse(&letters[0].body, world.clock.now()).is_ok());
}

/// Its images would not fit into a message. What is kept says which row it is; the row itself is there.
#[tokio::test]
async fn a_row_that_is_too_long_is_kept_without_what_it_says() {
    let world = World::new();
    let row = json!({"pk": {"S": "likes#mal"}, "sk": {"S": "a"}, "x": {"S": "\u{1}".repeat(100_000)},
        "liked": {"S": "yes"}});
    call(&world, "PutItem", &json!({"TableName": "nagare-facts", "Item": row}));
    assert_eq!(deliver_all(&world).await, None);
    let letters = kept(&world).await;
    assert_eq!(said(&letters[0].body)["after"], "too long");
    redrive(&world, &letters).await;
    let letters = kept(&world).await;
    assert_eq!(letters[0].reason, "malformed");
    assert_eq!(letters[0].detail, "member `after`: expected an item");
}

/// It was not the writer who wrote it, so there is nothing in it that anybody waits for.
#[tokio::test]
async fn a_row_that_brings_nothing_back_holds_up_nothing() {
    let world = World::new();
    for (n, row) in
        [json!({}), json!({"change": {"S": "{}"}, "letter": {"S": "x"}})].iter_mut().enumerate()
    {
        row["pk"] = json!({"S": "changed#likes#mal"});
        row["sk"] = json!({"S": format!("a#{n}")});
        call(&world, "PutItem", &json!({"TableName": "nagare-facts", "Item": row}));
    }
    world.done(&[like("bob", "a")]).await;
    assert_eq!(deliver_all(&world).await, None);
    assert_eq!((count(&world, "a").await, kept(&world).await.len()), (1, 0));
}

/// What Lambda sends of a batch that it gave up is kept under a reason of its own, and is no command.
#[tokio::test]
async fn a_batch_that_was_given_up_is_kept_and_not_redriven() {
    let world = World::new();
    let body = json!({
        "requestContext": {"requestId": "1", "functionArn": "arn", "condition": "RetryAttemptsExhausted"},
        "version": "1.0", "timestamp": "2026-11-20T11:00:00.000Z",
        "DDBStreamBatchInfo": {"shardId": "shardId-1", "startSequenceNumber": "111", "endSequenceNumber": "222",
            "batchSize": 3, "streamArn": "arn"},
    });
    let sent = message("0", &body.to_string(), 1);
    world.alerter.handle(event([sent]), soon()).await.unwrap();
    let letter = world.tables.dead_letters.get("0").await.unwrap().unwrap();
    assert_eq!(
        (letter.reason.as_str(), letter.evidence),
        ("stream-batch", None),
        "Lambda has no seal"
    );
    assert_eq!(letter.detail, "3 changes of shardId-1, 111 to 222: RetryAttemptsExhausted");
    let redriven =
        nagare_operator::letters::redrive(&world.tables.dead_letters, &world.sender, &letter).await;
    let refused = redriven.unwrap_err().to_string();
    assert!(refused.contains("OPERATIONS.md"), "{refused}");
    assert_eq!(world.take_commands().await.len(), 0);
    assert_eq!(world.kept_letters().await.len(), 1);
}
