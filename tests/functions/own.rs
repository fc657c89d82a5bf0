//! What is counted and what is the caller's own are of one moment: if everybody is asked, as many like an activity as are
//! counted, however far rows are ahead of the view and wherever the projector has died.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fastrand::Rng;
use nagare::local::stream_source::event;
use serde_json::{Value, json};
use shared::values::Timestamp;
use tests::{World, publish, soon};

use crate::battles::Dying;
use crate::projecting::{everything, project, records};
use crate::yielding::Yielding;

const AT: &str = "2026-11-20T11:00:00.000Z";
/// Of how many viewers entries do not fit into a view.
const MANY: usize = 45;

fn at(second: usize) -> String {
    let second = i64::try_from(second).unwrap();
    AT.parse::<Timestamp>().unwrap().plus_millis(second * 1_000).to_string()
}

fn like(viewer: usize, second: usize, liked: bool) -> Value {
    let what = if liked { "like.created" } else { "like.deleted" };
    json!({"type": what, "viewer_id": format!("v{viewer}"), "activity_id": "a", "at": at(second)})
}

fn poll() -> Value {
    json!({"type": "poll.opened", "poll_id": "p", "actor_id": "anna", "choices": ["red", "blue"],
        "opens_at": AT, "closes_at": at(3_000)})
}

fn vote(viewer: usize, second: usize, choice: Option<usize>) -> Value {
    let mut vote = json!({"type": "vote.withdrawn", "poll_id": "p", "viewer_id": format!("v{viewer}"), "at": at(second)});
    if let Some(choice) = choice {
        vote["type"] = json!("vote.cast");
        vote["choice"] = json!(["red", "blue"][choice % 2]);
    }
    vote
}

async fn get(world: &World, path: &str, viewer: usize) -> Value {
    let (status, _, body) = world.get(path, &format!("viewer=v{viewer}")).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// Whoever is asked, their answers come to what is counted. Returns how many like the activity.
async fn likes_agree(world: &World, what: &str) -> usize {
    let (mut count, mut liked) = (Value::Null, 0);
    for viewer in 0..MANY + 5 {
        let likes = get(world, "/v1/activities/a", viewer).await["likes"].clone();
        count = likes["count"].clone();
        liked += usize::from(likes["liked"] == json!(true));
    }
    assert_eq!(count, json!(liked), "{what}");
    liked
}

async fn votes_agree(world: &World, what: &str) -> usize {
    let (mut choices, mut votes) = (Value::Null, BTreeMap::from([("red", 0), ("blue", 0)]));
    for viewer in 0..MANY + 5 {
        let poll = get(world, "/v1/polls/p", viewer).await;
        if let Some(choice) = poll["vote"].as_str() {
            *votes.get_mut(choice).unwrap() += 1;
        }
        choices = poll["choices"].clone();
    }
    let expected = json!([{"choice": "red", "votes": votes["red"]}, {"choice": "blue", "votes": votes["blue"]}]);
    assert_eq!(choices, expected, "{what}");
    votes["red"] + votes["blue"]
}

/// Folds some batches, and dies at the nth call of each of them before it is folded whole. Returns whether it has died.
async fn dies_at(
    calls: usize,
    batches: &[Vec<Value>],
    agree: impl AsyncFn(&World, &str) -> usize,
) -> (bool, Vec<usize>) {
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let world =
        World::behind(|inside| SharedHttpConnector::new(Dying { inside, left: Arc::clone(&left) }));
    let (mut has_died, mut shown, mut folded) = (false, Vec::new(), 0);
    for (n, batch) in batches.iter().enumerate() {
        world.done(batch).await;
        shown.push(agree(&world, &format!("batch {n} on record")).await);
        let all = records(&world);
        let new = &all[folded..];
        left.store(calls, Ordering::Relaxed);
        let answer = world.projector.handle(event("s", new).unwrap(), soon()).await;
        left.store(usize::MAX, Ordering::Relaxed);
        has_died |= !answer.is_ok_and(|answer| answer.batch_item_failures.is_empty());
        agree(&world, &format!("batch {n}, died after {calls} calls")).await;
        project(&world, "s", new).await;
        shown.push(agree(&world, &format!("batch {n} is folded")).await);
        folded = all.len();
    }
    (has_died, shown)
}

#[tokio::test]
async fn as_many_like_it_as_are_counted_wherever_the_projector_dies() {
    let batches = [
        (0..20).map(|viewer| like(viewer, 1, true)).chain([publish("anna", "a", AT)]).collect(),
        (10..MANY).map(|viewer| like(viewer, 2, true)).collect(),
        (0..MANY + 5).map(|viewer| like(viewer, 3, viewer % 3 > 0)).collect(),
        (0..MANY).map(|viewer| like(viewer, 4, viewer % 2 > 0)).collect::<Vec<_>>(),
        vec![like(0, 5, true), like(0, 6, false), like(1, 5, false), like(2, 6, true)],
    ];
    let mut died = 0;
    for calls in 0.. {
        let (has_died, shown) = dies_at(calls, &batches, likes_agree).await;
        assert_eq!(shown, [0, 20, 20, 45, 45, 33, 33, 25, 25, 25]);
        if !has_died {
            break;
        }
        died += 1;
    }
    assert!(died > 3, "{died}");
}

#[tokio::test]
async fn as_many_have_voted_as_are_counted_wherever_the_projector_dies() {
    let batches = [
        (0..20).map(|viewer| vote(viewer, 1, Some(viewer))).chain([poll()]).collect(),
        (10..MANY).map(|viewer| vote(viewer, 20, Some(viewer + 1))).collect(),
        (0..MANY + 5).map(|v| vote(v, 30, (v % 3 > 0).then_some(v))).collect::<Vec<_>>(),
        (0..MANY).flat_map(|v| (40..46).map(move |n| vote(v, n, Some(v + n)))).collect(),
        vec![json!({"type": "poll.closed", "poll_id": "p", "actor_id": "anna", "at": at(25)})],
        vec![vote(0, 24, Some(1)), vote(1, 35, Some(0)), vote(49, 22, Some(1)), vote(12, 2, None)],
    ];
    let mut died = 0;
    for calls in 0.. {
        let (has_died, shown) = dies_at(calls, &batches, votes_agree).await;
        assert_eq!(shown, [0, 20, 20, 45, 45, 33, 33, 48, 48, 45, 45, 46]);
        if !has_died {
            break;
        }
        died += 1;
    }
    assert!(died > 3, "{died}");
}

/// Only one viewer changes what is counted. Others like it and do not, so that what is said of that viewer moves out of the
/// view, and calls of readers and projector go one before the other in any order.
#[tokio::test]
async fn readers_and_projector_at_once() {
    let mut seen = BTreeMap::<bool, usize>::new();
    for seed in 0..12 {
        let random = Arc::new(Mutex::new(Rng::with_seed(seed)));
        let world = World::behind(|inside| SharedHttpConnector::new(Yielding { inside, random }));
        world.done(&[publish("anna", "a", AT), like(1_000, 1, true)]).await;
        world.project("s").await;
        let mut folded = records(&world).len();
        let work = async {
            for n in 1..8 {
                world.done(&[like(0, 10 * n, n % 2 > 0)]).await;
                let others = (1..MANY).flat_map(|viewer| {
                    [like(viewer, 10 * n, true), like(viewer, 10 * n + 1, false)]
                });
                world.done(&others.collect::<Vec<_>>()).await;
                let all = records(&world);
                let (one, others) = all[folded..].split_at(1);
                for batch in [one, others] {
                    project(&world, "s", batch).await;
                }
                folded = all.len();
            }
        };
        let look = async {
            loop {
                let likes = get(&world, "/v1/activities/a", 0).await["likes"].clone();
                let liked = likes["liked"] == json!(true);
                assert_eq!(likes["count"], json!(1 + usize::from(liked)), "seed {seed}");
                *seen.entry(liked).or_default() += 1;
            }
        };
        tokio::select! {
            () = work => {}
            () = look => unreachable!("it never ends"),
        }
    }
    assert!(seen.values().all(|times| *times > 100) && seen.len() == 2, "{seen:?}");
}

/// Few likes cost nothing beside the view; of many each is stated once, and nothing of it names anybody.
#[tokio::test]
async fn what_few_have_liked_is_said_by_the_view_alone() {
    let world = World::new();
    let statements = async || {
        let items = everything(world.tables.views.table()).await;
        items.iter().filter(|item| item["pk"].as_s().unwrap().starts_with("own#")).count()
    };
    world.done(&(0..30).map(|viewer| like(viewer, 1, true)).collect::<Vec<_>>()).await;
    world.project("s").await;
    assert_eq!(statements().await, 0);
    let mut folded = records(&world).len();
    for (round, expected) in [(0, 30), (1, 70), (2, 110)] {
        let more: Vec<_> = (0..40).map(|n| like(100 + 40 * round + n, 2, true)).collect();
        world.done(&more).await;
        let all = records(&world);
        project(&world, "s", &all[folded..]).await;
        folded = all.len();
        assert_eq!(statements().await, expected, "{round}");
    }
    for item in everything(world.tables.views.table()).await {
        let is_statement = item["pk"].as_s().unwrap().starts_with("own#");
        assert!(!is_statement || !crate::projecting::names(&item, "v1"), "{item:?}");
    }
}
