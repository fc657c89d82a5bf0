//! Audits of battles: they are replayed from their logs, and what is shown is repaired while hits go on.

use std::time::Duration;

use nagare_operator::audit::{BattleDifference, Found, ViewsAuditor};
use serde_json::{Value, json};
use shared::platform::dynamo::item::{Item, Key, number};
use shared::platform::values::{BattleId, ViewerId};
use shared::social::battles::{Contradiction, keys};
use tests::World;

use crate::platform::projecting::{projecting, projecting_behind};

const AT: &str = "2026-11-20T11:00:00.000Z";

fn open(hp: usize) -> Value {
    json!({"type": "battle.opened", "battle_id": "b", "actor_id": "anna", "hp": hp, "at": AT, "payload": null})
}

fn hit(number: usize) -> Value {
    json!({"type": "battle.hit", "battle_id": "b", "hit_id": format!("h{number}"),
        "viewer_id": format!("v{}", number % 7), "damage": 2, "at": AT})
}

fn battle() -> BattleId {
    BattleId::new("b").unwrap()
}

/// A battle with `hits` hits, folded nine at a time.
async fn fought(hp: usize, hits: usize) -> World {
    let world = World::new();
    world.done(&[open(hp)]).await;
    for batch in (0..hits).collect::<Vec<_>>().chunks(9) {
        world.done(&batch.iter().map(|number| hit(*number)).collect::<Vec<_>>()).await;
        projecting(&world, tokio::time::sleep(Duration::from_millis(20))).await;
    }
    assert!(audit(&world, false).await.differences.is_empty());
    world
}

async fn audit(world: &World, repair: bool) -> Found<BattleDifference, BattleId> {
    audit_behind(world, 0, repair).await
}

async fn audit_behind(
    world: &World,
    first: i64,
    repair: bool,
) -> Found<BattleDifference, BattleId> {
    let tables = &world.tables;
    let auditor = ViewsAuditor::new(&tables.facts, &tables.views, world.clock.clone());
    let battles = [battle(), BattleId::new("unknown").unwrap()];
    let found = projecting_behind(world, first, auditor.battles(&battles, repair)).await.unwrap();
    assert_eq!(found.busy, []);
    found
}

async fn stored(world: &World, key: Key) -> Item {
    world.tables.views.table().get(key.into_item()).await.unwrap().unwrap().item
}

async fn shown(world: &World, query: &str) -> Value {
    world.get("/v1/battles/b", query).await.2
}

fn share(viewer: &str) -> String {
    keys::of_viewer(&battle(), &ViewerId::new(viewer).unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_differs_from_the_log_is_found_and_mended() {
    let world = fought(100, 40).await;
    let before = shown(&world, "viewer=v3").await;
    assert_eq!((&before["hp_left"], &before["viewer"]["hits"]), (&json!(20), &json!(6)));
    let mut item = stored(&world, keys::view(&battle())).await;
    item.insert("hp_left".to_owned(), number(77));
    item.insert("hits".to_owned(), number(41));
    item.remove("last_hit");
    world.tables.views.table().put(item).await.unwrap();
    // One viewer has lost an item, another has one too many.
    let all = crate::platform::projecting::everything(world.tables.views.table()).await;
    let of = |viewer: &str| all.iter().find(|item| item["pk"].as_s().unwrap() == &share(viewer));
    let key =
        |item: &Item| Item::from(["pk", "sk"].map(|name| (name.to_owned(), item[name].clone())));
    let lost = key(of("v3").unwrap());
    world.tables.views.table().delete(lost, None).await.unwrap();
    let mut forged = of("v4").unwrap().clone();
    forged.insert("sk".to_owned(), shared::platform::dynamo::item::text("00000000000000000001"));
    world.tables.views.table().put(forged).await.unwrap();
    let found = audit(&world, false).await;
    assert_eq!((found.differences.len(), found.mended), (3, 0), "{found:?}");
    let BattleDifference::View { stored, replayed, .. } = &found.differences[0] else {
        panic!("{found:?}")
    };
    assert_eq!(stored.as_ref().map(|it| (it.hits, it.hp_left)), Some((41, 77)));
    assert_eq!((replayed.hits, replayed.hp_left), (40, 20));
    let found = audit(&world, true).await;
    assert_eq!((found.differences.len(), found.mended), (3, 3));
    assert!(audit(&world, false).await.differences.is_empty());
    assert_eq!(shown(&world, "viewer=v3").await, before);
    assert_eq!(shown(&world, "viewer=v4").await["viewer"]["hits"], 6);
    // It goes on to its last hit.
    world.done(&(40..60).map(hit).collect::<Vec<_>>()).await;
    projecting(&world, tokio::time::sleep(Duration::from_secs(1))).await;
    let after = shown(&world, "").await;
    assert_eq!((&after["hits"], &after["state"]), (&json!(50), &json!("defeated")));
    assert!(audit(&world, false).await.differences.is_empty(), "what is late is no difference");
}

/// What the log itself contradicts is told and stays as it is.
#[tokio::test(start_paused = true)]
async fn a_log_that_lacks_hits_mends_nothing() {
    let world = fought(100, 40).await;
    let before = shown(&world, "").await;
    let block = Key { pk: keys::view(&battle()).pk, sk: keys::log(0) };
    let there = stored(&world, block.clone()).await;
    world.tables.views.table().delete(block.into_item(), None).await.unwrap();
    for repair in [false, true] {
        let found = audit(&world, repair).await;
        let told = |wanted: Contradiction| {
            let is = |it: &&BattleDifference| matches!(it, BattleDifference::Log { contradiction, .. } if *contradiction == wanted);
            found.differences.iter().filter(is).count()
        };
        assert!(
            told(Contradiction::BehindAGap) > 0 && told(Contradiction::NeverLanded) > 0,
            "{found:?}"
        );
        assert_eq!(found.mended, 0);
    }
    assert_eq!(shown(&world, "").await, before);
    world.tables.views.table().put(there).await.unwrap();
    assert!(audit(&world, false).await.differences.is_empty());
}

/// A hit that does something else than what is on record.
#[tokio::test(start_paused = true)]
async fn what_is_on_record_is_compared_with_the_log() {
    let world = fought(100, 10).await;
    let facts = world.tables.facts.table();
    let key = keys::hit(&battle(), &shared::platform::values::HitId::new("h4").unwrap());
    let mut item = facts.get(key.into_item()).await.unwrap().unwrap().item;
    item.insert("damage".to_owned(), number(3));
    facts.put(item).await.unwrap();
    let found = audit(&world, true).await;
    let [BattleDifference::Log { hit_id, contradiction, .. }] = &found.differences[..] else {
        panic!("{found:?}")
    };
    assert_eq!((hit_id.as_str(), *contradiction), ("h4", Contradiction::NotAsRecorded));
    assert_eq!(shown(&world, "").await["hp_left"], 80);
}

/// A view that is gone is made again from what is left of the log.
#[tokio::test(start_paused = true)]
async fn a_view_that_is_lost_is_made_again_from_the_log() {
    let world = fought(100, 18).await;
    let view = keys::view(&battle());
    assert!(!stored(&world, view.clone()).await.contains_key("latest"), "all is in blocks");
    let before = shown(&world, "").await;
    world.tables.views.table().delete(view.into_item(), None).await.unwrap();
    // The projector has gone on: nothing of before comes again.
    let last = world.engine.stream_behind(0, usize::MAX).unwrap().last().unwrap().number;
    let found = audit_behind(&world, last, true).await;
    assert_eq!((found.differences.len(), found.mended), (1, 1), "{found:?}");
    assert_eq!(shown(&world, "").await, before);
    world.done(&[hit(18)]).await;
    projecting_behind(&world, last, tokio::time::sleep(Duration::from_secs(1))).await;
    assert_eq!(shown(&world, "").await["hits"], 19);
    assert!(audit_behind(&world, last, false).await.differences.is_empty());
}
