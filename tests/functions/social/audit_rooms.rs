//! Audits of rooms find rows that are not what was claimed, and repair them as the claims and the deletes say.

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_local::faults::Faulty;
use nagare_operator::audit::{RoomDifference, RoomsAuditor, Sample};
use serde_json::{Value, json};
use shared::platform::dynamo::item::{Item, number, text, truth};
use shared::platform::ledger::LedgerKey;
use shared::platform::values::{MessageId, RoomId, ViewerId};
use shared::social::rooms::{Reason, Rooms, keys};
use tests::World;

use crate::social::rooms::{delete, ids, instant, join, post};

fn room(id: &str) -> RoomId {
    RoomId::new(id).unwrap()
}

fn auditor(world: &World) -> RoomsAuditor {
    RoomsAuditor::new(&world.tables.ledger, world.clock.clone())
}

async fn differences(world: &World, rooms: &[&str]) -> Vec<RoomDifference> {
    let rooms: Vec<_> = rooms.iter().map(|id| room(id)).collect();
    auditor(world).differences(&rooms).await.unwrap()
}

/// What is wrong with rows: the message, and whether it is in its shard or under its author, and why.
fn rows(differences: &[RoomDifference]) -> Vec<(&str, char, Reason)> {
    let rows = differences.iter().filter_map(|difference| match difference {
        RoomDifference::Row { message_id, reason, pk, .. } => {
            Some((message_id.as_str(), pk.chars().next().unwrap(), *reason))
        }
        _ => None,
    });
    rows.collect()
}

/// Where a message of bob's is, in its shard of a room with one, and by its author.
fn places(id: &str, minute: u32) -> [LedgerKey; 2] {
    let sk = format!("{}#{id}", instant(minute));
    ["room#r#0", "said#r#bob"].map(|pk| LedgerKey { pk: pk.to_owned(), sk: sk.clone() })
}

fn said(author: &str, id: &str) -> Item {
    let payload = json!({"text": format!("{id} of bob")}).to_string();
    Item::from([
        ("author_id".to_owned(), text(author)),
        ("payload".to_owned(), text(payload)),
        ("arrived".to_owned(), number(64)),
    ])
}

fn tombstone() -> Item {
    Item::from([
        ("deleted".to_owned(), truth(true)),
        ("forget_at".to_owned(), number(4_000_000_000_i64)),
    ])
}

/// A room in which bob has said m1 to m9 and deleted m9, and what makes no difference.
async fn a_room() -> World {
    let world = World::new();
    for n in 1..10 {
        world.done(&[post("r", &format!("m{n}"), "bob", n)]).await;
    }
    world
        .done(&[delete("r", "m9", "bob"), delete("r", "m1", "eve"), delete("r", "never", "bob")])
        .await;
    world.done(&[delete("r", "ahead", "bob"), post("r", "ahead", "bob", 20)]).await;
    world.done(&[join("r", "ann", 1), post("s", "m1", "ann", 1)]).await;
    world
}

#[tokio::test]
async fn nothing_is_found_where_commands_did_it_all() {
    let world = a_room().await;
    assert_eq!(differences(&world, &["r", "s", "nowhere"]).await, []);
    assert_eq!(differences(&world, &["r"]).await, []);
    // What was deleted long ago has left nothing but its marker.
    world.engine.sweep("2026-12-20T12:00:00.000Z".parse().unwrap()).unwrap();
    assert_eq!(differences(&world, &["r"]).await, []);
}

#[tokio::test]
async fn what_is_wrong_is_found_and_repaired_as_the_claims_say() {
    let world = a_room().await;
    let ledger = &world.tables.ledger;
    let before = ids(&world, "r", "viewer=ann").await;
    let put = async |key: &LedgerKey, item| ledger.put(key.clone(), item).await.unwrap();
    let remove = async |key: &LedgerKey| ledger.delete(key.clone()).await.unwrap();
    remove(&places("m1", 1)[0]).await;
    remove(&places("m2", 2)[1]).await;
    put(&places("m3", 3)[0], said("bob", "something else")).await;
    put(&places("m4", 4)[1], said("eve", "m4")).await;
    put(&places("m5", 5)[0], tombstone()).await;
    let elsewhere = LedgerKey { pk: "room#r#3".to_owned(), ..places("m6", 6)[0].clone() };
    put(&elsewhere, said("bob", "m6")).await;
    remove(&places("m7", 7)[0]).await;
    let misplaced = LedgerKey { pk: "room#r#9".to_owned(), ..places("m7", 7)[0].clone() };
    put(&misplaced, said("bob", "m7")).await;
    remove(&places("m7", 7)[1]).await;
    for place in &places("m9", 9) {
        put(place, said("bob", "m9")).await;
    }
    put(&places("forged", 11)[0], said("bob", "forged")).await;
    // Of another instant than it was claimed for.
    put(&places("m8", 12)[0], said("bob", "m8")).await;
    let found = differences(&world, &["r"]).await;
    let expected = [
        ("forged", 'r', Reason::Unclaimed),
        ("m1", 'r', Reason::Absent),
        ("m2", 's', Reason::Absent),
        ("m3", 'r', Reason::Payload),
        ("m4", 's', Reason::Author),
        ("m5", 'r', Reason::Hidden),
        ("m6", 'r', Reason::Misplaced),
        ("m7", 'r', Reason::Absent),
        ("m7", 's', Reason::Absent),
        ("m7", 'r', Reason::Misplaced),
        ("m8", 'r', Reason::Unclaimed),
        ("m9", 'r', Reason::Deleted),
        ("m9", 's', Reason::Deleted),
    ];
    assert_eq!(rows(&found), expected);
    assert_eq!(rows(&differences(&world, &["s", "r"]).await), expected, "several at once");
    auditor(&world).repair(&found).await.unwrap();
    assert_eq!(differences(&world, &["r"]).await, []);
    assert_eq!(ids(&world, "r", "viewer=ann").await, before);
    assert_eq!(ids(&world, "r", "author=bob&viewer=ann").await, before);
    // What was repaired takes the next command as if nothing had been.
    world
        .done(&[delete("r", "m5", "bob"), delete("r", "m7", "bob"), post("r", "forged", "ann", 11)])
        .await;
    assert_eq!(ids(&world, "r", "viewer=ann").await.join(" "), "forged m8 m6 m4 m3 m2 m1");
    assert_eq!(differences(&world, &["r"]).await, []);
}

/// Nobody knows any more what it said.
#[tokio::test]
async fn a_message_that_no_row_says_is_left_until_it_is_sent_again() {
    let world = a_room().await;
    for place in places("m3", 3) {
        world.tables.ledger.delete(place).await.unwrap();
    }
    let [shard, _] = places("m4", 4);
    world.tables.ledger.put(shard, said("bob", "another")).await.unwrap();
    let [_, authors] = places("m4", 4);
    world.tables.ledger.delete(authors).await.unwrap();
    let found = differences(&world, &["r"]).await;
    let expected = [
        ("m3", 'r', Reason::Absent),
        ("m3", 's', Reason::Absent),
        ("m4", 's', Reason::Absent),
        ("m4", 'r', Reason::Payload),
    ];
    assert_eq!(rows(&found), expected);
    auditor(&world).repair(&found).await.unwrap();
    assert_eq!(differences(&world, &["r"]).await, found);
    world.done(&[post("r", "m3", "bob", 3), post("r", "m4", "bob", 4)]).await;
    assert_eq!(rows(&differences(&world, &["r"]).await), [("m4", 'r', Reason::Payload)]);
    auditor(&world).repair(&found).await.unwrap();
    assert_eq!(differences(&world, &["r"]).await, []);
}

#[tokio::test]
async fn a_room_has_the_shards_and_the_members_that_it_needs() {
    let world = a_room().await;
    let ledger = &world.tables.ledger;
    let claim = keys::claim(&room("r"), &MessageId::new("m1").unwrap());
    let claimed = Item::from([
        ("author_id".to_owned(), text("bob")),
        ("at".to_owned(), text(instant(30))),
        ("shards".to_owned(), number(4)),
        ("digest".to_owned(), text("0")),
    ]);
    let other = keys::claim(&room("r"), &MessageId::new("m").unwrap());
    ledger.put(other, claimed).await.unwrap();
    ledger.delete(keys::room(&room("r"))).await.unwrap();
    assert!(ledger.get(claim).await.unwrap().is_some());
    let found = differences(&world, &["r"]).await;
    let of_room: Vec<_> =
        found.iter().filter(|one| !matches!(one, RoomDifference::Row { .. })).collect();
    let room_id = room("r");
    let shards = RoomDifference::Shards { room_id: room_id.clone(), shards: 1, needed: 4 };
    assert_eq!(of_room, [&shards, &RoomDifference::Open { room_id, open: true }]);
    auditor(&world).repair(&found).await.unwrap();
    let left = differences(&world, &["r"]).await;
    assert_eq!(rows(&left).len(), left.len());
    assert_eq!(world.get("/v1/rooms/r/messages", "viewer=eve").await.0, 403);
}

/// What an erasure has left of a message is no difference, and a row that came back is removed.
#[tokio::test]
async fn what_was_erased_stays_away() {
    let world = a_room().await;
    crate::social::rooms::erasure(&world, "bob").run().await.unwrap();
    assert_eq!(differences(&world, &["r"]).await, []);
    let [shard, authors] = places("m2", 2);
    world.tables.ledger.put(shard, said("bob", "m2")).await.unwrap();
    let found = differences(&world, &["r"]).await;
    assert_eq!(rows(&found), [("m2", 'r', Reason::Deleted)]);
    auditor(&world).repair(&found).await.unwrap();
    assert_eq!(differences(&world, &["r"]).await, []);
    world.tables.ledger.put(authors, said("bob", "m2")).await.unwrap();
    assert_eq!(ids(&world, "r", "viewer=ann").await, [""; 0]);
}

/// The break that is looked for: a repair that acts on what it read, and removes what was claimed since.
#[tokio::test]
async fn what_comes_meanwhile_is_not_taken_out() {
    let world = a_room().await;
    let (ledger, rooms) = (&world.tables.ledger, Rooms::new(&world.tables.ledger));
    let read = async |id: &str, key: &LedgerKey| {
        let message = MessageId::new(id).unwrap();
        let record = rooms.on_record(&room("r"), &message, [key.clone()]).await.unwrap();
        (message, record)
    };
    let [new, _] = places("new", 11);
    ledger.put(new.clone(), said("bob", "new")).await.unwrap();
    let (message, record) = read("new", &new).await;
    world.done(&[post("r", "new", "bob", 11)]).await;
    let now = world.clock.now();
    rooms.repair_message(&room("r"), &message, &record, now).await.unwrap();
    // Hidden when it was read, and deleted since.
    let [hidden, _] = places("m2", 2);
    ledger.put(hidden.clone(), tombstone()).await.unwrap();
    let (message, record) = read("m2", &hidden).await;
    world.done(&[delete("r", "m2", "bob")]).await;
    rooms.repair_message(&room("r"), &message, &record, now).await.unwrap();
    // Missing when it was read, and deleted since.
    let [missing, _] = places("m3", 3);
    ledger.delete(missing.clone()).await.unwrap();
    let (message, record) = read("m3", &missing).await;
    world.done(&[delete("r", "m3", "bob")]).await;
    rooms.repair_message(&room("r"), &message, &record, now).await.unwrap();
    assert_eq!(ids(&world, "r", "viewer=ann").await.join(" "), "new m8 m7 m6 m5 m4 m1");
    assert_eq!(differences(&world, &["r"]).await, []);
}

/// Many messages in many shards.
#[tokio::test(start_paused = true)]
async fn a_busy_room_is_compared_shard_by_shard() {
    let faults = "partition-writes=20".parse().unwrap();
    let world = World::behind(move |inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    let commands: Vec<Value> =
        (0..100).map(|n| post("r", &format!("m{n}"), "bob", n % 60)).collect();
    let bodies: Vec<_> = commands.iter().map(ToString::to_string).collect();
    let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
    for some in bodies.chunks(25) {
        assert_eq!(world.write(some, 1).await, [0_usize; 0]);
    }
    assert_eq!(differences(&world, &["r"]).await, []);
    let (ledger, rooms) = (&world.tables.ledger, Rooms::new(&world.tables.ledger));
    let mut removed = Vec::new();
    for n in (0..100).step_by(7) {
        let message = MessageId::new(format!("m{n}")).unwrap();
        let claimed = rooms.claimed(&room("r"), &message).await.unwrap().unwrap();
        assert_eq!(claimed.author_id, ViewerId::new("bob").unwrap());
        let [row, _] = claimed.rows(&room("r"), &message);
        removed.push(row.pk.clone());
        ledger.delete(row).await.unwrap();
    }
    let found = differences(&world, &["r"]).await;
    assert_eq!(found.len(), removed.len());
    removed.sort();
    removed.dedup();
    assert!(removed.len() > 1, "{removed:?}");
    auditor(&world).repair(&found).await.unwrap();
    assert_eq!(differences(&world, &["r"]).await, []);
    assert_eq!(ids(&world, "r", "limit=100").await.len(), 100);
}

#[tokio::test]
async fn rooms_are_picked_from_all_in_which_something_was_said() {
    let world = a_room().await;
    world.done(&[join("silent", "bob", 1)]).await;
    let tables = &world.tables;
    for (size, expected) in [(0, 0), (1, 1), (5, 2)] {
        let sample = Sample::draw(&tables.facts, &tables.ledger, size).await.unwrap();
        assert_eq!(sample.rooms.len(), expected, "{:?}", sample.rooms);
    }
}
