//! The change log: whatever comes at once, whatever its table was before, and whoever has died at it.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use futures::future::join_all;
use serde_json::{Value, json};
use shared::platform::runtime::deadline::Deadline;
use shared::social::activities::RecordCache;
use tests::{World, delete, event, follow, message, publish};

const AT: &str = "2026-11-20T11:00:00.000Z";
const COPIES: usize = 4;
const EDITS: usize = 200;
/// A list of this many numbers is a write unit, with its keys.
const ROOM: usize = 90;

/// Takes a moment for each call, and remembers the updates.
#[derive(Debug)]
struct Slow {
    inside: SharedHttpConnector,
    updates: Arc<Mutex<Vec<Value>>>,
}

impl HttpConnector for Slow {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if request.headers().get("x-amz-target").unwrap_or_default().ends_with("UpdateItem") {
            let body = request.body().bytes().unwrap_or_default();
            self.updates.lock().unwrap().push(serde_json::from_slice(body).unwrap());
        }
        let call = self.inside.call(request);
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(Duration::from_millis(2)).await;
            call.await
        })
    }
}

fn slow() -> (World, Arc<Mutex<Vec<Value>>>) {
    let updates = Arc::<Mutex<Vec<_>>>::default();
    let world = World::behind(|inside| {
        SharedHttpConnector::new(Slow { inside, updates: Arc::clone(&updates) })
    });
    (world, updates)
}

fn update(activity: &str, payload: &str, at: &str) -> Value {
    json!({"type": "activity.updated", "activity_id": activity, "actor_id": "anna", "at": at, "payload": payload})
}

fn call(world: &World, operation: &str, body: Value) -> Value {
    let mut body = body;
    body["TableName"] = json!("nagare-ledger");
    let (status, answer) = world.engine.call(operation, body.to_string().as_bytes());
    assert_eq!(status, 200, "{operation}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

fn items(world: &World) -> Vec<Value> {
    call(world, "Scan", json!({}))["Items"].as_array().unwrap().clone()
}

/// The list of each copy.
fn lists(world: &World) -> Vec<Vec<Value>> {
    let is_copy = |item: &Value| item["pk"]["S"].as_str().unwrap().starts_with("changes#");
    let copies = items(world).into_iter().filter(is_copy);
    copies.map(|item| item["latest"]["L"].as_array().unwrap().clone()).collect()
}

fn put_copies(world: &World, latest: &Value) {
    for copy in 0..COPIES {
        let copy = format!("changes#{copy}");
        let item = json!({"pk": {"S": copy}, "sk": {"S": "changes"}, "epoch": {"S": "former"},
                          "count": {"N": "9000"}, "copies": {"N": COPIES.to_string()}, "latest": latest});
        call(world, "PutItem", json!({"Item": item}));
    }
}

/// Has the ledger say what it said once, as a restore does.
fn restore(world: &World, to: &[Value]) {
    for item in items(world) {
        let key = json!({"pk": item["pk"], "sk": item["sk"]});
        call(world, "DeleteItem", json!({"Key": key}));
    }
    for item in to {
        call(world, "PutItem", json!({"Item": item}));
    }
}

/// What bob's timeline says, newest first.
async fn payloads(world: &World) -> String {
    let (status, _, page) = world.get("/v1/timelines/bob", "").await;
    assert_eq!(status, 200, "{page}");
    let items = page["items"].as_array().unwrap().iter();
    items.fold(String::new(), |mut all, item| {
        write!(all, "{}={} ", item["activity_id"], item["payload"]).unwrap();
        all
    })
}

/// Batches that come at once to one process.
async fn at_once(world: &World, commands: &[Value]) {
    let batches = commands.chunks(10).map(|batch| {
        let bodies = batch.iter().enumerate();
        let records = bodies.map(|(n, body)| message(&n.to_string(), &body.to_string(), 1));
        // Whatever else the machine does.
        world.writer.handle(event(records), Deadline::after(Duration::from_secs(600)))
    });
    for response in join_all(batches).await {
        assert_eq!(response.unwrap().batch_item_failures, []);
    }
}

#[tokio::test]
async fn nothing_grows_with_a_burst_of_edits_and_deletes() {
    let (world, updates) = slow();
    world.done(&[follow("bob", "anna", AT)]).await;
    let published: Vec<_> = (0..EDITS).map(|n| publish("anna", &format!("a-{n:03}"), AT)).collect();
    at_once(&world, &published).await;
    assert_eq!(world.ids("bob", "limit=100").await.len(), 100);
    let edits = (0..EDITS).map(|n| match n % 2 {
        0 => delete("anna", &format!("a-{n:03}")),
        _ => update(&format!("a-{n:03}"), "edited", AT),
    });
    updates.lock().unwrap().clear();
    at_once(&world, &edits.collect::<Vec<_>>()).await;
    assert_eq!(world.dead_letters().await.len() + world.take_commands().await.len(), 0);
    let lists = lists(&world);
    assert_eq!(lists.len(), COPIES);
    assert!(lists.iter().all(|list| list.len() <= ROOM), "{lists:?}");
    let updates = std::mem::take(&mut *updates.lock().unwrap());
    let of_log = updates.iter().filter(|update| {
        update["Key"]["pk"]["S"].as_str().is_some_and(|key| key.starts_with("changes#"))
    });
    let of_log: Vec<_> = of_log.collect();
    let longest = of_log.iter().map(|update| update.to_string().len()).max();
    assert!(longest.is_some_and(|longest| longest < 2_048), "{longest:?} bytes");
    // Each edit alone would be one for each copy.
    assert!(of_log.len() < EDITS * COPIES, "{} updates of the log", of_log.len());
    let expected: String =
        (0..EDITS).rev().filter(|n| n % 2 == 1).take(20).fold(String::new(), |mut all, n| {
            write!(all, "\"a-{n:03}\"=\"edited\" ").unwrap();
            all
        });
    assert_eq!(payloads(&world).await, expected);
}

#[tokio::test]
async fn a_list_of_any_length_or_form_is_short_after_one_edit() {
    let long: Vec<_> = (0..9_000).map(|n| json!({"N": n.to_string()})).collect();
    for latest in [json!({"L": long}), json!({"S": "not a list"})] {
        let world = World::new();
        world.done(&[follow("bob", "anna", AT), publish("anna", "live", AT)]).await;
        put_copies(&world, &latest);
        world.done(&[update("live", "edited", AT)]).await;
        assert!(lists(&world).iter().all(|list| list.len() <= ROOM));
        assert_eq!(payloads(&world).await, "\"live\"=\"edited\" ");
    }
}

#[tokio::test]
async fn a_reader_that_missed_a_few_edits_forgets_those_alone() {
    let (world, updates) = slow();
    world
        .done(&[follow("bob", "anna", AT), publish("anna", "a", AT), publish("anna", "b", AT)])
        .await;
    // The first reading chooses a copy.
    for n in 0..60 {
        world.done(&[update("a", &format!("{n}"), &format!("2026-11-20T11:00:00.{n:03}Z"))]).await;
        assert_eq!(payloads(&world).await, format!("\"b\"={{\"of\":\"b\"}} \"a\"=\"{n}\" "));
    }
    // Each edit is one update of its record, and one of each copy; a cut comes every twenty.
    let all = updates.lock().unwrap().len();
    assert!(all <= 60 * (1 + COPIES) + 4 * COPIES, "{all}");
}

#[tokio::test]
async fn what_is_kept_dies_with_a_table_that_is_put_back() {
    // Whether a page is read between the restore and the edits, which ones these are, and what is shown then.
    for (is_read, activity, payload) in [
        (true, "b", "again"),
        (false, "b", "again"),
        (false, "a", "another"),
        (true, "a", "another"),
    ] {
        let world = World::new();
        world
            .done(&[follow("bob", "anna", AT), publish("anna", "a", AT), publish("anna", "b", AT)])
            .await;
        world.done(&[update("a", "first", AT)]).await;
        // The second is of the copy that the first has chosen.
        let first = "\"b\"={\"of\":\"b\"} \"a\"=\"first\" ";
        assert_eq!([payloads(&world).await, payloads(&world).await], [first, first]);
        let before = items(&world);
        world.done(&[update("a", "second", "2026-11-20T11:10:00.000Z")]).await;
        let second = "\"b\"={\"of\":\"b\"} \"a\"=\"second\" ";
        assert_eq!(payloads(&world).await, second);
        restore(&world, &before);
        if is_read {
            assert_eq!(payloads(&world).await, first);
        }
        world.done(&[update(activity, payload, "2026-11-20T11:20:00.000Z")]).await;
        let expected = match activity {
            "a" => format!("\"b\"={{\"of\":\"b\"}} \"a\"=\"{payload}\" "),
            _ => format!("\"b\"=\"{payload}\" \"a\"=\"first\" "),
        };
        assert_eq!(payloads(&world).await, expected, "read in between: {is_read}");
    }
}

#[tokio::test]
async fn what_is_kept_dies_with_a_table_that_is_made_again() {
    let world = World::new();
    let publish_a = publish("anna", "a", AT);
    world.done(&[follow("bob", "anna", AT), publish_a.clone(), update("a", "edited", AT)]).await;
    assert_eq!(payloads(&world).await, "\"a\"=\"edited\" ");
    assert_eq!(payloads(&world).await, "\"a\"=\"edited\" ");
    restore(&world, &[]);
    world.done(&[follow("bob", "anna", AT), publish_a]).await;
    assert_eq!(payloads(&world).await, "\"a\"={\"of\":\"a\"} ");
}

/// The log says nothing of publishes. Tables are replaced faster here than DynamoDB can.
#[tokio::test]
async fn what_is_kept_dies_with_a_table_that_lacks_what_was_published_last() {
    let mut world = World::new();
    let kept = RecordCache::new(1 << 20).with_longest_gap(Duration::ZERO);
    world.reader.records = Arc::new(kept);
    world.done(&[follow("bob", "anna", AT)]).await;
    let before = items(&world);
    let mut publish_a = publish("anna", "a", AT);
    world.done(&[publish_a.clone()]).await;
    for _ in 0..2 {
        assert_eq!(payloads(&world).await, "\"a\"={\"of\":\"a\"} ");
    }
    restore(&world, &before);
    assert_eq!(payloads(&world).await, "");
    publish_a["payload"] = json!("again");
    world.done(&[publish_a]).await;
    assert_eq!(payloads(&world).await, "\"a\"=\"again\" ");
}

/// The step of the restore that operators take, in docs/OPERATIONS.md.
#[tokio::test]
async fn a_log_that_was_begun_again_by_hand_makes_readers_forget() {
    for edited in [false, true] {
        let world = World::new();
        world.done(&[follow("bob", "anna", AT)]).await;
        if edited {
            world.done(&[publish("anna", "x", AT), delete("anna", "x")]).await;
        }
        let mut before = items(&world);
        world.done(&[publish("anna", "a", AT)]).await;
        for _ in 0..2 {
            assert_eq!(payloads(&world).await, "\"a\"={\"of\":\"a\"} ");
        }
        before.retain(|item| !item["pk"]["S"].as_str().unwrap().starts_with("changes#"));
        restore(&world, &before);
        for copy in 0..COPIES {
            call(
                &world,
                "UpdateItem",
                json!({
                    "Key": {"pk": {"S": format!("changes#{copy}")}, "sk": {"S": "changes"}},
                    "UpdateExpression": "SET epoch = :epoch, latest = :mark, #count = :two",
                    "ExpressionAttributeNames": {"#count": "count"},
                    "ExpressionAttributeValues": {":epoch": {"S": "restored-1"}, ":mark": {"L": [{"N": "1"}]}, ":two": {"N": "2"}},
                }),
            );
        }
        assert_eq!(payloads(&world).await, "", "edited before: {edited}");
        world.done(&[publish("anna", "a", AT), update("a", "edited", AT)]).await;
        assert_eq!(payloads(&world).await, "\"a\"=\"edited\" ");
    }
}

#[tokio::test]
async fn what_another_version_has_put_into_an_item_stays_there() {
    let world = World::new();
    world.done(&[publish("anna", "a", AT)]).await;
    for item in items(&world) {
        let mut item = item;
        item["of_tomorrow"] = json!({"S": "kept"});
        call(&world, "PutItem", json!({"Item": item}));
    }
    let known: Vec<_> =
        items(&world).iter().map(|item| (item["pk"].clone(), item["sk"].clone())).collect();
    let mut edit = update("a", "edited", AT);
    world.done(&[edit.clone()]).await;
    // And back, which finds the row of its former kind.
    for (kind, at) in [("clip", "2026-11-20T11:20:00.000Z"), ("post", "2026-11-20T11:30:00.000Z")] {
        (edit["kind"], edit["at"]) = (json!(kind), json!(at));
        world.done(&[edit.clone()]).await;
    }
    world.done(&[delete("anna", "a")]).await;
    let (mut kept, mut gone) = (0, Vec::new());
    for item in items(&world) {
        match known.contains(&(item["pk"].clone(), item["sk"].clone())) {
            true if item["of_tomorrow"]["S"] == "kept" => kept += 1,
            true => gone.push(item),
            false => {}
        }
    }
    assert_eq!((kept, gone), (3, vec![]), "claim, record and outbox row");
}
