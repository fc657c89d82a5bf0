//! What other systems are told: each decision at least once, under an id that stays, whatever dies; and nothing that is not so.

mod unwell;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fastrand::Rng;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::faults::Fault;
use nagare_local::stream_source::{event, event_of};
use serde_json::{Value, json};
use tests::{World, delete, follow, publish, soon, unfollow};

use crate::platform::blows::{Blow, Steps};
use crate::platform::projecting::records;
use crate::platform::yielding::Yielding;

const TABLE: &str = "nagare-events-2026-11";
/// Deliveries after which everything has to be told.
const DELIVERIES: u32 = 4;

const BLOWS: [Blow; 7] = [
    Blow::DiesBefore,
    Blow::DiesAfter,
    Blow::Fails(Fault::ServerError),
    Blow::Fails(Fault::LostRequest),
    Blow::Fails(Fault::LostAnswer),
    Blow::Fails(Fault::CutAnswer),
    Blow::Fails(Fault::Denied),
];

/// An instant of the hour before now.
fn at(minute: u8) -> String {
    format!("2026-11-20T11:{minute:02}:00.000Z")
}

fn open_poll(poll: &str) -> Value {
    json!({"type": "poll.opened", "poll_id": poll, "actor_id": "anna", "choices": ["red", "blue"],
        "opens_at": at(10), "closes_at": at(50)})
}

fn close_poll(poll: &str, actor: &str, minute: u8) -> Value {
    json!({"type": "poll.closed", "poll_id": poll, "actor_id": actor, "at": at(minute)})
}

fn open_battle(battle: &str, hp: u64) -> Value {
    json!({"type": "battle.opened", "battle_id": battle, "actor_id": "anna", "hp": hp, "at": at(1)})
}

fn hit(battle: &str, hit: &str, damage: u64) -> Value {
    json!({"type": "battle.hit", "battle_id": battle, "hit_id": hit, "viewer_id": "bob", "damage": damage, "at": at(2)})
}

fn direct(inside: SharedHttpConnector) -> SharedHttpConnector {
    inside
}

/// All events, in the order in which they were sent.
fn sent(world: &World) -> Vec<Value> {
    let events = world.bus.behind(0).events;
    events.iter().map(|it| serde_json::from_str(it.event.get()).unwrap()).collect()
}

/// What was told, by the ids that stay. What was told again said the same.
pub(crate) fn told(world: &World) -> BTreeMap<String, Value> {
    let mut told = BTreeMap::new();
    for event in sent(world) {
        assert_eq!((&event["source"], &event["detail"]["version"]), (&json!("nagare"), &json!(1)));
        let id = event["detail"]["id"].as_str().unwrap().to_owned();
        let said = told.entry(id).or_insert_with(|| event.clone());
        assert_eq!(
            (&said["detail-type"], &said["detail"]),
            (&event["detail-type"], &event["detail"])
        );
    }
    told
}

/// The same as lines: type, what it is about, and when it was.
fn lines(world: &World) -> BTreeSet<String> {
    let line = |event: Value| {
        let (kind, detail) = (event["detail-type"].as_str().unwrap(), &event["detail"]);
        let about = match kind {
            "activity.published" => &detail["activity_id"],
            "follow.created" => &detail["follower_id"],
            "poll.closed" => &detail["poll_id"],
            "battle.defeated" => &detail["last_hit"]["hit_id"],
            _ => &detail["customer_id"],
        };
        format!("{kind} {} {}", about.as_str().unwrap(), detail["at"].as_str().unwrap())
    };
    told(world).into_values().map(line).collect()
}

fn expected(lines: &[(&str, &str, u8)]) -> BTreeSet<String> {
    lines.iter().map(|(kind, about, minute)| format!("{kind} {about} {}", at(*minute))).collect()
}

async fn project(world: &World, shard: &str) {
    world.project(shard).await;
}

#[tokio::test]
async fn a_publish_is_told_with_what_it_says_by_now() {
    let world = World::with_bus(direct);
    let edit = json!({"type": "activity.updated", "actor_id": "anna", "activity_id": "a", "at": at(2), "payload": {"n": 1.0}});
    let old = publish("anna", "old", "2026-09-01T12:00:00.000Z");
    world.done(&[edit, publish("anna", "a", &at(1)), old, delete("anna", "gone")]).await;
    world.done(&[publish("anna", "gone", &at(1)), publish("anna", "b", &at(3))]).await;
    assert_eq!(
        lines(&world),
        expected(&[("activity.published", "a", 1), ("activity.published", "b", 3)]),
        "neither what is older than retention nor what is deleted"
    );
    let first = &sent(&world)[0];
    let detail = json!({"version": 1, "id": first["detail"]["id"], "at": at(1), "activity_id": "a", "actor_id": "anna",
        "kind": "post", "payload": {"n": 1.0}});
    assert_eq!(first["detail"], detail);
    // Said again it is told again, as the same.
    world.done(&[publish("anna", "a", &at(1))]).await;
    assert_eq!((sent(&world).len(), told(&world).len()), (3, 2));
    world.done(&[delete("anna", "a"), publish("anna", "a", &at(1))]).await;
    assert_eq!(sent(&world).len(), 3, "it is deleted by now");
}

#[tokio::test]
async fn a_follow_is_told_while_it_is_the_latest() {
    let world = World::with_bus(direct);
    world.done(&[follow("bob", "anna", &at(1)), follow("bob", "anna", &at(1))]).await;
    assert_eq!(lines(&world), expected(&[("follow.created", "bob", 1)]));
    world.done(&[unfollow("bob", "anna", &at(3)), follow("bob", "anna", &at(1))]).await;
    world.done(&[follow("bob", "anna", &at(2)), follow("eve", "anna", &at(2))]).await;
    let told = [("follow.created", "bob", 1), ("follow.created", "eve", 2)];
    assert_eq!(lines(&world), expected(&told), "what was overtaken is no news");
    world.done(&[follow("bob", "anna", &at(4))]).await;
    assert_eq!(lines(&world).len(), 3, "another follow");
}

#[tokio::test]
async fn the_end_of_a_poll_is_told_if_its_actor_has_brought_it_forward() {
    let world = World::with_bus(direct);
    // Before the poll, after it, by another, too late, later than before.
    world.done(&[close_poll("p", "anna", 40), close_poll("p", "eve", 20)]).await;
    assert_eq!(lines(&world), expected(&[]), "nobody knows whose it is");
    world.done(&[open_poll("p"), open_poll("q"), close_poll("q", "eve", 20)]).await;
    assert_eq!(lines(&world), expected(&[("poll.closed", "p", 40)]));
    world.done(&[close_poll("q", "anna", 50), close_poll("q", "anna", 30)]).await;
    let told = [("poll.closed", "p", 40), ("poll.closed", "q", 30)];
    assert_eq!(lines(&world), expected(&told));
    world.done(&[close_poll("q", "anna", 35), close_poll("q", "anna", 50)]).await;
    assert_eq!(lines(&world), expected(&told), "the earliest end holds");
    let last = sent(&world).pop().unwrap();
    assert_eq!(
        (&last["detail"]["actor_id"], &last["detail"]["at"]),
        (&json!("anna"), &json!(at(30)))
    );
}

#[tokio::test]
async fn a_defeat_is_told_by_who_has_the_last_hit_and_by_no_later_one() {
    let world = World::with_bus(direct);
    world
        .done(&[open_battle("b", 10), hit("b", "h1", 6), hit("b", "h2", 7), hit("b", "h3", 1)])
        .await;
    project(&world, "a").await;
    assert_eq!(lines(&world), expected(&[("battle.defeated", "h2", 2)]));
    let detail = &sent(&world)[0]["detail"];
    let last = json!({"hit_id": "h2", "viewer_id": "bob", "damage": 7});
    assert_eq!(
        (&detail["battle_id"], &detail["hits"], &detail["last_hit"]),
        (&json!("b"), &json!(2), &last)
    );
    let before = records(&world).last().unwrap().number;
    world.done(&[hit("b", "h4", 1)]).await;
    let late = world.engine.stream_behind(before, 10).unwrap();
    world.fold(event("a", &late).unwrap(), soon()).await.unwrap();
    assert_eq!(sent(&world).len(), 1, "a late hit is no news");
    project(&world, "a").await;
    assert_eq!((sent(&world).len(), told(&world).len()), (2, 1), "its own batch tells again");
}

/// Commands whose events are all known, in an order in which some wait for others.
fn story() -> Vec<Value> {
    vec![
        follow("bob", "anna", &at(1)),
        publish("anna", "live", &at(2)),
        close_poll("p", "anna", 30),
        open_poll("p"),
        open_poll("q"),
        close_poll("q", "anna", 31),
        hit("w", "w1", 6),
        hit("w", "w2", 6),
        open_battle("w", 10),
        open_battle("d", 10),
        hit("d", "d1", 6),
        hit("d", "d2", 6),
    ]
}

fn of_story() -> BTreeSet<String> {
    expected(&[
        ("follow.created", "bob", 1),
        ("activity.published", "live", 2),
        ("poll.closed", "p", 30),
        ("poll.closed", "q", 31),
        ("battle.defeated", "w2", 2),
        ("battle.defeated", "d2", 2),
    ])
}

/// Gives the writer each command until it is acknowledged, and the projector each batch until it is folded, with one blow.
/// Returns how many calls there were.
async fn life(blow: Option<(usize, Blow)>) -> usize {
    let steps = Steps::with(blow);
    let world = World::with_bus(|inside| steps.before(inside));
    for command in story() {
        let body = command.to_string();
        for receives in 1.. {
            assert!(receives <= DELIVERIES, "{body} never ends: {blow:?}");
            tokio::select! {
                unfinished = write(&world, &body, receives) => if unfinished.is_empty() { break },
                () = steps.died() => {}
            }
        }
    }
    for batch in records(&world).chunks(3) {
        fold(&world, &steps, "a", batch).await;
    }
    let taken = steps.taken();
    assert_eq!(lines(&world), of_story(), "{blow:?}");
    assert_eq!(world.take_dead_letters().await.len(), 0, "{blow:?}");
    let repeated = sent(&world).len() - told(&world).len();
    assert!(repeated <= 3, "{repeated} repeated: {blow:?}");
    taken
}

async fn write(world: &World, body: &str, receives: u32) -> Vec<usize> {
    world.write(&[body], receives).await
}

/// Delivers a batch until all of it is folded.
async fn fold(world: &World, steps: &Steps, shard: &str, batch: &[StreamRecord]) {
    for _ in 0..DELIVERIES {
        let batch = event(shard, batch).unwrap();
        tokio::select! {
            answer = world.fold(batch, soon()) => {
                if answer.unwrap().batch_item_failures.is_empty() { return }
            }
            () = steps.died() => {}
        }
    }
    unreachable!("it is never folded");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_whatever_call_dies() {
    let calls = life(None).await;
    assert!(calls > 50, "{calls}");
    for blow in BLOWS {
        for call in 0..calls {
            life(Some((call, blow))).await;
        }
    }
}

/// The delivery that opens a battle dies at each call; meanwhile another shard brings a hit, and may take in what waits.
#[tokio::test(start_paused = true)]
async fn a_defeat_by_what_had_waited_is_told_whoever_takes_it_in() {
    for step in 0.. {
        let steps = Steps::with(None);
        let world = World::with_bus(|inside| steps.before(inside));
        world.done(&[hit("w", "w1", 6), hit("w", "w2", 6)]).await;
        fold(&world, &steps, "a", &records(&world)).await;
        let waiting = records(&world).len();
        world.done(&[open_battle("w", 10), hit("w", "late", 1)]).await;
        let (opening, late) =
            (&records(&world)[waiting..=waiting], &records(&world)[waiting + 1..]);
        // Dropped in the middle of a call: what was called before is done.
        let mut calls = 0;
        let begun = steps.taken();
        let batch = event("a", opening).unwrap();
        let mut handling = std::pin::pin!(world.fold(batch, soon()));
        let ended = std::future::poll_fn(|cx| {
            if calls > step {
                return std::task::Poll::Ready(false);
            }
            calls += 1;
            match handling.as_mut().poll(cx) {
                std::task::Poll::Ready(_) => std::task::Poll::Ready(true),
                std::task::Poll::Pending => {
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                }
            }
        });
        let ended = ended.await;
        fold(&world, &steps, "b", late).await;
        fold(&world, &steps, "a", opening).await;
        assert_eq!(lines(&world), expected(&[("battle.defeated", "w2", 2)]), "step {step}");
        if ended {
            assert!(steps.taken() > begun + 3);
            return;
        }
    }
}

#[tokio::test]
async fn who_opens_a_poll_and_who_closes_it_at_once_tell_of_its_end() {
    let mut both = 0;
    for seed in 0..100 {
        let random = Arc::new(Mutex::new(Rng::with_seed(seed)));
        let world = World::with_bus(|inside| SharedHttpConnector::new(Yielding { inside, random }));
        let (open, close) = (open_poll("p").to_string(), close_poll("p", "anna", 30).to_string());
        let (open, close) = ([open.as_str()], [close.as_str()]);
        let (opened, closed) = tokio::join!(world.write(&open, 1), world.write(&close, 1));
        assert_eq!((opened.len(), closed.len()), (0, 0));
        assert_eq!(lines(&world), expected(&[("poll.closed", "p", 30)]), "seed {seed}");
        both += usize::from(sent(&world).len() == 2);
    }
    assert!((1..100).contains(&both), "{both} of 100 by both");
}

fn login(customer: &str, n: usize) -> Value {
    json!({"type": "event.recorded", "tenant_id": "acme", "customer_id": customer, "event_id": format!("e{n}"),
        "name": "login", "at": format!("2026-11-{:02}T12:00:00Z", n + 1)})
}

fn rule(id: &str, within: &str) -> Value {
    json!({"type": "rule.defined", "tenant_id": "acme", "rule_id": id, "at": at(1),
        "when": {"event": "login", "count": 1, "within": within}})
}

/// Alerts by the projector, for a rule that was there before, and by the writer, for one that comes later: each with one blow.
async fn alerting(blow: Option<(usize, Blow)>) -> usize {
    let steps = Steps::with(blow);
    let world = World::with_bus(|inside| steps.before(inside));
    world.make_period("2026-11").await;
    let commands = [rule("a", "day"), login("c-1", 0), login("c-1", 1), login("c-2", 0)];
    let deliver = async |command: &Value| {
        let body = command.to_string();
        for receives in 1..=DELIVERIES {
            tokio::select! {
                unfinished = write(&world, &body, receives) => if unfinished.is_empty() { return },
                () = steps.died() => {}
            }
        }
        unreachable!("{body} never ends: {blow:?}");
    };
    for command in &commands {
        deliver(command).await;
    }
    let batch = world.engine.stream_of(TABLE, 0, usize::MAX).unwrap();
    let mut is_folded = false;
    for minute in 1..=DELIVERIES {
        world.set_clock(&format!("2026-11-20T12:0{minute}:00Z"));
        let event = event_of(TABLE, "shard", &batch).unwrap();
        tokio::select! {
            answer = world.fold(event, soon()) => {
                is_folded = answer.unwrap().batch_item_failures.is_empty();
            }
            () = steps.died() => {}
        }
        if is_folded {
            break;
        }
    }
    assert!(is_folded, "{blow:?}");
    deliver(&rule("b", "ever")).await;
    let taken = steps.taken();
    let (status, _, listed) = world.get("/v1/tenants/acme/alerts", "").await;
    assert_eq!(status, 200);
    let line = |alert: &Value, at: &str| {
        let of = |name: &str| alert[name].as_str().unwrap().to_owned();
        [of("alert_id"), of("customer_id"), of("rule_id"), of("period"), of(at)].join(" ")
    };
    let listed = listed["items"].as_array().unwrap().iter().map(|it| line(it, "decided_at"));
    let listed: BTreeSet<_> = listed.collect();
    let told = told(&world).into_values().map(|event| line(&event["detail"], "at"));
    assert_eq!(told.collect::<BTreeSet<_>>(), listed, "{blow:?}");
    assert_eq!(listed.len(), 5, "{blow:?}");
    taken
}

#[tokio::test(start_paused = true)]
async fn each_alert_is_told_whatever_call_dies() {
    let calls = alerting(None).await;
    assert!(calls > 30, "{calls}");
    for blow in BLOWS {
        for call in 0..calls {
            alerting(Some((call, blow))).await;
        }
    }
}
