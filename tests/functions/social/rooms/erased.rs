//! What an erasure leaves of a person's messages: nothing, and nothing that was in flight brings them back.

use nagare_operator::erasure::Erasure;
use serde_json::{Value, json};
use shared::platform::values::ActorId;
use tests::World;

use super::{delete, ids, join, post};

fn ledger(world: &World) -> Vec<Value> {
    let request = json!({"TableName": "nagare-ledger"}).to_string();
    let (_, answer) = world.engine.call("Scan", request.as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["Items"].as_array().unwrap().clone()
}

pub(crate) fn erasure(world: &World, person: &str) -> Erasure {
    let (tables, retention) = (&world.tables, world.reader.retention);
    let (person, clock) = (ActorId::new(person).unwrap(), world.clock.clone());
    let facts_and_views = (&tables.facts, &tables.views);
    let timelines = tables.timelines.clone();
    Erasure::new(person, &tables.ledger, facts_and_views, timelines, retention, clock).unwrap()
}

#[tokio::test]
async fn erased_messages_stay_away_until_nothing_is_in_flight() {
    let world = World::new();
    let commands = [
        post("r", "a", "bob", 1),
        post("r", "b", "ann", 2),
        post("s", "c", "bob", 3),
        delete("s", "d", "bob"),
        join("r", "bob", 4),
        join("r", "ann", 4),
        // A room that is called as the person is.
        join("bob", "ann", 4),
        post("bob", "e", "ann", 5),
    ];
    world.done(&commands).await;
    let erasure = erasure(&world, "bob");
    let erased = erasure.run().await.unwrap();
    assert_eq!((erased.messages, erased.progress), (3, 1));
    assert_eq!(erasure.run().await.unwrap().messages, 0, "nothing is left to erase");
    let left = ledger(&world);
    assert!(!left.iter().any(|item| item.to_string().contains("of bob")), "{left:?}");
    let before = left.len();
    world.done(&commands).await;
    world.done(&[post("s", "d", "bob", 5), delete("r", "a", "bob")]).await;
    assert_eq!(ids(&world, "r", "viewer=ann").await, ["b"]);
    assert_eq!(ids(&world, "s", "").await, [""; 0]);
    assert_eq!(
        ledger(&world).len(),
        before + 1,
        "but the claim on d, which was deleted before it came"
    );
    assert_eq!(ids(&world, "bob", "viewer=ann").await, ["e"]);
    // The room stays private, and bob has left it.
    let (status, _, _) = world.get("/v1/rooms/r/messages", "viewer=bob").await;
    assert_eq!(status, 403);
    erasure.run().await.unwrap();
    world.engine.sweep(erasure.until().plus_millis(2_000)).unwrap();
    // But for the room that is called bob.
    let names_bob = |item: &Value| {
        let text = item.to_string().replace("room#bob", "").replace("said#bob#ann", "");
        text.replace("message#bob#e", "").replace("arrived#bob", "").contains("bob")
    };
    assert_eq!(ledger(&world).into_iter().filter(names_bob).collect::<Vec<_>>(), [json!(null); 0]);
    assert_eq!(ids(&world, "r", "viewer=ann").await, ["b"]);
}
