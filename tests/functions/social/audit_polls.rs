//! Audits of polls: what differs from the votes is found and repaired while votes go on.

use std::time::Duration;

use nagare_operator::audit::{Found, PollDifference, ViewsAuditor};
use serde_json::{Value, json};
use shared::platform::dynamo::item::{Item, Key, list};
use shared::platform::values::PollId;
use shared::social::polls::keys::view;
use tests::World;

use crate::platform::projecting::{everything, projecting, projecting_behind};

const CHOICES: [&str; 2] = ["red", "blue"];

fn at(second: usize) -> String {
    format!("2026-11-20T11:00:{second:02}.000Z")
}

fn open(poll: &str) -> Value {
    json!({"type": "poll.opened", "poll_id": poll, "actor_id": "anna", "choices": CHOICES, "opens_at": at(10),
        "closes_at": at(50), "payload": null})
}

fn close(poll: &str, second: usize) -> Value {
    json!({"type": "poll.closed", "poll_id": poll, "actor_id": "anna", "at": at(second)})
}

/// The nth vote: three viewers in four vote twice.
fn vote(poll: &str, number: usize) -> Value {
    let (viewer, choice) = (format!("v{}", number % 200), CHOICES[number % 3 % 2]);
    json!({"type": "vote.cast", "poll_id": poll, "viewer_id": viewer, "choice": choice, "at": at(11 + number % 38)})
}

/// How many votes each choice has by the first of these, if the poll ends then.
fn recount(votes: usize, end: usize) -> [u64; 2] {
    let mut latest = std::collections::BTreeMap::new();
    for number in (0..votes).filter(|number| 11 + number % 38 < end) {
        let vote = vote("p", number);
        let said = (vote["at"].to_string(), vote["choice"].as_str().unwrap().to_owned());
        let entry = latest.entry(number % 200).or_insert_with(|| said.clone());
        *entry = said.max(entry.clone());
    }
    CHOICES.map(|choice| latest.values().filter(|(_, it)| it == choice).count() as u64)
}

fn poll() -> PollId {
    PollId::new("p").unwrap()
}

async fn audit(world: &World, repair: bool) -> Found<PollDifference, PollId> {
    audit_behind(world, 0, repair).await
}

async fn audit_behind(world: &World, first: i64, repair: bool) -> Found<PollDifference, PollId> {
    let tables = &world.tables;
    let auditor = ViewsAuditor::new(&tables.facts, &tables.views, world.clock.clone());
    let polls = [poll(), PollId::new("unknown").unwrap()];
    projecting_behind(world, first, auditor.polls(&polls, repair)).await.unwrap()
}

/// What the audit finds is one difference, which it repairs.
async fn found_and_mended(world: &World, first: i64) -> PollDifference {
    let found = audit_behind(world, first, false).await;
    assert_eq!((found.differences.len(), found.mended, found.busy.len()), (1, 0, 0), "{found:?}");
    let mended = audit_behind(world, first, true).await;
    assert_eq!((mended.differences.len(), mended.mended, mended.busy.len()), (1, 1, 0));
    let left = audit_behind(world, first, false).await;
    assert!(left.differences.is_empty(), "{left:?}");
    found.differences[0].clone()
}

async fn sums(world: &World) -> [u64; 2] {
    let (_, _, shown) = world.get("/v1/polls/p", "").await;
    [0, 1].map(|place| shown["choices"][place]["votes"].as_u64().unwrap())
}

/// A poll with `votes` votes, all of them folded.
async fn voted(votes: usize) -> World {
    let world = World::new();
    world.done(&[open("p")]).await;
    world.done(&(0..votes).map(|number| vote("p", number)).collect::<Vec<_>>()).await;
    world.project("a").await;
    assert_eq!(sums(&world).await, recount(votes, 50));
    assert!(audit(&world, false).await.differences.is_empty());
    world
}

async fn stored(world: &World, key: Key) -> Item {
    world.tables.views.table().get(key.into_item()).await.unwrap().unwrap().item
}

async fn put(world: &World, item: Item) {
    world.tables.views.table().put(item).await.unwrap();
}

/// Votes and an early end after a repair are folded as after none.
async fn goes_on(world: &World, before: usize, after: usize) {
    world.done(&(before..after).map(|number| vote("p", number)).collect::<Vec<_>>()).await;
    projecting(world, tokio::time::sleep(Duration::from_secs(1))).await;
    assert_eq!(sums(world).await, recount(after, 50));
    for end in [33, 20] {
        world.done(&[close("p", end)]).await;
        projecting(world, tokio::time::sleep(Duration::from_secs(1))).await;
        assert_eq!(sums(world).await, recount(after, end));
    }
    assert!(audit(world, false).await.differences.is_empty());
}

#[tokio::test(start_paused = true)]
async fn sums_that_differ_are_found_and_mended() {
    let world = voted(300).await;
    let mut item = stored(&world, view(&poll())).await;
    let mut wrong = item["votes"].as_l().unwrap().clone();
    wrong.reverse();
    item.insert("votes".to_owned(), list(wrong));
    put(&world, item).await;
    let [red, blue] = recount(300, 50);
    assert_eq!(sums(&world).await, [blue, red]);
    let difference = found_and_mended(&world, 0).await;
    let votes = |sums: Option<shared::social::polls::Sums>| sums.unwrap().votes;
    let right = [red, blue].map(|sum| i64::try_from(sum).unwrap());
    assert_eq!(votes(difference.recounted), right);
    assert_eq!(votes(difference.stored), [right[1], right[0]]);
    assert!(!difference.events_differ);
    goes_on(&world, 300, 500).await;
}

/// The sums are right, but would be wrong after an early end.
#[tokio::test(start_paused = true)]
async fn events_that_are_lost_are_found_and_mended() {
    let world = voted(400).await;
    let block = Key { pk: view(&poll()).pk, sk: format!("events#{:020}", 0) };
    world.tables.views.table().delete(block.into_item(), None).await.unwrap();
    assert!(found_and_mended(&world, 0).await.events_differ);
    goes_on(&world, 400, 600).await;
    // What is past is marked, and the rest is in use.
    let blocks = everything(world.tables.views.table()).await.into_iter();
    let is_block = |item: &Item| item["sk"].as_s().unwrap().starts_with("events#");
    let (past, used): (Vec<_>, Vec<_>) =
        blocks.filter(is_block).partition(|item| item.contains_key("forget_at"));
    assert!(!past.is_empty() && !used.is_empty());
    let first = used.iter().map(|item| item["sk"].as_s().unwrap()).min().unwrap();
    assert!(past.iter().all(|item| item["sk"].as_s().unwrap() < first));
}

/// A view that is gone altogether is made again from the facts.
#[tokio::test(start_paused = true)]
async fn what_is_lost_is_made_again() {
    let world = voted(300).await;
    world.done(&[close("p", 40)]).await;
    world.project("a").await;
    world.tables.views.table().delete(view(&poll()).into_item(), None).await.unwrap();
    assert_eq!(sums(&world).await, [0, 0]);
    // The projector has gone on: nothing of before comes again.
    let last = world.engine.stream_behind(0, usize::MAX).unwrap().last().unwrap().number;
    found_and_mended(&world, last).await;
    assert_eq!(sums(&world).await, recount(300, 40));
    world.done(&[close("p", 30)]).await;
    projecting_behind(&world, last, tokio::time::sleep(Duration::from_secs(1))).await;
    assert_eq!(sums(&world).await, recount(300, 30));
}

/// Votes go on while a view is repaired: none is lost, and none counts twice.
#[tokio::test(start_paused = true)]
async fn votes_go_on_while_it_is_mended() {
    let world = voted(300).await;
    let block = Key { pk: view(&poll()).pk, sk: format!("events#{:020}", 0) };
    world.tables.views.table().delete(block.into_item(), None).await.unwrap();
    let votes = async {
        for number in 300..310 {
            world.done(&[vote("p", number)]).await;
            tokio::time::sleep(Duration::from_millis(7)).await;
        }
    };
    let tables = &world.tables;
    let auditor = ViewsAuditor::new(&tables.facts, &tables.views, world.clock.clone());
    let audits = async {
        loop {
            let found = auditor.polls(&[poll()], true).await.unwrap();
            match (found.differences.len(), found.busy.len()) {
                (0, 1) => {}
                said => break assert_eq!((said, found.mended), ((1, 0), 1)),
            }
        }
    };
    projecting(&world, futures::future::join(votes, audits)).await;
    goes_on(&world, 310, 400).await;
}
