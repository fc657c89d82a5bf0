//! A busy room: it is spread over shards, and read as one list.

use std::collections::BTreeSet;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_local::faults::Faulty;
use serde_json::{Value, json};
use tests::World;

use super::{delete, ids, instant, join, page, post, walk};

/// A world in which a partition takes few writes a second.
fn narrow() -> World {
    let faults = "partition-writes=20".parse().unwrap();
    World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)))
}

fn said(n: usize) -> Value {
    let mut post =
        post("r", &format!("m{n:04}"), if n.is_multiple_of(3) { "ann" } else { "bob" }, 1);
    post["at"] = json!(format!("2026-11-20T11:00:00.{:03}Z", n % 1000));
    post
}

fn id(n: usize) -> String {
    format!("m{n:04}")
}

/// The shards that hold something, of a room.
fn shards(world: &World, room: &str) -> BTreeSet<String> {
    let request = json!({"TableName": "nagare-ledger"}).to_string();
    let (_, answer) = world.engine.call("Scan", request.as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let items = answer["Items"].as_array().unwrap().iter();
    let prefix = format!("room#{room}#");
    items
        .filter_map(|item| Some(item["pk"]["S"].as_str()?.strip_prefix(&prefix)?.to_owned()))
        .collect()
}

/// Gives the writer commands, many at once.
async fn write_at_once(world: &World, commands: impl Iterator<Item = Value>) {
    let bodies: Vec<_> = commands.map(|command| command.to_string()).collect();
    let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_busy_room_is_spread_and_read_in_order() {
    let world = narrow();
    world.done(&[said(0)]).await;
    for some in [1..60, 60..120] {
        write_at_once(&world, some.map(said)).await;
    }
    let spread = shards(&world, "r");
    assert!(spread.len() > 1, "{spread:?}");
    write_at_once(&world, (120..180).map(said)).await;
    let newest: Vec<_> = (0..180).rev().map(id).collect();
    let oldest: Vec<_> = (0..180).map(id).collect();
    for limit in [1, 7, 100] {
        assert_eq!(walk(&world, "r", "", limit).await, newest);
        assert_eq!(walk(&world, "r", "order=oldest", limit).await, oldest);
    }
    let of_ann: Vec<_> = (0..180).rev().filter(|n: &usize| n.is_multiple_of(3)).map(id).collect();
    assert_eq!(walk(&world, "r", "author=ann", 7).await, of_ann);
    let query = "from=2026-11-20T11:00:00.050Z&to=2026-11-20T11:00:00.060Z&order=oldest";
    assert_eq!(ids(&world, "r", query).await, (50..60).map(id).collect::<Vec<_>>());
}

/// The break that is looked for: a message lost between two shards.
#[tokio::test(start_paused = true)]
async fn what_was_said_before_the_room_grew_is_found_by_everybody() {
    let world = narrow();
    // Claimed and written while there was one shard.
    world.done(&[said(0), said(1)]).await;
    // Those that come at once are spread by what the room had before them.
    for some in [2..30, 30..60] {
        write_at_once(&world, some.map(said)).await;
    }
    assert!(shards(&world, "r").len() > 1);
    // Delivered again, and deleted: each finds the row where it was put.
    world.done(&[said(0), said(1), said(30)]).await;
    world.done(&[delete("r", &id(0), "ann"), delete("r", &id(31), "bob")]).await;
    let expected: Vec<_> = (0..60).filter(|n| ![0, 31].contains(n)).map(id).collect();
    assert_eq!(walk(&world, "r", "order=oldest", 9).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_busy_room_can_be_followed() {
    let world = narrow();
    write_at_once(&world, (0..60).map(said)).await;
    let newest = page(&world, "r", "limit=20").await;
    let mut newer = newest["newer_cursor"].as_str().unwrap().to_owned();
    let mut seen = Vec::new();
    write_at_once(&world, (60..100).map(said)).await;
    loop {
        let page = page(&world, "r", &format!("limit=9&cursor={newer}")).await;
        let items = super::ids_of(&page);
        newer = page["newer_cursor"].as_str().unwrap().to_owned();
        if items.is_empty() {
            break;
        }
        seen.extend(items);
    }
    seen.sort();
    assert_eq!(seen, (60..100).map(id).collect::<Vec<_>>());
}

/// A join does not shrink a room, and growth does not open one.
#[tokio::test(start_paused = true)]
async fn a_room_is_private_and_busy() {
    let world = narrow();
    write_at_once(&world, (0..40).map(said)).await;
    world.done(&[join("r", "bob", 5)]).await;
    write_at_once(&world, (40..100).map(said)).await;
    let (status, _, _) = world.get("/v1/rooms/r/messages", "viewer=eve").await;
    assert_eq!(status, 403);
    let all = walk(&world, "r", &format!("viewer=bob&to={}", instant(59)), 50).await;
    assert_eq!(all.len(), 100);
}
