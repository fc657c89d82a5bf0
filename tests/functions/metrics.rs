//! What is counted, and what the numbers mean.

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare::local::faults::Faulty;
use nagare::tables::TableNames;
use serde_json::{Value, json};
use shared::activities::Activities;
use shared::dynamo::Usage;
use shared::timelines::EntryWrite;
use shared::values::{ActorId, ViewerId};
use tests::{NOW, World, delete, event, follow, publish, soon};

use crate::split::{FOLLOWERS, with_followers};

const AT: &str = "2026-11-20T11:59:30.000Z";

/// A world whose tables and queues have these faults.
fn with_faults(settings: &str) -> World {
    let faults = settings.parse().unwrap();
    World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)))
}

#[tokio::test(start_paused = true)]
async fn the_store_counts_what_it_sends_and_what_it_sends_again() {
    // A batch of which nothing would be done is refused as a whole.
    for (settings, unprocessed, failed) in
        [("", false, false), ("leftovers=30%", true, true), ("errors=30%", false, true)]
    {
        let world = with_faults(settings);
        let viewers: Vec<_> = (0..1_000).map(|n| ViewerId::new(format!("v{n}")).unwrap()).collect();
        let actor = ActorId::new("anna").unwrap();
        let sort_key = "2026-11-20T11:00:00.000Z#live-1";
        let puts = viewers.iter().map(|viewer| EntryWrite::Put {
            viewer,
            sort_key,
            actor: &actor,
            expires_at: 1_797_000_000,
        });
        let dynamo = world.tables.dynamo.metered();
        let timelines = world.tables.timelines.over(&dynamo);
        timelines.write(puts, soon(), soon()).await.unwrap().whole().unwrap();
        let Usage { written: entries, sends, unprocessed: back, retries } = dynamo.usage();
        assert_eq!(entries, 1_000, "{settings}");
        assert_eq!((back > 0, retries > 0), (unprocessed, failed), "{settings}");
        if unprocessed {
            assert!(sends >= entries + back + retries, "{sends}: {entries}, {back}, {retries}");
        } else {
            assert_eq!(sends, entries + 25 * retries, "whole batches failed: {settings}");
        }
        assert_eq!(world.tables.dynamo.usage(), Usage::default(), "usage of its own");
    }
}

/// The records in which a metric is, with its value.
fn all(world: &World, metric: &str) -> Vec<(Value, Value)> {
    let lines = world.metrics.lines().into_iter().filter(|line| !line[metric].is_null());
    lines.map(|line| (line["Command"].clone(), line[metric].clone())).collect()
}

/// The one value of a metric.
fn one(world: &World, metric: &str) -> Value {
    let [(_, value)] = all(world, metric).try_into().unwrap();
    value
}

#[tokio::test]
async fn a_batch_is_counted_by_type_and_by_how_its_commands_ended() {
    let world = World::new();
    world.done(&[follow("bob", "anna", AT), follow("eve", "anna", AT)]).await;
    world.done(&[publish("anna", "taken", AT)]).await;
    let before = world.metrics.lines().len();
    let bodies = [
        publish("anna", "live-1", AT).to_string(),
        publish("anna", "live-2", AT).to_string(),
        publish("anna", "old", "2026-10-20T00:00:00Z").to_string(),
        publish("eve", "taken", AT).to_string(),
        delete("anna", "nobody's").to_string(),
        delete("anna", "unheard-of").to_string(),
        "not json".to_owned(),
    ];
    let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
    let lines = &world.metrics.lines()[before..];
    let expected = [
        json!({"Command": "activity.deleted", "CommandsApplied": 1}),
        json!({"Command": "activity.published", "CommandsApplied": 2, "CommandsExpired": 1,
               "CommandsRefused": 1, "EntriesWritten": 4, "EntriesSent": 4,
               "FanOutSize": {"Values": [2, 2], "Counts": [1, 1]},
               "FanOutDuration": {"Values": [0, 0], "Counts": [1, 1]},
               "FanOutLatency": {"Values": [30_000, 30_000], "Counts": [1, 1]}}),
        json!({"Command": "unknown", "CommandsRefused": 2}),
    ];
    assert_eq!(lines.len(), expected.len(), "one for each type: {lines:#?}");
    for (line, expected) in lines.iter().zip(&expected) {
        let mut line = line.clone();
        let about = line.as_object_mut().unwrap().remove("_aws").unwrap();
        assert_eq!(line.as_object_mut().unwrap().remove("Stage"), Some(json!("test")));
        assert_eq!(line, *expected);
        let [directive] = about["CloudWatchMetrics"].as_array().unwrap().as_slice() else {
            unreachable!("{about}")
        };
        assert_eq!(directive["Namespace"], "Nagare");
        assert_eq!(directive["Dimensions"], json!([["Stage", "Command"], ["Stage"]]));
    }
}

#[tokio::test]
async fn metrics_have_units() {
    let world = World::new();
    world.done(&[follow("bob", "anna", AT), publish("anna", "live-1", AT)]).await;
    world.ids("bob", "").await;
    let mut units = Vec::new();
    for line in world.metrics.lines() {
        units.extend(line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap().clone());
    }
    let unit = |name: &str| &units.iter().find(|one| one["Name"] == name).unwrap()["Unit"];
    assert_eq!(*unit("EntriesWritten"), "Count");
    for name in ["FanOutDuration", "FanOutLatency", "PageLatency"] {
        assert_eq!(*unit(name), "Milliseconds", "{name}");
    }
}

#[tokio::test]
async fn a_large_fan_out_is_counted_once_and_by_its_last_segment() {
    let world = with_followers(World::new()).await;
    world.done(&[publish("star", "live", "2026-11-20T11:59:58.000Z")]).await;
    assert_eq!(one(&world, "CommandsSplit"), 1);
    let segments = world.take_commands().await;
    let mut left = segments.clone();
    let last = left.pop().unwrap();
    world.writer.handle(event(left), soon()).await.unwrap();
    assert_eq!(all(&world, "FanOutLatency"), [], "a segment is missing");
    world.set_clock("2026-11-20T12:00:07.000Z");
    world.writer.handle(event([last]), soon()).await.unwrap();
    assert_eq!(one(&world, "FanOutSize"), FOLLOWERS as u64);
    assert_eq!(one(&world, "FanOutDuration"), 7_000);
    assert_eq!(one(&world, "FanOutLatency"), 9_000);
    // Neither a second delivery nor a second publish reports the end again.
    world.set_clock("2026-11-20T12:10:00.000Z");
    world.writer.handle(event(segments), soon()).await.unwrap();
    world.done(&[publish("star", "live", "2026-11-20T11:59:58.000Z")]).await;
    world.writer.handle(event(world.take_commands().await), soon()).await.unwrap();
    assert_eq!(one(&world, "FanOutLatency"), 9_000);
    let written: u64 = all(&world, "EntriesWritten").iter().map(|(_, n)| n.as_u64().unwrap()).sum();
    assert_eq!(written, FOLLOWERS as u64);
}

#[tokio::test]
async fn segments_that_erase_without_a_plan_end_nothing() {
    let world = with_followers(World::new()).await;
    world.done(&[publish("star", "live", NOW)]).await;
    let segments = world.take_commands().await;
    // The tombstone is there, but whoever set it died before it reached the followers.
    let body = delete("star", "live").to_string();
    let command = shared::command::Command::parse(&body, world.clock.now()).unwrap();
    let shared::command::Command::Delete(delete) = command else { unreachable!() };
    let (key, change) = delete.into();
    Activities::new(&world.tables.ledger).merge(&key, change, soon()).await.unwrap();
    let answer = world.writer.handle(event(segments), soon()).await.unwrap();
    assert_eq!(answer.batch_item_failures.len(), 0);
    assert_eq!(all(&world, "FanOutSize"), []);
}

#[tokio::test]
async fn a_publish_that_a_delete_overtook_is_counted_once() {
    let world = World::new();
    world.done(&[delete("anna", "live-1")]).await;
    for _ in 0..2 {
        world.done(&[publish("anna", "live-1", AT)]).await;
    }
    assert_eq!(one(&world, "CommandsSuppressed"), 1);
    // That of another actor has no effect, and what was published and then deleted came first.
    world.done(&[delete("eve", "live-2"), publish("anna", "live-2", AT)]).await;
    world.done(&[delete("anna", "live-2"), publish("anna", "live-2", AT)]).await;
    assert_eq!(one(&world, "CommandsSuppressed"), 1);
}

#[tokio::test]
async fn failures_are_counted_as_they_are_meant_to_end() {
    let nowhere = TableNames { ledger: "nowhere".to_owned(), ..nagare::local::schema::names() };
    let world = World::with_tables(&nowhere);
    let body = publish("anna", "live-1", AT).to_string();
    assert_eq!(world.write(&[&body], 1).await, [0]);
    assert_eq!(one(&world, "CommandsFailed"), 1);
    assert_eq!(world.write(&[&body], 5).await, [0_usize; 0]);
    assert_eq!(one(&world, "CommandsGivenUp"), 1);
    let (status, _, _) = world.get("/v1/timelines/bob", "").await;
    assert_eq!((status, all(&world, "Problems").len()), (200, 0), "an empty page needs no ledger");
}

#[tokio::test(start_paused = true)]
async fn what_a_command_that_fails_has_cost_is_counted() {
    let world = with_faults("throttles=100%");
    assert_eq!(world.write(&[&publish("anna", "live-1", AT).to_string()], 1).await, [0]);
    assert_eq!(one(&world, "CommandsFailed"), 1);
    assert!(one(&world, "CallsRetried").as_u64().unwrap() > 5);
}

#[tokio::test]
async fn pages_and_problems_are_counted() {
    let mut world = World::new();
    world.done(&[follow("bob", "anna", AT), publish("anna", "live-1", AT)]).await;
    let before = world.metrics.lines().len();
    world.ids("bob", "").await;
    world.get("/v1/timelines/bob", "limit=0").await;
    world.get("/", "").await;
    world.reader.authorization = timeline_reader::Authorization::Jwt;
    world.get("/v1/timelines/bob", "").await;
    let lines = &world.metrics.lines()[before..];
    let dimensions = |n: usize| &lines[n]["_aws"]["CloudWatchMetrics"][0]["Dimensions"];
    assert_eq!((&lines[0]["PagesServed"], &lines[0]["ItemsServed"]), (&json!(1), &json!(1)));
    assert!(lines[0]["PageLatency"].as_f64().unwrap() > 0.0);
    assert_eq!(*dimensions(0), json!([["Stage"]]));
    for (n, problem) in ["invalid-parameter", "not-found", "unauthenticated"].iter().enumerate() {
        let line = &lines[n + 1];
        assert_eq!((&line["Problem"], &line["Problems"]), (&json!(problem), &json!(1)));
        assert_eq!(*dimensions(n + 1), json!([["Stage", "Problem"], ["Stage"]]));
    }
    assert_eq!(lines.len(), 4);
}
