//! The parts of one answer are of one moment, and each costs as much for who has hit ten thousand times as for who has
//! hit once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::stream_source::event;
use serde_json::{Value, json};
use tests::{World, soon};

use super::{battle, hit, open, state};
use crate::platform::projecting::{everything, records};
use crate::platform::units::UnitCounter;

/// Lets a number of calls of some operations through, and fails those behind them.
#[derive(Debug)]
pub(crate) struct Dying {
    pub(crate) inside: SharedHttpConnector,
    pub(crate) left: Arc<AtomicUsize>,
}

impl HttpConnector for Dying {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(1))
        });
        let fault = (left == Ok(0)).then_some(nagare_local::faults::Fault::Denied);
        let inside = self.inside.clone();
        HttpConnectorFuture::new(async move {
            nagare_local::faults::inject(fault, request, &inside).await
        })
    }
}

/// Whether an answer is of one moment, in which `others` is the most that others may have hit.
fn agrees(shown: &Value, others: u64) -> bool {
    let number = |value: &Value| value.as_u64().unwrap();
    let (hits, own) = (number(&shown["hits"]), number(&shown["viewer"]["hits"]));
    let damage = number(&shown["hp"]) - number(&shown["hp_left"]);
    (own..=own + others).contains(&hits) && number(&shown["viewer"]["damage"]) <= damage
}

/// The projector dies after each of its calls in turn. What is answered then is of one moment, and the next delivery
/// completes it.
#[tokio::test]
async fn an_answer_is_of_one_moment_wherever_the_projector_dies() {
    let mut died = 0;
    for calls in 0..40 {
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let world = World::behind(|inside| {
            SharedHttpConnector::new(Dying { inside, left: Arc::clone(&left) })
        });
        world.done(&[open("b", 1_000)]).await;
        world.project("a").await;
        let hits: Vec<_> =
            (0..9).map(|n| hit("b", &format!("h{n}"), ["bob", "eve"][n % 2], 5)).collect();
        world.done(&hits).await;
        let all = records(&world);
        left.store(calls, Ordering::Relaxed);
        let answer = world.fold(event("a", &all).unwrap(), soon()).await;
        let failed = !answer.is_ok_and(|answer| answer.batch_item_failures.is_empty());
        left.store(usize::MAX, Ordering::Relaxed);
        for (viewer, others) in [("bob", 4), ("eve", 5), ("dan", 9)] {
            let shown = battle(&world, "b", &format!("viewer={viewer}")).await;
            let known = shown["hits"].as_u64().unwrap();
            assert!(agrees(&shown, others), "after {calls} calls: {shown}");
            assert!([0, 9].contains(&known), "after {calls} calls: {shown}");
            let landed = if known == 9 { "landed" } else { "pending" };
            assert_eq!(state(&world, "b", "h8").await, landed, "after {calls} calls");
        }
        world.fold(event("a", &all).unwrap(), soon()).await.unwrap();
        let shown = battle(&world, "b", "viewer=bob").await;
        assert_eq!(
            (&shown["hits"], &shown["viewer"]),
            (&json!(9), &json!({"hits": 5, "damage": 25}))
        );
        if !failed {
            break;
        }
        died += 1;
    }
    assert!(died > 6, "{died}");
}

/// What is read of a viewer's hits, whatever their number: the view, what was opened or the hit, and one item.
#[tokio::test]
async fn who_has_hit_many_times_is_read_as_cheaply_as_who_has_hit_once() {
    let counter = UnitCounter::new();
    counter
        .uncounted(async |world| {
            world.done(&[open("b", 1_000_000)]).await;
            for round in 0..40 {
                let hits: Vec<_> = (0..50)
                    .map(|n| hit("b", &format!("hit-{round}-{n}"), "bob", 1))
                    .chain([hit("b", &format!("once-{round}"), &format!("v{round}"), 1)])
                    .collect();
                world.done(&hits).await;
                world.project("a").await;
            }
        })
        .await;
    for (viewer, theirs) in [("bob", 2_000), ("v7", 1), ("nobody", 0)] {
        let shown = battle(&counter.world, "b", &format!("viewer={viewer}")).await;
        let used = counter.take();
        assert_eq!((&shown["hits"], &shown["viewer"]["hits"]), (&json!(2_040), &json!(theirs)));
        assert!(used.calls == 3 && used.reads <= 4.0, "{viewer}: {used:?}");
    }
    for id in ["hit-0-0", "hit-39-49", "once-7"] {
        assert_eq!(state(&counter.world, "b", id).await, "landed");
        let used = counter.take();
        assert!(used.calls == 3 && used.reads <= 4.0, "{id}: {used:?}");
    }
}

/// Long ids, thousands of hits in one batch, and thousands that have waited: no item above its bound.
#[tokio::test]
async fn no_item_of_a_battle_grows_with_its_hits() {
    let (world, long) = (World::new(), "i".repeat(120));
    let many = |from: usize| -> Vec<_> {
        let ids = (from..from + 1_500).map(|n| (format!("{long}{n}"), format!("{long}{}", n % 3)));
        ids.map(|(id, viewer)| hit(&long, &id, &viewer, 1)).collect()
    };
    world.done(&many(0)).await;
    world.project("a").await;
    world.done(&[open(&long, 1_000_000)]).await;
    world.project("a").await;
    world.done(&many(1_500)).await;
    world.project("a").await;
    let shown = battle(&world, &long, &format!("viewer={long}1")).await;
    assert_eq!((&shown["hits"], &shown["viewer"]["hits"]), (&json!(3_000), &json!(1_000)));
    for item in everything(world.tables.views.table()).await {
        let sk = item["sk"].as_s().unwrap().as_str();
        let bound = match sk.split_once('#') {
            Some(("log", _)) => 65_536,
            // Deleted by now.
            Some(_) => 0,
            None if sk == "battle" => 2_048,
            None => 1_024,
        };
        let size = crate::platform::projecting::size(&item);
        assert!(size <= bound, "{sk}: {size}");
    }
}
