//! Erasing whoever votes, hits, and opens polls and battles: sums follow, what was done stays, and no name does.

use nagare_operator::audit::ViewsAuditor;
use nagare_operator::erasure::{Erased, Erasure, ErasureError};
use serde_json::{Value, json};
use shared::platform::dynamo::item::Item;
use shared::platform::values::{ActivityId, ActorId, ViewerId};
use tests::{World, publish};

use crate::platform::projecting::{everything, names, projecting};

/// Whom all of this is about.
const ANNA: &str = "anna-who-leaves";

fn at(second: usize) -> String {
    format!("2026-11-20T11:00:{second:02}.000Z")
}

fn poll(poll: &str, actor: &str) -> Value {
    json!({"type": "poll.opened", "poll_id": poll, "actor_id": actor, "choices": ["red", "blue"],
        "opens_at": at(10), "closes_at": at(50), "payload": format!("secret of {actor}")})
}

fn vote(viewer: &str, poll: &str, choice: &str, second: usize) -> Value {
    json!({"type": "vote.cast", "poll_id": poll, "viewer_id": viewer, "choice": choice, "at": at(second)})
}

fn close(poll: &str, actor: &str) -> Value {
    json!({"type": "poll.closed", "poll_id": poll, "actor_id": actor, "at": at(45)})
}

fn battle(battle: &str, actor: &str, hp: u64) -> Value {
    json!({"type": "battle.opened", "battle_id": battle, "actor_id": actor, "hp": hp, "at": at(0),
        "payload": format!("secret of {actor}")})
}

fn hit(battle: &str, number: usize, viewer: &str) -> Value {
    json!({"type": "battle.hit", "battle_id": battle, "hit_id": format!("h{number}"), "viewer_id": viewer,
        "damage": 2, "at": at(20)})
}

async fn forget(world: &World) -> Result<Erased, ErasureError> {
    let tables = &world.tables;
    let (facts_and_views, timelines) = ((&tables.facts, &tables.views), tables.timelines.clone());
    let (person, clock) = (ActorId::new(ANNA).unwrap(), world.clock.clone());
    let retention = world.writer.retention;
    Erasure::new(person, &tables.ledger, facts_and_views, timelines, retention, clock)
        .unwrap()
        .run()
        .await
}

/// What names her among facts and views.
async fn left(world: &World) -> [Vec<Item>; 2] {
    let (facts, views) = (world.tables.facts.table(), world.tables.views.table());
    let mut left = [everything(facts).await, everything(views).await];
    left.iter_mut().for_each(|items| items.retain(|item| names(item, ANNA)));
    left
}

/// Nothing that is left says more than that it was hers, and all of it expires.
async fn only_tombstones(world: &World) {
    for item in left(world).await.into_iter().flatten() {
        assert!(item.contains_key("forget_at") && !names(&item, "secret"), "{item:?}");
    }
}

async fn shown(world: &World, path: &str) -> Value {
    let (status, _, body) = world.get(path, "").await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

async fn sums(world: &World, poll: &str) -> [u64; 2] {
    let shown = shown(world, &format!("/v1/polls/{poll}")).await;
    [0, 1].map(|place| shown["choices"][place]["votes"].as_u64().unwrap())
}

fn like(viewer: &str, second: usize) -> Value {
    json!({"type": "like.created", "viewer_id": viewer, "activity_id": "his", "at": at(second)})
}

/// No difference between what bob is told and a recount.
async fn audited(world: &World) {
    let tables = &world.tables;
    let auditor = ViewsAuditor::new(&tables.facts, &tables.views, world.clock.clone());
    let his = [ActivityId::new("his").unwrap()];
    let found = projecting(world, auditor.activities(&his, false)).await.unwrap();
    assert!(found.differences.is_empty(), "{found:?}");
    let bob = [ViewerId::new("bob").unwrap()];
    assert!(auditor.inboxes(&bob, false).await.unwrap().differences.is_empty());
}

/// State, number, names, first and last instant of what bob is told. The first of many is not known
/// once it is erased.
async fn told(world: &World) -> (u64, Vec<Value>) {
    let told = shown(world, "/v1/notifications/bob").await;
    let said = |it: &Value| {
        let first_at = Some(&it["first_at"]).filter(|_| it["count"].as_u64() < Some(10));
        json!([it["state"], it["count"], it["viewers"], first_at, it["last_at"]])
    };
    let items = told["items"].as_array().unwrap().iter().map(said).collect();
    (told["unread_count"].as_u64().unwrap(), items)
}

/// Read before or after others liked, or not at all, and known by name or not: what is told is what
/// there would be without her.
#[tokio::test(start_paused = true)]
async fn likes_of_whoever_is_erased_count_no_more() {
    const READ: [Option<usize>; 4] = [None, Some(1), Some(3), Some(40)];
    for (others, hers) in [(0, 0), (4, 0), (4, 2), (4, 4), (40, 0), (40, 20), (40, 40)] {
        for read in READ.into_iter().filter(|read| read.is_none_or(|read| read <= others + 1)) {
            let case = format!("the {hers}th of {others} others, {read:?} are read");
            let mut worlds = Vec::new();
            for is_there in [true, false] {
                let world = World::new();
                world.done(&[publish("bob", "his", &at(0))]).await;
                let mut likers: Vec<_> = (0..others).map(|n| format!("v{n:02}")).collect();
                likers.insert(hers, ANNA.to_owned());
                for (n, liker) in likers.iter().enumerate() {
                    if is_there || liker != ANNA {
                        world.done(&[like(liker, n)]).await;
                    }
                    if Some(n + 1) == read {
                        world.project("a").await;
                        let all =
                            json!({"type": "notifications.read", "viewer_id": "bob", "all": true});
                        world.done(&[all]).await;
                    }
                }
                world.project("a").await;
                worlds.push(world);
            }
            let [world, without] = [&worlds[0], &worlds[1]];
            let before = shown(world, "/v1/notifications/bob").await;
            projecting(world, forget(world)).await.unwrap();
            assert_eq!(told(world).await, told(without).await, "{case}");
            audited(world).await;
            // A number of before marks what it did, and what comes then is unread.
            world.done(&[like("late", 50)]).await;
            world.project("a").await;
            let first =
                before["items"].as_array().unwrap().iter().find(|it| it["state"] == "unread");
            if let Some(it) = first {
                let read =
                    [json!({"notification_id": it["notification_id"], "through": it["through"]})];
                let mark = json!({"type": "notifications.read", "viewer_id": "bob", "read": read});
                world.done(&[mark]).await;
                world.project("a").await;
            }
            let (unread, items) = told(world).await;
            assert_eq!((unread, &items[0][2]), (1, &json!(["late"])), "{case}");
            let read: u64 = items[1..].iter().map(|it| it[1].as_u64().unwrap()).sum();
            assert_eq!(read, others as u64, "{case}");
            audited(world).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn votes_are_withdrawn_and_polls_are_gone() {
    for is_projected in [false, true] {
        let world = World::new();
        let commands = [
            poll("hers", ANNA),
            poll("his", "bob"),
            vote("bob", "hers", "red", 20),
            vote(ANNA, "his", "red", 20),
            vote(ANNA, "his", "blue", 30),
            vote("eve", "his", "blue", 30),
            vote(ANNA, "later", "red", 20),
            vote("eve", "later", "red", 20),
            close("hers", ANNA),
            close("his", ANNA),
            close("later", ANNA),
        ];
        world.done(&commands).await;
        if is_projected {
            world.project("a").await;
            assert_eq!(sums(&world, "his").await, [0, 2]);
        }
        let erased = projecting(&world, forget(&world)).await.unwrap();
        assert_eq!((erased.votes, erased.polls), (3, 1));
        assert_eq!(world.get("/v1/polls/hers", "").await.0, 404);
        assert_eq!(sums(&world, "his").await, [0, 1]);
        only_tombstones(&world).await;
        // What comes again brings nothing back, and what is new counts.
        world.done(&commands).await;
        world.done(&[poll("later", "bob"), vote(ANNA, "later", "blue", 40)]).await;
        world.project("a").await;
        assert_eq!((sums(&world, "his").await, sums(&world, "later").await), ([0, 1], [1, 0]));
        only_tombstones(&world).await;
        let erased = projecting(&world, forget(&world)).await.unwrap();
        assert_eq!((erased.votes, erased.polls), (0, 0));
    }
}

/// Votes that were cast since the erasure, and wait, are not taken for those before it.
#[tokio::test(start_paused = true)]
async fn who_comes_back_votes_again() {
    let world = World::new();
    let votes: Vec<_> = (0..250)
        .map(|n| vote(ANNA, "later", "red", 10).to_string().replace(".000", &format!(".{n:03}")))
        .collect();
    for vote in &votes {
        assert_eq!(world.write(&[vote], 1).await, [0_usize; 0]);
    }
    world.set_clock(&at(15));
    projecting(&world, forget(&world)).await.unwrap();
    only_tombstones(&world).await;
    let facts = left(&world).await[0].clone();
    assert!(facts.iter().all(|item| item.len() == 4), "key, mark and instant: {facts:?}");
    world.done(&[vote(ANNA, "later", "blue", 20)]).await;
    world.project("a").await;
    let [_, views] = left(&world).await;
    assert_eq!(views.len(), 1, "it waits");
    world.done(&[poll("later", "bob")]).await;
    world.project("a").await;
    assert_eq!(sums(&world, "later").await, [0, 1]);
    for vote in &votes {
        assert_eq!(world.write(&[vote], 1).await, [0_usize; 0]);
    }
    world.project("a").await;
    assert_eq!(sums(&world, "later").await, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn hits_stay_without_the_name_and_battles_are_gone() {
    for is_projected in [false, true] {
        let world = World::new();
        let viewers = ["bob", ANNA];
        let mut commands = vec![battle("hers", ANNA, 1_000), battle("his", "bob", 100)];
        commands.extend((0..52).map(|n| hit("his", n, viewers[n % 2])));
        commands.extend((0..4).map(|n| hit("hers", n, viewers[n % 2])));
        commands.extend((0..4).map(|n| hit("later", n, viewers[n % 2])));
        if is_projected {
            for some in commands.chunks(9) {
                world.done(some).await;
                world.project("a").await;
            }
        } else {
            world.done(&commands).await;
        }
        let erased = projecting(&world, forget(&world)).await.unwrap();
        assert_eq!((erased.hits, erased.battles), (32, 1));
        only_tombstones(&world).await;
        assert_eq!(world.get("/v1/battles/hers", "").await.0, 404);
        let expected = json!({"hit_id": "h49", "viewer_id": null, "damage": 2, "at": at(20)});
        let his = shown(&world, "/v1/battles/his").await;
        assert_eq!(
            (&his["hits"], &his["hp_left"], &his["last_hit"]),
            (&json!(50), &json!(0), &expected)
        );
        // Nobody is left of whom it could be told.
        assert_eq!(world.get("/v1/battles/his/hits/h49", "").await.0, 404);
        assert_eq!(shown(&world, "/v1/battles/his/hits/h48").await["state"], "landed");
        world.done(&commands).await;
        world.done(&[battle("later", "bob", 7)]).await;
        world.project("a").await;
        only_tombstones(&world).await;
        let later = shown(&world, "/v1/battles/later").await;
        assert_eq!((&later["hits"], &later["hp_left"]), (&json!(4), &json!(0)));
        let [_, views] = left(&world).await;
        let is_share = |item: &&Item| item["pk"].as_s().unwrap().contains(&format!("#{ANNA}"));
        assert_eq!(views.iter().filter(is_share).count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_cleared_before_it_is_projected() {
    let world = World::new();
    world.done(&[vote(ANNA, "later", "red", 20)]).await;
    let failed = forget(&world).await;
    assert!(matches!(failed, Err(ErasureError::NotProjected(_))), "{failed:?}");
    world.project("a").await;
    projecting(&world, forget(&world)).await.unwrap();
    only_tombstones(&world).await;
    assert_eq!(left(&world).await[1], [], "nothing waits");
}
