//! The functions over slow tables, and the queue's deliveries as Lambda makes them. Time is simulated: what
//! is asserted is arithmetic, not a machine's speed.
//!
//! Being slow is not a failure: everything arrives at the pace of the table, nothing is received twice, and
//! nothing becomes a dead letter.

use std::collections::VecDeque;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsMessage};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use nagare_local::faults::{Faulty, Rates};
use nagare_local::schema;
use serde_json::{Value, json};
use shared::platform::paging::Slice;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{ActorId, Timestamp, ViewerId};
use shared::platform::values::{Order, Span};
use shared::social::follows::keys;
use tests::{World, event, message, unfinished_ids};
use tokio::time::Instant;

/// The time that the template gives an invocation, less what is reserved for the answer.
pub(crate) const INVOCATION: Duration = Duration::from_secs(58);
/// Invocations at once.
pub(crate) const WRITERS: usize = 8;
/// Longer than anything here takes.
pub(crate) const LONGEST: Duration = Duration::from_secs(4_000);
/// Messages in a batch.
pub(crate) const BATCH: usize = 10;

pub(crate) fn rates(writes: f64) -> Rates {
    Rates { writes: Some(writes), ..Rates::default() }
}

/// A world whose tables have no limit until their rates are set.
pub(crate) fn world() -> (World, Faulty) {
    let mut tables = None;
    let world = World::behind(|inside| {
        let faulty = Faulty::new("slow=10ms,seed=7".parse().unwrap(), inside);
        tables = Some(faulty.clone());
        SharedHttpConnector::new(faulty)
    });
    (world, tables.unwrap())
}

pub(crate) fn edge(viewer: &str, actor: &str, following: bool) -> Value {
    let (follower, followee) = (ViewerId::new(viewer).unwrap(), ActorId::new(actor).unwrap());
    let key = keys::edge(&follower, &followee);
    json!({
        "pk": {"S": key.pk}, "sk": {"S": key.sk},
        "follower_id": {"S": viewer}, "followee_id": {"S": actor},
        "following": {"BOOL": following}, "changed_at": {"S": "2026-11-01T00:00:00.000Z"},
    })
}

pub(crate) fn followers(world: &World, actor: &str, count: usize) {
    let edges = (0..count).map(|n| edge(&format!("{actor}-v{n}"), actor, true)).collect();
    world.engine.import(&schema::names().ledger, edges).unwrap();
}

pub(crate) async fn entries(world: &World) -> u64 {
    world.entry_count().await
}

pub(crate) async fn entries_of(world: &World, viewer: &str) -> usize {
    let span = Span { from: Timestamp::from_unix_millis(0), to: None, order: Order::Oldest };
    let (timelines, viewer) = (&world.tables.timelines, ViewerId::new(viewer).unwrap());
    let (mut count, mut start) = (0, None);
    loop {
        let timelines = timelines.until(Deadline::after(INVOCATION));
        let slice = Slice { span, after: start.as_deref(), limit: 10_000 };
        let page = timelines.entries(&viewer, slice).await.unwrap();
        count += page.0.len();
        start = page.1;
        if start.is_none() {
            return count;
        }
    }
}

/// Handles all messages as Lambda does, eight batches at once. Returns how long it took, in seconds.
pub(crate) async fn work_off(world: &World, first: Vec<SqsMessage>) -> f64 {
    work_off_by(WRITERS, world, first).await
}

pub(crate) async fn work_off_by(writers: usize, world: &World, first: Vec<SqsMessage>) -> f64 {
    let begun = Instant::now();
    let mut waiting = VecDeque::from(first);
    let mut running: FuturesUnordered<LocalBoxFuture<'_, SqsBatchResponse>> =
        FuturesUnordered::new();
    loop {
        waiting.extend(world.take_commands().await);
        while running.len() < writers && !waiting.is_empty() {
            let batch: Vec<_> = waiting.drain(..waiting.len().min(BATCH)).collect();
            let work =
                async { world.writer.handle(event(batch), Deadline::after(INVOCATION)).await };
            running.push(work.map(Result::unwrap).boxed_local());
        }
        let Some(answer) = running.next().await else { break };
        assert!(begun.elapsed() < LONGEST, "it does not end");
        assert_eq!(unfinished_ids(&answer), [""; 0], "a receive was used up");
    }
    assert_eq!(world.take_dead_letters().await.len(), 0, "dead letters");
    begun.elapsed().as_secs_f64()
}

pub(crate) fn first_receives(bodies: impl IntoIterator<Item = Value>) -> Vec<SqsMessage> {
    let bodies = bodies.into_iter().enumerate();
    bodies.map(|(n, body)| message(&format!("m{n}"), &body.to_string(), 1)).collect()
}
