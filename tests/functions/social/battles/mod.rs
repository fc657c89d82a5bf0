//! Battles: hits land in one order, exactly one of them is the last hit, and a late hit changes nothing. All of this holds however
//! batches are repeated or cut, and when several projectors fold at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use futures::future::join_all;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::faults::{Fault, inject};
use nagare_local::stream_source::event;
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::platform::values::BattleId;
use shared::social::battles::keys;
use tests::{World, soon};

use crate::platform::projecting::{project, records};

mod parts;

pub(crate) use parts::Dying;

const AT: &str = "2026-11-20T11:00:00.000Z";

fn open(battle: &str, hp: u64) -> Value {
    json!({"type": "battle.opened", "battle_id": battle, "actor_id": "anna", "hp": hp, "at": AT,
        "payload": {"name": "Dragon"}})
}

fn hit(battle: &str, hit: &str, viewer: &str, damage: u64) -> Value {
    json!({"type": "battle.hit", "battle_id": battle, "hit_id": hit, "viewer_id": viewer, "damage": damage, "at": AT})
}

async fn battle(world: &World, battle: &str, query: &str) -> Value {
    let (status, _, body) = world.get(&format!("/v1/battles/{battle}"), query).await;
    assert_eq!(status, 200, "{body}");
    body
}

async fn state(world: &World, battle: &str, hit: &str) -> String {
    let (status, _, body) = world.get(&format!("/v1/battles/{battle}/hits/{hit}"), "").await;
    assert_eq!(status, 200, "{body}");
    body["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn hits_land_until_the_boss_is_defeated() {
    let world = World::new();
    assert_eq!(world.get("/v1/battles/dragon", "").await.0, 404);
    assert_eq!(world.get("/v1/battles/dragon/hits/h1", "").await.0, 404);
    world.done(&[open("dragon", 100)]).await;
    let shown = battle(&world, "dragon", "").await;
    let expected = json!({"battle_id": "dragon", "actor_id": "anna", "payload": {"name": "Dragon"}, "state": "open",
        "hp": 100, "hp_left": 100, "hits": 0, "last_hit": null, "viewer": null});
    assert_eq!(shown, expected);
    world.done(&[hit("dragon", "h1", "bob", 60)]).await;
    assert_eq!(state(&world, "dragon", "h1").await, "pending");
    world.project("a").await;
    let shown = battle(&world, "dragon", "viewer=bob").await;
    assert_eq!((&shown["hp_left"], &shown["hits"]), (&json!(40), &json!(1)));
    assert_eq!(shown["viewer"], json!({"hits": 1, "damage": 60}));
    world.done(&[hit("dragon", "h2", "eve", 60)]).await;
    world.project("a").await;
    world.done(&[hit("dragon", "h3", "bob", 1), hit("dragon", "h1", "bob", 60)]).await;
    world.project("a").await;
    let shown = battle(&world, "dragon", "viewer=eve").await;
    let last = json!({"hit_id": "h2", "viewer_id": "eve", "damage": 60, "at": AT});
    let expected = json!({"battle_id": "dragon", "actor_id": "anna", "payload": {"name": "Dragon"}, "state": "defeated",
        "hp": 100, "hp_left": 0, "hits": 2, "last_hit": last, "viewer": {"hits": 1, "damage": 60}});
    assert_eq!(shown, expected);
    for (id, expected) in [("h1", "landed"), ("h2", "landed"), ("h3", "late")] {
        assert_eq!(state(&world, "dragon", id).await, expected);
    }
    let (_, _, body) = world.get("/v1/battles/dragon/hits/h3", "").await;
    let expected =
        json!({"hit_id": "h3", "viewer_id": "bob", "damage": 1, "at": AT, "state": "late"});
    assert_eq!(body, expected);
}

/// The view is read first, and then the viewer's totals. A hit may land in between.
#[tokio::test]
async fn a_viewer_is_shown_no_hit_that_the_battle_does_not_know_yet() {
    let world = World::new();
    world.done(&[open("dragon", 100), hit("dragon", "h1", "bob", 60)]).await;
    world.project("a").await;
    let (views, key) =
        (world.projector.projection.views.table(), keys::view(&BattleId::new("dragon").unwrap()));
    let read_before = views.get(key.into_item()).await.unwrap().unwrap().item;
    world.done(&[hit("dragon", "h2", "bob", 7)]).await;
    world.project("a").await;
    let shown = battle(&world, "dragon", "viewer=bob").await;
    assert_eq!((&shown["hits"], &shown["viewer"]), (&json!(2), &json!({"hits": 2, "damage": 67})));
    views.put(read_before).await.unwrap();
    let shown = battle(&world, "dragon", "viewer=bob").await;
    assert_eq!((&shown["hits"], &shown["viewer"]), (&json!(1), &json!({"hits": 1, "damage": 60})));
}

#[tokio::test]
async fn hits_wait_for_their_battle() {
    let world = World::new();
    for number in 0..120 {
        world.done(&[hit("b", &format!("h{number}"), &format!("v{}", number % 40), 1)]).await;
        world.project("a").await;
    }
    assert_eq!(world.get("/v1/battles/b", "").await.0, 404);
    assert_eq!(state(&world, "b", "h0").await, "pending");
    world.done(&[open("b", 100)]).await;
    world.project("a").await;
    let shown = battle(&world, "b", "viewer=v1").await;
    assert_eq!((&shown["state"], &shown["hits"]), (&json!("defeated"), &json!(100)));
    assert_eq!(shown["viewer"], json!({"hits": 3, "damage": 3}));
    assert_eq!(shown["last_hit"]["hit_id"], "h99", "in the order in which they came");
    assert_eq!(state(&world, "b", "h99").await, "landed");
    assert_eq!(state(&world, "b", "h100").await, "late");
}

#[tokio::test]
async fn an_id_belongs_to_the_first_of_its_kind() {
    let world = World::new();
    world.done(&[open("b", 100), hit("b", "h", "bob", 10), hit("c", "h", "eve", 7)]).await;
    let wrong = [open("b", 101), hit("b", "h", "bob", 11), hit("b", "h", "eve", 10)];
    for command in &wrong {
        assert_eq!(world.write(&[&command.to_string()], 1).await, [0_usize; 0]);
    }
    let letters = world.take_dead_letters().await;
    let bodies: BTreeSet<_> = letters.iter().map(|letter| letter.body.clone().unwrap()).collect();
    assert_eq!(bodies, wrong.iter().map(ToString::to_string).collect());
    world.done(&[open("b", 100), hit("b", "h", "bob", 10)]).await;
    world.project("a").await;
    let shown = battle(&world, "b", "").await;
    assert_eq!((&shown["hp_left"], &shown["hits"]), (&json!(90), &json!(1)));
}

/// Compares the answers about a battle, of which everything is folded, with the commands. Returns the number of hits that landed.
async fn check(world: &World, id: &str, hp: u64, hits: &[Value]) -> usize {
    let by_id: BTreeMap<_, _> =
        hits.iter().map(|hit| (hit["hit_id"].as_str().unwrap(), hit)).collect();
    let shown = battle(world, id, "").await;
    let mut landed = BTreeSet::new();
    for hit in by_id.keys() {
        match state(world, id, hit).await.as_str() {
            "landed" => assert!(landed.insert(*hit)),
            other => assert_eq!((other, &shown["state"]), ("late", &json!("defeated")), "{hit}"),
        }
    }
    let damage = |hit: &str| by_id[hit]["damage"].as_u64().unwrap();
    let sum: u64 = landed.iter().map(|hit| damage(hit)).sum();
    assert_eq!(shown["hits"], landed.len());
    assert_eq!(shown["hp_left"], hp.saturating_sub(sum));
    let last = shown["last_hit"]["hit_id"].as_str();
    assert_eq!(last.is_some(), !landed.is_empty());
    if let Some(last) = last {
        assert!(landed.contains(last));
        // Before the last hit, the boss still had hit points.
        assert!(sum - damage(last) < hp);
    }
    if sum < hp {
        assert_eq!((landed.len(), &shown["state"]), (by_id.len(), &json!("open")));
    } else {
        assert_eq!(shown["state"], "defeated");
    }
    let viewers: BTreeSet<_> =
        by_id.values().map(|hit| hit["viewer_id"].as_str().unwrap()).collect();
    for viewer in viewers {
        let theirs = landed.iter().filter(|hit| by_id[**hit]["viewer_id"] == viewer);
        let theirs: Vec<_> = theirs.map(|hit| damage(hit)).collect();
        let expected = json!({"hits": theirs.len(), "damage": theirs.iter().sum::<u64>()});
        assert_eq!(battle(world, id, &format!("viewer={viewer}")).await["viewer"], expected);
    }
    landed.len()
}

#[tokio::test]
async fn many_hits_land_with_one_write() {
    let world = World::new();
    let hits: Vec<_> = (0..3_000)
        .map(|number| {
            hit("b", &format!("h{number}"), &format!("v{}", number % 300), 1 + number % 7)
        })
        .collect();
    world.done(&[open("b", 9_000)]).await;
    world.done(&hits).await;
    let before = world.projector.projection.views.table().dynamo().usage().written;
    project(&world, "a", &records(&world)).await;
    let written = world.projector.projection.views.table().dynamo().usage().written - before;
    let landed = check(&world, "b", 9_000, &hits).await;
    assert!((2_000..3_000).contains(&landed), "{landed}");
    // For each thousand hits, the totals of a viewer are written once. Each hit has one item, with its number.
    assert!(written < landed as u64 + 1_000, "{written}");
}

/// Denies `BatchWriteItem` as long as `denies` is set.
#[derive(Debug)]
struct Denying {
    inside: SharedHttpConnector,
    denies: Arc<AtomicBool>,
}

impl HttpConnector for Denying {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let denies = target.ends_with(".BatchWriteItem") && self.denies.load(Ordering::Relaxed);
        let (inside, fault) = (self.inside.clone(), denies.then_some(Fault::Denied));
        HttpConnectorFuture::new(async move { inject(fault, request, &inside).await })
    }
}

#[tokio::test]
async fn what_viewers_are_owed_is_written_by_whoever_comes_next() {
    let denies = Arc::new(AtomicBool::new(false));
    let world = World::behind(|inside| {
        SharedHttpConnector::new(Denying { inside, denies: Arc::clone(&denies) })
    });
    let mut hits: Vec<_> = (0..40)
        .map(|number| hit("b", &format!("h{number}"), &format!("v{}", number % 8), 5))
        .collect();
    world.done(&[open("b", 260)]).await;
    world.done(&hits).await;
    denies.store(true, Ordering::Relaxed);
    let batch = event("a", &records(&world)).unwrap();
    let answer = world.fold(batch, soon()).await.unwrap();
    assert_eq!(answer.batch_item_failures.len(), 1);
    // The order is decided, but readers are shown nothing of it yet: neither the battle's new state nor the viewer's totals.
    let shown = battle(&world, "b", "viewer=v1").await;
    assert_eq!((&shown["hits"], &shown["viewer"]["hits"]), (&json!(0), &json!(0)));
    assert_eq!((&shown["hp_left"], &shown["last_hit"]), (&json!(260), &json!(null)));
    assert_eq!(state(&world, "b", "h39").await, "pending");
    denies.store(false, Ordering::Relaxed);
    // The batch that is delivered again may be larger, so it gets hits that are not folded yet.
    hits.extend((40..60).map(|number| hit("b", &format!("h{number}"), "v1", 5)));
    world.done(&hits).await;
    project(&world, "a", &records(&world)).await;
    assert_eq!(check(&world, "b", 260, &hits).await, 52);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn there_is_one_order(
        drawn in proptest::collection::vec((0_u8..30, 0_u8..4, 1_u64..40), 1..40),
        hp in 1_u64..400,
        opened in 0_usize..40,
        cuts in proptest::collection::vec((0_usize..3, 0_usize..30, 1_usize..30), 0..12),
    ) {
        let mut hits: Vec<Value> = Vec::new();
        for (id, viewer, damage) in drawn {
            let id = format!("h{id}");
            if hits.iter().all(|hit| hit["hit_id"] != id) {
                hits.push(hit("b", &id, &format!("v{viewer}"), damage));
            }
        }
        let mut commands = hits.clone();
        commands.insert(opened.min(commands.len()), open("b", hp));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            for command in commands.iter().chain(commands.iter().rev()) {
                world.done(std::slice::from_ref(command)).await;
            }
            let all = records(&world);
            let shards = [0, 1, 2].map(|shard| {
                let is_here = |record: &&StreamRecord| {
                    record.keys.get().bytes().map(usize::from).sum::<usize>() % 3 == shard
                };
                all.iter().filter(is_here).cloned().collect::<Vec<_>>()
            });
            let (mut reached, mut left, mut last) = ([0; 3], hp, Value::Null);
            for (shard, start, length) in cuts {
                let start = start.min(reached[shard]);
                let end = (start + length).min(shards[shard].len());
                project(&world, &shard.to_string(), &shards[shard][start..end]).await;
                reached[shard] = reached[shard].max(end);
                let shown = battle(&world, "b", "").await;
                assert!(shown["hp_left"].as_u64().unwrap() <= left);
                assert!(left > 0 || shown["last_hit"] == last, "the last hit has changed");
                (left, last) = (shown["hp_left"].as_u64().unwrap(), shown["last_hit"].clone());
            }
            let folds = shards.iter().enumerate().map(async |(shard, records)| {
                project(&world, &shard.to_string(), records).await;
            });
            join_all(folds).await;
            check(&world, "b", hp, &hits).await;
            let at_rest = battle(&world, "b", "").await;
            for (shard, records) in shards.iter().enumerate() {
                project(&world, &shard.to_string(), records).await;
            }
            assert_eq!(battle(&world, "b", "").await, at_rest);
        });
    }
}
