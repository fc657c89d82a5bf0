//! Views that have dropped marks of shards for checkpoints: each change counts once, whatever comes again and whoever dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use futures::future::join;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::faults::{Fault, inject};
use nagare_local::stream_source;
use nagare_operator::audit::ViewsAuditor;
use serde_json::{Value, json};
use shared::platform::dynamo::Limits;
use shared::platform::dynamo::item::Item;
use shared::platform::projection::checkpoints;
use shared::social::polls::keys;
use tests::{World, publish, soon};
use tokio::sync::Notify;

use crate::platform::projecting::{everything, project, records};
use crate::platform::units::UnitCounter;

const AT: &str = "2026-11-20T11:00:00.000Z";

fn open() -> [Value; 2] {
    let poll = json!({"type": "poll.opened", "poll_id": "p", "actor_id": "anna", "choices": ["red", "blue"],
        "opens_at": AT, "closes_at": "2026-11-20T11:50:00.000Z"});
    [publish("anna", "a", AT), poll]
}

fn say(n: usize) -> [Value; 2] {
    let viewer = format!("v{n}");
    let like = json!({"type": "like.created", "viewer_id": viewer, "activity_id": "a", "at": AT});
    let vote = json!({"type": "vote.cast", "poll_id": "p", "viewer_id": viewer, "choice": "red", "at": AT});
    [like, vote]
}

/// Votes, likes, and what the actor is told of.
async fn counted(world: &World) -> [u64; 3] {
    let (_, _, poll) = world.get("/v1/polls/p", "").await;
    let (_, _, activity) = world.get("/v1/activities/a", "viewer=bob").await;
    let (_, _, told) = world.get("/v1/notifications/anna", "").await;
    let of = |value: &Value| value.as_u64().unwrap_or(0);
    [of(&poll["votes"]), of(&activity["likes"]["count"]), of(&told["unread_count"])]
}

fn shrunk() -> Limits {
    Limits { marks: 2, ..Limits::DYNAMODB }
}

/// Records in batches of shards: three shards at a time, each of which ends after two batches.
fn batches(records: &[StreamRecord]) -> Vec<(String, &[StreamRecord])> {
    let batches = records.chunks(4).enumerate();
    batches.map(|(n, batch)| (format!("{}, {}", n % 3, n / 6), batch)).collect()
}

async fn view(world: &World) -> Item {
    let key = keys::view(&"p".parse().unwrap()).into_item();
    world.tables.views.table().get(key).await.unwrap().unwrap().item
}

/// Whether the poll's view has dropped marks, and says when.
async fn is_pruned(world: &World) -> bool {
    view(world).await["marks"].as_b().unwrap().as_ref().len() % 32 != 0
}

#[tokio::test]
async fn whatever_comes_again_counts_once() {
    let world = World::within(&shrunk(), |inside| inside);
    world.done(&open()).await;
    for n in 0..60 {
        world.done(&say(n)).await;
    }
    let all = records(&world);
    let batches = batches(&all);
    for (n, (shard, batch)) in batches.iter().enumerate() {
        // By two projectors at once, of which Lambda has given up one.
        join(project(&world, shard, batch), project(&world, shard, batch)).await;
        let counted_before = counted(&world).await;
        // Each shard from its horizon on.
        for (shard, batch) in &batches[..=n] {
            project(&world, shard, batch).await;
        }
        assert_eq!(counted(&world).await, counted_before, "after {n} batches");
    }
    assert_eq!(counted(&world).await, [60, 60, 60]);
    assert!(is_pruned(&world).await);
}

/// Ends at some call, before it is made or after it is done.
#[derive(Debug)]
struct Dying {
    inside: SharedHttpConnector,
    left: Arc<AtomicIsize>,
    is_done: Arc<AtomicBool>,
    died: Arc<Notify>,
}

impl HttpConnector for Dying {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if self.left.fetch_sub(1, Relaxed) != 0 {
            return self.inside.call(request);
        }
        let (inside, died) = (self.inside.clone(), Arc::clone(&self.died));
        let is_done = self.is_done.load(Relaxed);
        HttpConnectorFuture::new(async move {
            if is_done {
                inside.call(request).await.unwrap();
            }
            died.notify_one();
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn whoever_dies_each_change_counts_once() {
    let (left, is_done) = (Arc::new(AtomicIsize::new(-1)), Arc::new(AtomicBool::new(false)));
    let died = Arc::new(Notify::new());
    let (calls, done, notify) = (Arc::clone(&left), Arc::clone(&is_done), Arc::clone(&died));
    let world = World::within(&shrunk(), |inside| {
        SharedHttpConnector::new(Dying { inside, left: calls, is_done: done, died: notify })
    });
    world.done(&open()).await;
    project(&world, "0", &records(&world)).await;
    let (mut said, mut deaths, mut shard) = (0, 0, 0);
    for at in 0.. {
        let mut has_died = false;
        for done in [false, true] {
            shard += 1;
            let behind = records(&world).len();
            for n in said..said + 2 {
                world.done(&say(n)).await;
            }
            said += 2;
            let all = records(&world);
            let batch = stream_source::event(&shard.to_string(), &all[behind..]).unwrap();
            is_done.store(done, Relaxed);
            left.store(at, Relaxed);
            tokio::select! {
                answer = world.fold(batch, soon()) => {
                    assert_eq!(answer.unwrap().batch_item_failures, []);
                }
                () = died.notified() => {
                    has_died = true;
                    deaths += 1;
                }
            }
            left.store(-1, Relaxed);
            // Again, and once more when others have dropped its marks.
            project(&world, &shard.to_string(), &all[behind..]).await;
            for other in 0..3 {
                let first = records(&world).len();
                world.done(&say(said)).await;
                said += 1;
                project(&world, &format!("{shard}, {other}"), &records(&world)[first..]).await;
            }
            project(&world, &shard.to_string(), &all[behind..]).await;
            assert_eq!(counted(&world).await, [said as u64; 3], "call {at}, done: {done}");
        }
        if !has_died {
            break;
        }
    }
    assert!(deaths >= 16 && is_pruned(&world).await, "{deaths}");
}

/// May not write what is about the likes of an activity.
#[derive(Debug)]
struct Refusing {
    inside: SharedHttpConnector,
    refuses: Arc<AtomicBool>,
}

impl HttpConnector for Refusing {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default());
        let is_write = !request.headers().get("x-amz-target").unwrap_or_default().contains("Get");
        let refuses = self.refuses.load(Relaxed) && is_write && body.contains("activity#a");
        let (inside, fault) = (self.inside.clone(), refuses.then_some(Fault::Denied));
        HttpConnectorFuture::new(async move { inject(fault, request, &inside).await })
    }
}

/// A batch of which one view could not be written is not worked off, though others are.
#[tokio::test]
async fn what_failed_is_not_worked_off() {
    let refuses = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&refuses);
    let world = World::within(&shrunk(), |inside| {
        SharedHttpConnector::new(Refusing { inside, refuses: switch })
    });
    world.done(&open()).await;
    for n in 0..12 {
        world.done(&say(n)).await;
    }
    let all = records(&world);
    let (before, last) = all.split_at(all.len() - 2);
    for (shard, batch) in batches(before) {
        project(&world, &shard, batch).await;
    }
    refuses.store(true, Relaxed);
    let batch = stream_source::event("last", last).unwrap();
    let answer = world.fold(batch, soon()).await.unwrap();
    assert_eq!(answer.batch_item_failures.len(), 1);
    refuses.store(false, Relaxed);
    assert_eq!(counted(&world).await, [12, 11, 11]);
    project(&world, "last", last).await;
    assert_eq!(counted(&world).await, [12, 12, 12]);
}

/// Of the nth record: a hundred shards in turns, each of which ends after one.
fn shard_of(n: usize) -> String {
    format!("{}, {}", n % 100, n / 100)
}

/// Projects records one by one. Returns the write units of each fold, and the most read units of one.
async fn folds(counter: &UnitCounter, records: &[StreamRecord]) -> (Vec<f64>, f64) {
    counter.take();
    let (mut writes, mut reads) = (Vec::new(), 0.0_f64);
    for (n, record) in records.iter().enumerate() {
        project(&counter.world, &shard_of(n), std::slice::from_ref(record)).await;
        let used = counter.take();
        writes.push(used.writes);
        reads = reads.max(used.reads);
    }
    (writes, reads)
}

/// The same once more.
async fn project_again(world: &World, records: &[StreamRecord]) {
    for (n, record) in records.iter().enumerate() {
        project(world, &shard_of(n), std::slice::from_ref(record)).await;
    }
}

/// A hundred shards at a time, three times: a fold of a vote writes the view, a checkpoint, and what is counted of a voter who leaves
/// the view's list.
#[tokio::test]
async fn a_fold_into_a_popular_view_costs_four_write_units_at_most() {
    let counter = UnitCounter::new();
    let world = &counter.world;
    let [_, open] = open();
    world.done(&[open]).await;
    project(world, "0", &records(world)).await;
    for n in 0..300 {
        let [_, vote] = say(n);
        world.done(&[vote]).await;
    }
    let all = records(world);
    let (writes, reads) = folds(&counter, &all[1..]).await;
    // Where there are too many events, they move to a block in a transaction.
    let views = everything(world.tables.views.table()).await;
    let is_block = |item: &&Item| item["sk"].as_s().unwrap().starts_with("events#");
    let (blocks, above) =
        (views.iter().filter(is_block).count(), writes.iter().filter(|it| **it > 4.0).count());
    assert_eq!(blocks, above, "{writes:?}");
    assert!(blocks <= 3);
    // One for each mark, the checkpoint and the view.
    assert!(reads <= 11.0, "{reads}");
    assert!(is_pruned(world).await);
    project_again(world, &all[1..]).await;
    let (_, _, poll) = world.get("/v1/polls/p", "").await;
    assert_eq!(poll["votes"], 300);
}

/// The same of likes that their actor is notified of: a transaction of the activity's view and the actor's inbox, a checkpoint, and
/// what is counted of a liker.
#[tokio::test]
async fn a_like_that_is_notified_costs_six_write_units_at_most() {
    let counter = UnitCounter::new();
    let world = &counter.world;
    world.done(&[publish("anna", "a", AT)]).await;
    project(world, "0", &records(world)).await;
    let first = records(world).len();
    for n in 0..300 {
        let [like, _] = say(n);
        world.done(&[like]).await;
    }
    let all = records(world);
    let (writes, reads) = folds(&counter, &all[first..]).await;
    assert!(writes.iter().all(|units| *units <= 6.0), "{writes:?}");
    assert!(reads <= 20.0, "{reads}");
    project_again(world, &all[first..]).await;
    let (_, _, activity) = world.get("/v1/activities/a", "").await;
    assert_eq!(activity["likes"]["count"], 300);
}

/// A view that is made again goes on from the barrier's, which has dropped marks as well.
#[tokio::test]
async fn a_view_that_is_made_again_knows_of_checkpoints() {
    let world = World::within(&shrunk(), |inside| inside);
    let [_, open] = open();
    world.done(&[open]).await;
    for n in 0..20 {
        let [_, vote] = say(n);
        world.done(&[vote]).await;
    }
    let shard = |number: i64| format!("{}", number % 5);
    let all = records(&world);
    for record in &all {
        project(&world, &shard(record.number), std::slice::from_ref(record)).await;
    }
    let key = keys::view(&"p".parse().unwrap()).into_item();
    world.tables.views.table().delete(key, None).await.unwrap();
    let auditor = ViewsAuditor::new(&world.tables.facts, &world.tables.views, world.clock.clone());
    let polls = ["p".parse().unwrap()];
    let projecting = async {
        let mut behind = all.last().unwrap().number;
        loop {
            let fresh = world.engine.stream_behind(behind, 1_000).unwrap();
            behind = fresh.last().map_or(behind, |record| record.number);
            for n in 0..5 {
                let of_shard = |record: &&StreamRecord| record.number % 5 == n;
                let batch: Vec<_> = fresh.iter().filter(of_shard).cloned().collect();
                if !batch.is_empty() {
                    project(&world, &n.to_string(), &batch).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        found = auditor.polls(&polls, true) => assert_eq!(found.unwrap().mended, 1),
        () = projecting => {}
    }
    assert!(is_pruned(&world).await);
    for record in &all {
        project(&world, &shard(record.number), std::slice::from_ref(record)).await;
    }
    let (_, _, poll) = world.get("/v1/polls/p", "").await;
    assert_eq!(poll["votes"], 20);
}

/// Who has few marks writes no checkpoint.
#[tokio::test]
async fn a_view_that_few_shards_change_has_no_checkpoints() {
    let world = World::new();
    world.done(&open()).await;
    for n in 0..46 {
        world.done(&say(n)).await;
    }
    for (n, record) in records(&world).chunks(2).enumerate() {
        project(&world, &(n % 6).to_string(), record).await;
    }
    let views = everything(world.tables.views.table()).await;
    let is_checkpoint = |item: &&Item| {
        let [pk, sk] = ["pk", "sk"].map(|name| item[name].as_s().unwrap().clone());
        checkpoints::of_key(&pk, &sk).is_some()
    };
    assert_eq!(views.iter().filter(is_checkpoint).count(), 0);
    assert_eq!(counted(&world).await, [46, 46, 46]);
}
