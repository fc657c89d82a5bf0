//! The ledger is restored, made again under the same name, or read by an older version, under functions that are warm.

use serde_json::{Value, json};
use tests::World;

use super::{delete, ids, join, post, walk};

fn call(world: &World, operation: &str, mut request: Value) -> Value {
    request["TableName"] = json!("nagare-ledger");
    let (status, answer) = world.engine.call(operation, request.to_string().as_bytes());
    assert_eq!(status, 200, "{operation}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

fn items(world: &World) -> Vec<Value> {
    call(world, "Scan", json!({}))["Items"].as_array().unwrap().clone()
}

/// Has the ledger say what it said once; with nothing, it is a new table.
fn restore(world: &World, to: &[Value]) {
    for item in items(world) {
        call(world, "DeleteItem", json!({"Key": {"pk": item["pk"], "sk": item["sk"]}}));
    }
    for item in to {
        call(world, "PutItem", json!({"Item": item}));
    }
}

fn secret(id: &str, minute: u32) -> Value {
    let mut post = post("r", id, "bob", minute);
    post["private"] = json!(true);
    post
}

/// Whether somebody who is not in the room reads it.
async fn status(world: &World, viewer: &str) -> i64 {
    world.get("/v1/rooms/r/messages", &format!("viewer={viewer}")).await.0
}

#[tokio::test]
async fn a_room_becomes_private_again_after_a_restore() {
    for is_new in [false, true] {
        for again in [secret("c", 3), secret("b", 2), join("r", "ann", 4)] {
            let world = World::new();
            world.done(&[post("r", "a", "bob", 1)]).await;
            let before = if is_new { Vec::new() } else { items(&world) };
            // Writer and readers have seen it private, by both ways.
            world.done(&[secret("b", 2), join("r", "ann", 3)]).await;
            assert_eq!((status(&world, "eve").await, status(&world, "ann").await), (403, 200));
            restore(&world, &before);
            assert_eq!(status(&world, "eve").await, 200, "the table does not say so any more");
            world.done(std::slice::from_ref(&again)).await;
            assert_eq!(status(&world, "eve").await, 403, "{again}");
            world.done(&[join("r", "ann", 5)]).await;
            assert_eq!(status(&world, "ann").await, 200, "{again}");
        }
    }
}

/// Messages go to shards that readers know, whatever number either of them has seen.
#[tokio::test]
async fn a_room_has_the_shards_that_its_table_says() {
    for is_new in [false, true] {
        let world = World::new();
        world.done(&[post("r", "a", "bob", 1)]).await;
        let before = if is_new { Vec::new() } else { items(&world) };
        call(
            &world,
            "UpdateItem",
            json!({
                "Key": {"pk": {"S": "room#r"}, "sk": {"S": "room"}},
                "UpdateExpression": "SET shards = :eight",
                "ExpressionAttributeValues": {":eight": {"N": "8"}},
            }),
        );
        let many = |from: u32| (from..from + 20).map(|n| post("r", &format!("m{n}"), "bob", n + 2));
        world.done(&many(0).collect::<Vec<_>>()).await;
        assert_eq!(walk(&world, "r", "", 7).await.len(), 21);
        let cursor =
            super::page(&world, "r", "").await["newer_cursor"].as_str().unwrap().to_owned();
        restore(&world, &before);
        world.done(&many(20).collect::<Vec<_>>()).await;
        let expected: Vec<_> = (20..40).map(|n| format!("m{n}")).collect();
        let mut found = walk(&world, "r", "order=oldest", 7).await;
        found.retain(|id| id != "a");
        assert_eq!(found, expected);
        // What a client followed is gone, and it is told something that it can go on with.
        let (status, _, page) =
            world.get("/v1/rooms/r/messages", &format!("cursor={cursor}")).await;
        assert_eq!(status, 200, "{page}");
        assert!(page["newer_cursor"].is_string(), "{page}");
        // What is deleted now is hidden where readers look.
        world.done(&[delete("r", "m25", "bob")]).await;
        assert!(!ids(&world, "r", "limit=100").await.contains(&"m25".to_owned()));
    }
}

/// What another version has put into the rows of a room and of its messages.
#[tokio::test]
async fn an_older_version_keeps_what_it_does_not_know_of_a_room() {
    let world = World::new();
    world.done(&[post("r", "a", "bob", 1)]).await;
    for mut item in items(&world) {
        item["of_tomorrow"] = json!({"S": "kept"});
        call(&world, "PutItem", json!({"Item": item}));
    }
    let known: Vec<_> =
        items(&world).iter().map(|item| (item["pk"].clone(), item["sk"].clone())).collect();
    world.done(&[secret("b", 3), join("r", "ann", 5), post("r", "a", "bob", 1)]).await;
    assert_eq!(status(&world, "eve").await, 403);
    let gone: Vec<_> = items(&world)
        .into_iter()
        .filter(|item| known.contains(&(item["pk"].clone(), item["sk"].clone())))
        .filter(|item| item["of_tomorrow"]["S"] != "kept")
        .map(|item| item["pk"]["S"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(gone, [""; 0]);
}
