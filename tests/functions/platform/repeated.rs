//! One person repeats commands: a repetition finds that all is done, those of one batch are applied once, and what is too much gives way
//! to others.

use std::sync::{Arc, Mutex};

use aws_lambda_events::event::sqs::SqsMessage;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use fanout_writer::{Delivery, Shares};
use futures::future::join_all;
use nagare_local::engine::Engine;
use serde_json::{Value, json};
use shared::platform::register::Register;
use shared::platform::values::{ActivityId, ActorId, Origin, SortKey, ViewerId};
use shared::social::activities::ActivityKey;
use shared::social::fanout::{FanOutKind, FanOuts, Reconciliation};
use shared::social::likes::Likes;
use shared::social::tags::Tags;
use tests::{NOW, World, delete, event, follow, publish, soon, unfinished_ids, unfollow};

use crate::platform::overtaking::command;
use crate::platform::units::{UnitCounter, Units};

/// More than a command that is repeated may write again.
const MANY: usize = 240;
const LATER: &str = "2026-11-20T12:01:00.000Z";
const LATEST: &str = "2026-11-20T12:02:00.000Z";

/// What a command writes and reads.
async fn cost(counter: &UnitCounter, command: &Value) -> Units {
    let _ = counter.take_with_rounds();
    counter.apply(std::slice::from_ref(command)).await;
    counter.take_with_rounds().0
}

/// The same for one whose earlier delivery may have died.
async fn cost_of_a_redelivery(counter: &UnitCounter, command: &Value) -> Units {
    let _ = counter.take_with_rounds();
    assert_eq!(counter.world.write(&[&command.to_string()], 2).await, [0_usize; 0]);
    counter.take_with_rounds().0
}

/// What the store refuses is not among the units, but among the calls.
fn assert_little(Units { writes, reads, calls, .. }: Units, what: &str) {
    let is_little = writes <= 6.0 && reads <= 8.0 && calls <= 14;
    assert!(is_little, "{what}: {writes} write units, {reads} read units, {calls} calls");
}

fn assert_much(Units { writes, calls, .. }: Units, what: &str) {
    let is_much = writes >= MANY as f64 || calls >= MANY;
    assert!(is_much, "{what}: {writes} write units, {calls} calls");
}

fn posts() -> Vec<Value> {
    let at = |n: usize| format!("2026-11-20T11:{:02}:{:02}.000Z", n / 60, n % 60);
    (0..MANY).map(|n| publish("anna", &format!("{n:03}"), &at(n))).collect()
}

/// An actor who has published very much.
async fn busy_actor() -> UnitCounter {
    let counter = UnitCounter::new();
    counter.apply(&posts()).await;
    counter
}

/// How many entries a viewer is shown.
async fn shown(counter: &UnitCounter, viewer: &str) -> usize {
    let (mut query, mut shown) = ("limit=100".to_owned(), 0);
    loop {
        let (status, _, body) = counter.world.get(&format!("/v1/timelines/{viewer}"), &query).await;
        assert_eq!(status, 200);
        shown += body["items"].as_array().unwrap().len();
        let Some(cursor) = body["next_cursor"].as_str() else { return shown };
        query = format!("limit=100&cursor={cursor}");
    }
}

#[tokio::test]
async fn a_follow_brings_everything_in_once() {
    let counter = busy_actor().await;
    let first = follow("bob", "anna", NOW);
    assert_much(cost(&counter, &first).await, "the first");
    assert_little(cost(&counter, &first).await, "the same again");
    let later = follow("bob", "anna", LATER);
    assert_little(cost(&counter, &later).await, "a later follow of one who follows");
    assert_little(cost(&counter, &later).await, "that one again");
    assert_little(cost(&counter, &first).await, "the first again, which is overtaken");
    assert_eq!(shown(&counter, "bob").await, MANY);
    assert_much(cost_of_a_redelivery(&counter, &later).await, "after one that may have died");
}

#[tokio::test]
async fn who_leaves_takes_everything_out_once() {
    let counter = busy_actor().await;
    let (first, left) = (follow("bob", "anna", NOW), unfollow("bob", "anna", LATER));
    counter.apply(std::slice::from_ref(&first)).await;
    assert_much(cost(&counter, &left).await, "the unfollow");
    assert_eq!(counter.world.entry_count().await, 0);
    assert_little(cost(&counter, &left).await, "the same again");
    assert_little(cost(&counter, &first).await, "a follow that it has overtaken");
    let again = follow("bob", "anna", LATEST);
    assert_much(cost(&counter, &again).await, "a follow after it");
    assert_eq!(shown(&counter, "bob").await, MANY);
    assert_little(cost(&counter, &left).await, "an unfollow that is overtaken");
    assert_eq!(shown(&counter, "bob").await, MANY);
    assert_much(cost_of_a_redelivery(&counter, &left).await, "after one that may have died");
    assert_eq!(shown(&counter, "bob").await, MANY);
}

/// Copies in one batch would otherwise begin side by side, and each would do all of the work.
#[tokio::test]
async fn what_is_said_often_in_one_batch_is_done_once() {
    let counter = busy_actor().await;
    let first = follow("bob", "anna", NOW).to_string();
    let alone = cost(&counter, &follow("carol", "anna", NOW)).await;
    let _ = counter.take_with_rounds();
    assert_eq!(counter.world.write(&[first.as_str(); 10], 1).await, [0_usize; 0]);
    let (together, _) = counter.take_with_rounds();
    assert_eq!((together.writes, together.calls), (alone.writes, alone.calls));
    assert_eq!(shown(&counter, "bob").await, MANY);
    let _ = counter.take_with_rounds();
    assert_eq!(counter.world.write(&[first.as_str(); 3], 2).await, [0_usize; 0]);
    let (again, _) = counter.take_with_rounds();
    assert!(again.calls > 2 * alone.calls, "none of what may have died is a copy: {again:?}");
}

/// The batch of changes of one edge is applied as if the last of them had come alone.
#[tokio::test]
async fn of_several_changes_of_one_register_the_last_is_applied() {
    let counter = busy_actor().await;
    let alone = cost(&counter, &follow("carol", "anna", LATEST)).await;
    let changes = [
        follow("bob", "anna", NOW),
        unfollow("bob", "anna", LATER),
        follow("bob", "anna", LATEST),
        unfollow("bob", "anna", NOW),
    ];
    let _ = counter.take_with_rounds();
    let bodies = changes.map(|change| change.to_string());
    let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
    assert_eq!(counter.world.write(&bodies, 1).await, [0_usize; 0]);
    let (together, _) = counter.take_with_rounds();
    assert_eq!((together.writes, together.calls), (alone.writes, alone.calls));
    assert_eq!(shown(&counter, "bob").await, MANY);
}

/// A like that is undone in the same batch is still the first one, of which the actor is notified; a join that is undone makes the room
/// private.
#[tokio::test]
async fn what_begins_something_is_applied_although_it_is_overtaken() {
    let world = World::new();
    world.done(&[publish("anna", "live", NOW)]).await;
    let like =
        |kind, at| json!({"type": kind, "viewer_id": "bob", "activity_id": "live", "at": at});
    let member = |kind, at| json!({"type": kind, "viewer_id": "bob", "room_id": "hall", "at": at});
    let batch = [
        like("like.created", LATER),
        like("like.created", NOW),
        like("like.deleted", LATEST),
        member("room.joined", NOW),
        member("room.left", LATER),
        member("room.joined", NOW),
    ];
    let bodies = batch.map(|command| command.to_string());
    let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
    world.project("shard").await;
    let (_, _, body) = world.get("/v1/activities/live", "viewer=bob").await;
    assert_eq!(body["likes"], json!({"count": 0, "liked": false}));
    let (_, _, body) = world.get("/v1/notifications/anna", "").await;
    assert_eq!(body["items"][0]["first_at"], NOW, "{body}");
    let (status, ..) = world.get("/v1/rooms/hall/messages", "viewer=bob").await;
    assert_eq!(status, 403);
}

/// On both sides of the size from which on a follow notes that it is complete.
#[tokio::test]
async fn of_any_size_a_repetition_costs_little() {
    for size in [1, 40, 100, 101] {
        let counter = UnitCounter::new();
        counter.apply(&posts()[..size]).await;
        let (first, left) = (follow("bob", "anna", NOW), unfollow("bob", "anna", LATEST));
        // The first repetition notes that there is nothing to do.
        for _ in 0..2 {
            counter.apply(std::slice::from_ref(&first)).await;
        }
        assert_little(cost(&counter, &first).await, &format!("follow of {size}"));
        let later = follow("bob", "anna", LATER);
        assert_little(cost(&counter, &later).await, &format!("later follow of {size}"));
        assert_eq!(shown(&counter, "bob").await, size);
        for _ in 0..2 {
            counter.apply(std::slice::from_ref(&left)).await;
        }
        assert_little(cost(&counter, &left).await, &format!("unfollow of {size}"));
        assert_eq!(shown(&counter, "bob").await, 0);
    }
}

/// Likewise of publishes with tags and deletes, which note after the first repetition that they are complete.
#[tokio::test]
async fn of_any_audience_a_repetition_costs_little() {
    for size in [1, 40, 100, 101] {
        let counter = UnitCounter::new();
        let follows = (0..size).map(|n| follow(&format!("v{n}"), "anna", NOW));
        let tag = |n| json!({"type": "tag.created", "activity_id": "live", "tagged_id": format!("t{n}"), "at": NOW});
        let before: Vec<_> = follows.chain((0..size).map(tag)).collect();
        counter.apply(&before).await;
        for (command, is_shown) in [(publish("anna", "live", NOW), 1), (delete("anna", "live"), 0)]
        {
            for _ in 0..2 {
                counter.apply(std::slice::from_ref(&command)).await;
            }
            assert_little(cost(&counter, &command).await, &format!("{command} to {size}"));
            assert_eq!(shown(&counter, &format!("v{}", size - 1)).await, is_shown);
        }
    }
}

/// The group of a message.
fn group(message: &SqsMessage) -> Option<&str> {
    message.attributes.get("MessageGroupId").map(String::as_str)
}

/// What one person sends beyond their share goes back to the queue in a group of its own, and is applied when it comes from there.
#[tokio::test]
async fn a_person_beyond_their_share_goes_back_to_the_queue() {
    let mut world = World::new();
    world.writer.shares = Shares::new(3);
    let like = |n: usize, viewer: &str| json!({"type": "like.created", "viewer_id": viewer, "activity_id": format!("x{n}"), "at": NOW});
    let mut bodies: Vec<_> = (0..8).map(|n| like(n, "bob").to_string()).collect();
    bodies.push(like(0, "carol").to_string());
    let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
    let back = world.take_commands().await;
    assert_eq!(back.iter().map(group).collect::<Vec<_>>(), [Some("bob"); 5]);
    let bodies_back: Vec<_> = back.iter().map(|it| it.body.as_deref().unwrap()).collect();
    assert_eq!(bodies_back, &bodies[3..8], "as they came");
    let answer = world.writer.handle(event(back), soon()).await.unwrap();
    assert_eq!(unfinished_ids(&answer), [""; 0]);
    assert_eq!(world.take_commands().await.len(), 0, "nobody goes back twice");
    let likes = Likes::new(&world.tables.facts);
    for (viewer, count) in [("bob", 8), ("carol", 1)] {
        let likes = likes.of_viewer(&ViewerId::new(viewer).unwrap()).await.unwrap();
        assert_eq!(likes.len(), count, "{viewer}");
    }
    // A delivery that may not be the first has to be applied.
    assert_eq!(world.write(&bodies[..8], 2).await, [0_usize; 0]);
    assert_eq!(world.take_commands().await.len(), 0);
}

/// What is no command goes back in a group of the person whom it is about, and is refused when it comes from there.
#[tokio::test]
async fn malformed_bodies_beyond_a_share_go_back_to_the_queue() {
    let mut world = World::new();
    world.writer.shares = Shares::new(2);
    let malformed = |viewer: &str, n: usize| {
        json!({"type": "like.created", "viewer_id": viewer, "activity_id": n}).to_string()
    };
    let mut bodies: Vec<_> = (0..5).map(|n| malformed("bob", n)).collect();
    bodies.push(malformed("carol", 0));
    let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
    let back = world.take_commands().await;
    let bodies_back: Vec<_> = back.iter().map(|it| it.body.as_deref().unwrap()).collect();
    assert_eq!(bodies_back, &bodies[2..5]);
    assert!(back.iter().all(|it| group(it).is_some() && group(it) == group(&back[0])));
    let answer = world.writer.handle(event(back), soon()).await.unwrap();
    assert_eq!(unfinished_ids(&answer), [""; 0]);
    assert_eq!(world.take_commands().await.len(), 0, "nobody goes back twice");
    assert_eq!(world.take_dead_letters().await.len(), 6);
}

/// A copy of what is refused is refused by itself, so that each message has its dead letter.
#[tokio::test]
async fn each_copy_of_what_is_refused_is_a_dead_letter() {
    let world = World::new();
    world.done(&[publish("anna", "live", NOW)]).await;
    let other = publish("eve", "live", NOW).to_string();
    assert_eq!(world.write(&[other.as_str(); 3], 1).await, [0_usize; 0]);
    assert_eq!(world.take_dead_letters().await.len(), 3);
}

/// A publish lists those who were tagged before, also where nobody follows, and where it is older than retention.
#[tokio::test]
async fn who_is_tagged_has_it_listed_once() {
    for at in [NOW, "2026-09-01T12:00:00.000Z"] {
        let counter = UnitCounter::new();
        let tag = |n| json!({"type": "tag.created", "activity_id": "live", "tagged_id": format!("v{n}"), "at": NOW});
        let tags: Vec<_> = (0..MANY).map(tag).collect();
        counter.apply(&tags).await;
        let published = publish("anna", "live", at);
        assert_much(cost(&counter, &published).await, "the publish");
        assert_little(cost(&counter, &published).await, "the same again");
        assert_much(cost_of_a_redelivery(&counter, &published).await, "after a death");
    }
}

/// The rest of a command that was handed on finds that another has done all of it, and leaves nothing of its own behind.
#[tokio::test]
async fn the_rest_of_a_command_removes_what_it_has_noted() {
    let counter = busy_actor().await;
    let world = &counter.world;
    let (first, left) = (follow("bob", "anna", NOW), unfollow("bob", "anna", LATER));
    let tag = |n| json!({"type": "tag.created", "activity_id": "000", "tagged_id": format!("v{n}"), "at": NOW});
    let tags: Vec<_> = (0..3).map(tag).collect();
    world.done(&tags).await;
    let (viewer, actor) = (ViewerId::new("bob").unwrap(), ActorId::new("anna").unwrap());
    let activity = ActivityId::new("000").unwrap();
    let origin = "handed-on".parse::<Origin>().unwrap();
    let rest =
        Delivery { origin: origin.clone(), continued: true, ..Delivery::only(tests::soon()) };
    let of = Reconciliation { viewer: &viewer, actor: &actor, origin: &origin };
    let position = SortKey { published_at: NOW.parse().unwrap(), activity_id: activity.clone() };
    let ledger = &world.tables.ledger;
    for (done, handed_on) in [(vec![&first], &first), (vec![&left], &left), (vec![], &first)] {
        for command in done {
            world.done(std::slice::from_ref(command)).await;
        }
        let state = Register { on: true, changed_at: NOW.parse().unwrap() };
        FanOuts::new(ledger).note_reconciled(of, state, &position).await.unwrap();
        world.writer.apply(command(handed_on), rest.clone()).await.unwrap();
        assert_eq!(noted(world), [""; 0], "{handed_on}");
    }
    let (key, now) =
        (ActivityKey { activity_id: activity.clone(), actor_id: actor.clone() }, world.clock.now());
    let (fan_outs, insert) = (FanOuts::new(ledger), FanOutKind::Insert);
    fan_outs.note_ended(&key, insert, [now, now], 0).await.unwrap();
    let tagged = ViewerId::new("v0").unwrap();
    Tags::new(ledger).note_listed(&activity, &origin, &tagged).await.unwrap();
    world.writer.apply(command(&posts()[0]), rest).await.unwrap();
    assert_eq!(noted(world), [""; 0]);
}

/// The partitions in which commands have noted how far they have come.
fn noted(world: &World) -> Vec<String> {
    let scan = json!({"TableName": "nagare-ledger"}).to_string();
    let (_, ledger) = world.engine.call("Scan", scan.as_bytes());
    let ledger: Value = serde_json::from_str(&ledger).unwrap();
    let keys = ledger["Items"].as_array().unwrap().iter().map(|it| it["pk"]["S"].as_str().unwrap());
    let is_note = |key: &&str| key.starts_with("settle#") || key.starts_with("listing#");
    keys.filter(is_note).map(str::to_owned).collect()
}

/// Another version writes the edge, and leaves in it what it does not know.
#[tokio::test]
async fn a_note_is_of_one_state() {
    let counter = busy_actor().await;
    counter.apply(&[follow("bob", "anna", NOW)]).await;
    let request = json!({"TableName": "nagare-ledger",
        "Key": {"pk": {"S": "followers#anna"}, "sk": {"S": "2612#bob"}},
        "ConditionExpression": "attribute_exists(complete_for)",
        "UpdateExpression": "SET changed_at = :at, following = :no",
        "ExpressionAttributeValues": {":at": {"S": LATER}, ":no": {"BOOL": false}}});
    let (status, answer) = counter.world.engine.call("UpdateItem", request.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
    assert_much(cost(&counter, &unfollow("bob", "anna", LATER)).await, "what is left of it");
    assert_eq!(counter.world.entry_count().await, 0);
}

/// Before the edge is written, hides the actor as an unfollow does that has read the edge from before.
#[derive(Debug)]
struct Hides {
    inside: SharedHttpConnector,
    engine: Arc<Mutex<Option<Engine>>>,
}

impl HttpConnector for Hides {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let is_edge =
            request.headers().get("x-amz-target").is_some_and(|it| it.ends_with("UpdateItem"))
                && String::from_utf8_lossy(request.body().bytes().unwrap())
                    .contains("followers#anna");
        if let Some(engine) = is_edge.then(|| self.engine.lock().unwrap().take()).flatten() {
            let update = json!({"TableName": "nagare-ledger",
                "Key": {"pk": {"S": "person#bob#hidden"}, "sk": {"S": "actors"}},
                "UpdateExpression": "SET #left = :left, #at = :at",
                "ExpressionAttributeNames": {"#left": "left#anna", "#at": "at"},
                "ExpressionAttributeValues": {
                    ":left": {"S": format!("{LATER}#1795176060")}, ":at": {"S": "another"}}});
            assert_eq!(engine.call("UpdateItem", update.to_string().as_bytes()).0, 200);
        }
        self.inside.call(request)
    }
}

/// A follow that has nothing to bring in goes by the edge from before. An unfollow in between does so, too, and comes too late.
#[tokio::test]
async fn an_unfollow_that_comes_too_late_hides_nobody() {
    let engine = Arc::new(Mutex::new(None));
    let hides = Arc::clone(&engine);
    let world = World::behind(|inside| SharedHttpConnector::new(Hides { inside, engine: hides }));
    world.done(&posts()).await;
    world.done(&[follow("bob", "anna", NOW)]).await;
    *engine.lock().unwrap() = Some(world.engine.clone());
    world.done(&[follow("bob", "anna", LATEST)]).await;
    assert!(engine.lock().unwrap().is_none(), "nobody was hidden");
    assert_eq!(world.ids("bob", "limit=100").await.len(), 100);
    world.done(&[unfollow("bob", "anna", LATER)]).await;
    assert_eq!(world.ids("bob", "limit=100").await.len(), 100);
}

#[tokio::test]
async fn an_activity_reaches_everybody_once() {
    let counter = UnitCounter::new();
    let follows: Vec<_> = (0..MANY).map(|n| follow(&format!("v{n}"), "anna", NOW)).collect();
    counter.apply(&follows).await;
    let (published, deleted) = (publish("anna", "live", NOW), delete("anna", "live"));
    assert_much(cost(&counter, &published).await, "the publish");
    assert_little(cost(&counter, &published).await, "the same again");
    assert_eq!(counter.world.entry_count().await, MANY as u64);
    assert_much(cost_of_a_redelivery(&counter, &published).await, "after one that may have died");
    assert_much(cost(&counter, &deleted).await, "the delete");
    assert_eq!(counter.world.entry_count().await, 0);
    // An edit goes to the change log in each of its copies.
    assert!(cost(&counter, &deleted).await.writes <= 12.0);
    assert_little(cost(&counter, &published).await, "a publish of what is deleted");
    assert_much(cost_of_a_redelivery(&counter, &deleted).await, "after one that may have died");
}

/// Repetitions that come before the first has ended wait for it: they do not write to everybody again.
#[tokio::test(start_paused = true)]
async fn an_activity_reaches_everybody_once_though_it_is_published_at_the_same_moment() {
    let counter = UnitCounter::far();
    let follows: Vec<_> = (0..MANY).map(|n| follow(&format!("v{n}"), "anna", NOW)).collect();
    counter.apply(&follows).await;
    for (command, entries) in [(publish("anna", "live", NOW), MANY), (delete("anna", "live"), 0)] {
        let _ = counter.take_with_rounds();
        let commands = std::slice::from_ref(&command);
        join_all((0..20).map(|_| counter.world.done(commands))).await;
        let Units { writes, .. } = counter.take_with_rounds().0;
        assert!(writes < 1.9 * MANY as f64, "{command}: {writes} write units");
        assert_eq!(counter.world.entry_count().await, entries as u64);
    }
}
