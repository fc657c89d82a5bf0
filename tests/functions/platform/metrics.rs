//! What is counted, and what the numbers mean.

use std::collections::BTreeSet;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use function_http::reader::METRICS_PAGES;
use nagare_client::tables::TableNames;
use nagare_local::faults::Faulty;
use nagare_operator::cost::bill::METRICS;
use serde_json::{Value, json};
use shared::platform::dynamo::Usage;
use shared::platform::values::{ActorId, Timestamp, ViewerId};
use shared::social::activities::Activities;
use shared::social::timelines::EntryWrite;
use tests::{NOW, World, delete, event, follow, publish, soon};

use crate::social::split::{FOLLOWERS, with_followers};

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
        let dynamo = world.tables.dynamo.for_work(soon());
        let timelines = world.tables.timelines.over(&dynamo);
        timelines.write(puts, soon()).await.unwrap().whole().unwrap();
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

/// The values of a metric, one of each record in which it is.
fn all(world: &World, metric: &str) -> Vec<Value> {
    let values = world.metrics.lines().into_iter().map(|mut line| line[metric].take());
    values.filter(|value| !value.is_null()).collect()
}

/// The one value of a metric.
fn one(world: &World, metric: &str) -> Value {
    let [value] = all(world, metric).try_into().unwrap();
    value
}

#[tokio::test]
async fn a_batch_is_counted_once_by_how_its_commands_ended() {
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
    let [line] = &world.metrics.lines()[before..] else { unreachable!("one for all of it") };
    let mut line = line.clone();
    let about = line.as_object_mut().unwrap().remove("_aws").unwrap();
    let expected = json!({"Stage": "test", "CommandsApplied": 3, "CommandsExpired": 1,
        "CommandsRefused": 3, "CommandsUnreadable": 1, "EntriesWritten": 4,
        "FanOutDuration": {"Values": [0.0], "Counts": [2]},
        "FanOutLatency": {"Values": [30_000.0], "Counts": [2]}});
    assert_eq!(line, expected);
    let [directive] = about["CloudWatchMetrics"].as_array().unwrap().as_slice() else {
        unreachable!("{about}")
    };
    assert_eq!(directive["Namespace"], "Nagare");
    assert_eq!(directive["Dimensions"], json!([["Stage"]]));
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
    assert_eq!(all(&world, "FanOutLatency").len(), 0, "a segment is missing");
    world.set_clock("2026-11-20T12:00:07.000Z");
    world.writer.handle(event([last]), soon()).await.unwrap();
    assert_eq!(one(&world, "FanOutDuration"), 7_000.0);
    assert_eq!(one(&world, "FanOutLatency"), 9_000.0);
    // Neither a second delivery nor a second publish reports the end again.
    world.set_clock("2026-11-20T12:10:00.000Z");
    world.writer.handle(event(segments), soon()).await.unwrap();
    world.done(&[publish("star", "live", "2026-11-20T11:59:58.000Z")]).await;
    world.writer.handle(event(world.take_commands().await), soon()).await.unwrap();
    assert_eq!(one(&world, "FanOutLatency"), 9_000.0);
    let written: u64 = all(&world, "EntriesWritten").iter().map(|n| n.as_u64().unwrap()).sum();
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
    Activities::new(&world.tables.ledger).merge(&key, change).await.unwrap();
    let answer = world.writer.handle(event(segments), soon()).await.unwrap();
    assert_eq!(answer.batch_item_failures.len(), 0);
    assert_eq!(all(&world, "FanOutLatency").len(), 0);
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
    let nowhere = TableNames { ledger: "nowhere".to_owned(), ..nagare_local::schema::names() };
    let world = World::with_tables(&nowhere);
    let body = publish("anna", "live-1", AT).to_string();
    assert_eq!(world.write(&[&body], 1).await, [0]);
    assert_eq!(one(&world, "CommandsFailed"), 1);
    assert_eq!(world.write(&[&body], 5).await, [0_usize; 0]);
    assert_eq!(one(&world, "CommandsGivenUp"), 1);
    let (status, _, _) = world.get("/v1/timelines/bob", "").await;
    assert_eq!((status, all(&world, "Problems").len()), (503, 1), "who is hidden is not known");
}

#[tokio::test(start_paused = true)]
async fn what_a_command_that_fails_has_cost_is_counted() {
    let world = with_faults("throttles=100%");
    assert_eq!(world.write(&[&publish("anna", "live-1", AT).to_string()], 1).await, [0]);
    assert_eq!(one(&world, "CommandsFailed"), 1);
    assert!(one(&world, "CallsRetried").as_u64().unwrap() > 5);
}

#[tokio::test]
async fn a_page_after_a_while_and_every_problem_is_counted_at_once() {
    let mut world = World::new();
    world.done(&[follow("bob", "anna", AT), publish("anna", "live-1", AT)]).await;
    let before = world.metrics.lines().len();
    world.ids("bob", "").await;
    world.get("/v1/timelines/bob", "limit=0").await;
    world.get("/", "").await;
    world.set_authorization(function_http::Authorization::Jwt);
    world.get("/v1/timelines/bob", "").await;
    let [served, problems @ ..] = &world.metrics.lines()[before..] else { unreachable!() };
    let dimensions = |line: &Value| line["_aws"]["CloudWatchMetrics"][0]["Dimensions"].clone();
    assert!(served["PageLatency"].as_f64().unwrap() >= 0.0);
    assert_eq!(problems.len(), 3);
    for line in problems {
        assert_eq!((&line["Problems"], &line["PageLatency"]), (&json!(1), &Value::Null));
        assert_eq!(dimensions(line), json!([["Stage"]]));
    }
}

/// How many pages each line of metrics is about, and how many milliseconds after the world's beginning it says they
/// were served.
fn pages(world: &World) -> Vec<(u64, i64)> {
    let begun = NOW.parse::<Timestamp>().unwrap().unix_millis();
    let lines = world.metrics.lines().into_iter().filter(|line| !line["PageLatency"].is_null());
    let pages = |line: &Value| match line["PageLatency"]["Counts"].as_array() {
        Some(counts) => counts.iter().map(|count| count.as_u64().unwrap()).sum(),
        None => 1,
    };
    lines.map(|line| (pages(&line), line["_aws"]["Timestamp"].as_i64().unwrap() - begun)).collect()
}

#[tokio::test]
async fn pages_of_a_busy_reader_share_a_line() {
    let world = World::new();
    let read_at = async |millis: i64| {
        world.clock.set(NOW.parse::<Timestamp>().unwrap().plus_millis(millis));
        world.get("/v1/timelines/bob", "").await;
    };
    // The first is counted at once; those of the next seconds wait.
    for millis in [0, 1_000, 2_000, 9_000] {
        read_at(millis).await;
    }
    assert_eq!(pages(&world), [(1, 0)]);
    // With the next one after that they are counted, as of when they were served.
    read_at(600_000).await;
    assert_eq!(pages(&world)[1..], [(3, 9_000)]);
    // A problem does not wait, and nothing waits behind it.
    world.get("/v1/timelines/bob", "limit=0").await;
    assert_eq!(pages(&world)[2..], [(1, 600_000)]);
    // As many as there is room for.
    for _ in 0..METRICS_PAGES + 20 {
        read_at(601_000).await;
    }
    assert_eq!(pages(&world)[3..], [(METRICS_PAGES as u64, 601_000)]);
    read_at(620_000).await;
    assert_eq!(pages(&world)[4..], [(20, 601_000)]);
    // Whoever has nothing to do counts at once again.
    read_at(640_000).await;
    read_at(660_000).await;
    assert_eq!(pages(&world)[5..], [(1, 620_000), (1, 640_000)]);
}

#[tokio::test(start_paused = true)]
async fn repeated_reads_are_counted_at_once() {
    let world = with_faults("errors=30%");
    for _ in 0..30 {
        world.get("/v1/timelines/bob", "").await;
    }
    let lines = world.metrics.lines();
    let repeated = lines.iter().filter(|line| line["ReadsRetried"].as_u64() >= Some(1));
    let repeated = repeated.count();
    assert!(repeated > 5, "{lines:#?}");
}

/// What an ordinary month asks of the functions, and how many metrics CloudWatch then has: each name with each set
/// of dimensions and their values.
#[tokio::test]
async fn an_ordinary_month_has_as_many_metrics_as_the_estimate_says() {
    let world = with_followers(World::new()).await;
    let change = |kind: &str, more: Value| {
        let mut command = json!({"type": kind, "at": "2026-11-20T12:00:01Z"});
        command.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        command
    };
    world.done(&[follow("bob", "anna", AT), publish("anna", "live-1", AT)]).await;
    world.done(&[publish("anna", "live-2", AT), publish("star", "live-3", AT)]).await;
    world.writer.handle(event(world.take_commands().await), soon()).await.unwrap();
    world
        .done(&[
            change(
                "activity.updated",
                json!({"activity_id": "live-1", "actor_id": "anna", "payload": 1}),
            ),
            delete("anna", "live-2"),
            change("profile.updated", json!({"viewer_id": "bob", "payload": {"name": "Bob"}})),
            change("follow.deleted", json!({"follower_id": "bob", "followee_id": "star"})),
        ])
        .await;
    world.ids("bob", "").await;
    for (path, query) in [("timelines/bob", "limit=0"), ("profiles/bob", ""), ("profiles/eve", "")]
    {
        world.get(&format!("/v1/{path}"), query).await;
    }
    let mut metrics = BTreeSet::new();
    for line in world.metrics.lines() {
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        for set in directive["Dimensions"].as_array().unwrap() {
            let values = set.as_array().unwrap().iter().map(|name| &line[name.as_str().unwrap()]);
            let values = values.map(Value::to_string).collect::<Vec<_>>().join(", ");
            for metric in directive["Metrics"].as_array().unwrap() {
                metrics.insert(format!("{} by {set}: {values}", metric["Name"]));
            }
        }
    }
    assert_eq!(metrics.len() as f64, METRICS, "{metrics:#?}");
}
