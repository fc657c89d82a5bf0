//! The row of how a viewer voted in a poll: its bound, and its erasure.

use serde_json::{Value, json};
use shared::platform::dynamo::Limits;
use shared::platform::dynamo::item::Item;
use shared::platform::dynamo::limits::item_bytes;
use shared::platform::values::Timestamp;
use shared::social::polls::keys;
use tests::{World, event, message, said, soon, unfinished};

use crate::platform::most_bytes;
use crate::platform::projecting::{everything, project, projecting, records};
use crate::social::rooms::erasure;

const OPENS: &str = "2026-11-20T11:00:00.000Z";

fn open(closes: &str) -> Value {
    json!({"type": "poll.opened", "poll_id": "p", "actor_id": "anna", "choices": ["red", "blue"],
        "opens_at": OPENS, "closes_at": closes})
}

/// The nth vote of somebody: at another instant, and for the other choice.
fn vote(viewer: &str, n: usize) -> Value {
    let at = OPENS.parse::<Timestamp>().unwrap().plus_millis(i64::try_from(n).unwrap() * 7);
    let choice = ["red", "blue"][n % 2];
    json!({"type": "vote.cast", "poll_id": "p", "viewer_id": viewer, "choice": choice, "at": at.to_string()})
}

/// Limits with which a row takes 288 bytes of votes: some 25.
fn small() -> World {
    let limits = Limits { row_bytes: 400, ..Limits::DYNAMODB };
    World::within(&limits, |inside| inside)
}

async fn row(world: &World, viewer: &str) -> Item {
    let key = keys::vote(&viewer.parse().unwrap(), &"p".parse().unwrap());
    world.tables.facts.table().get(key.into_item()).await.unwrap().unwrap().item
}

async fn shown(world: &World, viewer: &str) -> [Value; 3] {
    let (status, _, poll) = world.get("/v1/polls/p", &format!("viewer={viewer}")).await;
    assert_eq!(status, 200, "{poll}");
    let of = |place: usize| poll["choices"][place]["votes"].clone();
    [of(0), of(1), poll["vote"].clone()]
}

fn call(world: &World, operation: &str, request: &Value) {
    let (status, answer) = world.engine.call(operation, request.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
}

/// Sends votes one by one. The numbers of those that became dead letters.
async fn refused(world: &World, viewer: &str, votes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut refused = Vec::new();
    for n in votes {
        let body = vote(viewer, n).to_string();
        let answer = world.writer.handle(event(vec![message("m", &body, 1)]), soon()).await;
        assert_eq!(unfinished(&answer.unwrap()), [0_usize; 0]);
        let letters = world.take_dead_letters().await;
        let Some(letter) = letters.first() else { continue };
        assert_eq!(letter.body.as_deref(), Some(body.as_str()));
        refused.push(n);
    }
    refused
}

#[tokio::test]
async fn a_viewer_has_room_for_so_many_votes() {
    let world = small();
    for _ in 0..2 {
        assert_eq!(refused(&world, "bob", 0..10).await, [0_usize; 0]);
        assert_eq!(
            row(&world, "bob").await["bytes"].as_n().unwrap(),
            "115",
            "a repetition adds nothing"
        );
    }
    let refused_of = refused(&world, "bob", 0..60).await;
    // Red takes eleven bytes and blue twelve.
    assert_eq!(refused_of, (25..60).collect::<Vec<_>>());
    // What is there comes again, and is no failure. Others have room.
    assert_eq!(refused(&world, "bob", 0..25).await, [0_usize; 0]);
    assert_eq!(refused(&world, "eve", 50..51).await, [0_usize; 0]);
    world.done(&[open("2026-11-20T11:59:00.000Z")]).await;
    world.project("a").await;
    assert_eq!(shown(&world, "bob").await, [json!(2), json!(0), json!("red")]);
    // The end comes forward, and an earlier one counts again.
    let end = vote("bob", 24)["at"].clone();
    world
        .done(&[json!({"type": "poll.closed", "poll_id": "p", "actor_id": "anna", "at": end})])
        .await;
    world.project("a").await;
    assert_eq!(shown(&world, "bob").await, [json!(0), json!(1), json!("blue")]);
}

#[tokio::test]
async fn a_vote_that_has_no_room_says_so() {
    let world = small();
    refused(&world, "bob", 0..25).await;
    let body = vote("bob", 25).to_string();
    world.writer.handle(event(vec![message("m", &body, 1)]), soon()).await.unwrap();
    let [letter] = &world.take_dead_letters().await[..] else { panic!("one letter") };
    let attribute = |name: &str| letter.message_attributes[name].string_value.clone().unwrap();
    assert_eq!(attribute("nagare.reason"), "too-many-votes");
    assert_eq!(
        attribute("nagare.detail"),
        "viewer bob has changed their mind in poll p so often that this vote does not fit: all of them together have \
         room for 288 bytes"
    );
}

/// A batch with many votes of one viewer writes their row once, whichever of them are there already.
#[tokio::test]
async fn votes_of_one_row_are_recorded_together() {
    let world = World::new();
    for (at, rows, votes) in [(0..10, 1, 10), (5..15, 2, 15), (0..15, 2, 15)] {
        let bodies: Vec<_> = at.map(|n| vote("bob", n).to_string()).collect();
        let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
        assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
        assert_eq!(records(&world).len(), rows);
        assert_eq!(row(&world, "bob").await["votes"].as_ss().unwrap().len(), votes);
    }
}

/// However many wait, a write takes sixty-four of them.
#[tokio::test]
async fn a_write_takes_so_many_votes() {
    let world = World::new();
    let sent = (0..80).map(|n| {
        let message = message("m", &vote("bob", n).to_string(), 1);
        world.writer.handle(event(vec![message]), soon())
    });
    for answer in futures::future::join_all(sent).await {
        assert_eq!(unfinished(&answer.unwrap()), [0_usize; 0]);
    }
    assert_eq!(records(&world).len(), 2);
    assert_eq!(row(&world, "bob").await["votes"].as_ss().unwrap().len(), 80);
}

/// A withdrawal has room where no vote for a choice has any, also in a batch with those.
#[tokio::test]
async fn a_short_vote_has_room_beside_long_ones() {
    let world = small();
    let withdrawal = |n: usize| {
        let mut withdrawn = vote("bob", n);
        withdrawn["type"] = json!("vote.withdrawn");
        withdrawn.as_object_mut().unwrap().remove("choice");
        withdrawn
    };
    world.done(&[withdrawal(100)]).await;
    // Six for red and seventeen for blue: nine bytes are left.
    let votes = (0..12).step_by(2).chain((1..34).step_by(2));
    assert_eq!(refused(&world, "bob", votes).await, [0_usize; 0]);
    assert_eq!(row(&world, "bob").await["bytes"].as_n().unwrap(), "279");
    let withdrawn = withdrawal(101);
    let bodies = [vote("bob", 40), withdrawn, vote("bob", 42)].map(|it| it.to_string());
    world.write(&bodies.each_ref().map(String::as_str), 1).await;
    assert_eq!(world.take_dead_letters().await.len(), 2);
    assert_eq!(row(&world, "bob").await["bytes"].as_n().unwrap(), "288");
}

/// Whoever writes at the same time, nothing in flight comes on top.
#[tokio::test]
async fn votes_at_the_same_time_keep_to_the_bound() {
    let world = small();
    let sent = (0..80).map(|n| {
        let message = message("m", &vote("bob", n % 40).to_string(), 1);
        world.writer.handle(event(vec![message]), soon())
    });
    for answer in futures::future::join_all(sent).await {
        assert_eq!(unfinished(&answer.unwrap()), [0_usize; 0]);
    }
    let row = row(&world, "bob").await;
    let length: usize = row["votes"].as_ss().unwrap().iter().map(String::len).sum();
    assert!((277..=288).contains(&length), "{length}");
    assert_eq!(row["bytes"].as_n().unwrap(), &length.to_string());
}

/// Real limits: the row, the change that waits for its poll, and the one that comes back are below their bounds.
#[tokio::test]
async fn a_change_of_a_full_row_comes_back() {
    let world = World::new();
    let elements: Vec<_> = (0_u64..5_239).map(|n| format!("0{n:07}~")).collect();
    assert_eq!(elements.iter().map(String::len).sum::<usize>(), 47_151);
    let full = json!({"pk": {"S": "votes#bob"}, "sk": {"S": "p"}, "votes": {"SS": elements}, "bytes": {"N": "47151"}});
    call(&world, "PutItem", &json!({"TableName": "nagare-facts", "Item": full}));
    let withdrawn =
        json!({"type": "vote.withdrawn", "poll_id": "p", "viewer_id": "bob", "at": OPENS});
    world.done(&[withdrawn]).await;
    assert_eq!(refused(&world, "bob", 1..2).await, [1]);
    assert!(item_bytes(&row(&world, "bob").await) < most_bytes("facts: votes"));
    let change = records(&world).split_off(1);
    project(&world, "a", &change).await;
    let views = everything(world.tables.views.table()).await;
    assert!(
        views
            .iter()
            .map(item_bytes)
            .all(|bytes| bytes < most_bytes("views: poll's waiting changes"))
    );
    // The same change into a view that cannot be read.
    call(
        &world,
        "PutItem",
        &json!({"TableName": "nagare-views", "Item": {"pk": {"S": "poll#p"}, "sk": {"S": "poll"},
        "version": {"N": "1"}, "choices": {"S": "no list"}}}),
    );
    project(&world, "b", &change).await;
    let [letter] = &world.take_dead_letters().await[..] else { panic!("one letter") };
    let command = said(letter.body.as_deref().unwrap());
    for image in ["before", "after"] {
        assert!(command[image].is_object(), "{image} is there");
    }
    world.alerter.handle(event(vec![letter.clone()]), soon()).await.unwrap();
    let [kept] = &world.kept_letters().await[..] else { panic!("one letter") };
    let kept = world.tables.dead_letters.get(&kept.id).await.unwrap().unwrap();
    nagare_operator::letters::redrive(&world.tables.dead_letters, &world.sender, &kept)
        .await
        .unwrap();
    let answer = world.writer.handle(event(world.take_commands().await), soon()).await.unwrap();
    assert_eq!(unfinished(&answer), [0_usize; 0]);
    let facts = everything(world.tables.facts.table()).await;
    let brought_back = |item: &&Item| item["pk"].as_s().unwrap().starts_with("changed#");
    let bytes = facts.iter().find(brought_back).map(item_bytes).unwrap();
    assert!((120_000..most_bytes("facts: changed")).contains(&bytes), "{bytes}");
}

/// Votes from before the erasure are no longer recorded, and the row begins again with later ones.
#[tokio::test]
async fn an_erased_row_begins_again() {
    let world = World::new();
    world.done(&[open("2026-11-20T12:30:00.000Z")]).await;
    assert_eq!(refused(&world, "bob", 150..170).await, [0_usize; 0]);
    assert_eq!(row(&world, "bob").await.len(), 2 + 3);
    world.project("a").await;
    assert_eq!(shown(&world, "bob").await, [json!(0), json!(1), json!("blue")]);
    projecting(&world, erasure(&world, "bob").run()).await.unwrap();
    world.project("a").await;
    assert_eq!(refused(&world, "bob", 160..180).await, [0_usize; 0]);
    let mut names: Vec<_> = row(&world, "bob").await.into_keys().collect();
    names.sort_unstable();
    assert_eq!(names, ["erased_at", "forget_at", "pk", "sk"], "votes from before it write nothing");
    let later = world.clock.now().plus_millis(60_000).to_string();
    let mut vote = vote("bob", 0);
    vote["at"] = json!(later);
    world.done(&[vote]).await;
    world.project("a").await;
    let row = row(&world, "bob").await;
    assert_eq!(row["bytes"].as_n().unwrap(), "11");
    assert!(!row.contains_key("forget_at"));
    assert_eq!(shown(&world, "bob").await, [json!(1), json!(0), json!("red")]);
}
