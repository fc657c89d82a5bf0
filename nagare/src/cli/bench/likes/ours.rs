//! Likes through the code that ships: the writer's handler with batches from a queue, the projector's with batches
//! from the stream of facts, each called as the local stack calls it.

use std::collections::HashMap;
use std::time::Duration;

use fanout_writer::Delivery;
use projector::StreamEvent;
use shared::activities::Publish;
use shared::command::Command;
use shared::likes::{LikeChange, LikeCounts};
use shared::notifications::Inbox;
use shared::notifications::keys::inbox;
use shared::projection::View;
use shared::queue::BATCH;
use shared::runtime::deadline::Deadline;
use shared::values::{ActorId, Kind, Payload, ViewerId};
use tokio::sync::watch;
use tokio::time::Instant;

use super::super::super::Failure;
use super::super::ACTOR;
use super::folded::Folded;
use super::functions::{projector, sender, writer};
use super::lag::Lags;
use super::plan::{Plan, activity};
use super::report::Counted;
use super::stage::{Stage, broken};
use crate::local::event_source::EventSource;
use crate::local::given_up::GivingUp;
use crate::local::sqs::{NewMessage, Queue};
use crate::local::stream_source::StreamSource;
use crate::local::{COMMANDS, DEAD_LETTERS};

/// How long one invocation may take, as the template sets it.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often one looks whether all is done.
const LOOK: Duration = Duration::from_millis(20);
/// How often commands are sent where they have a rate.
const TICK: Duration = Duration::from_millis(10);

/// What a run was.
pub(super) struct Ran {
    /// When the first command could be taken.
    pub(super) begun: Instant,
    /// When the last change was in its view.
    pub(super) ended: Instant,
    /// What each change took.
    pub(super) lags: Lags,
}

/// How commands come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    /// All are on the queue before the first is taken.
    Storm,
    /// So many a second, each with the instant at which it is sent.
    Rate(f64),
}

/// Delivers all of a plan to N writers. Returns when the last change is in its view.
pub(super) async fn run(
    stage: &Stage,
    plan: &Plan,
    writers: usize,
    pace: Pace,
) -> Result<Ran, Failure> {
    let queue = stage.queues.queue(COMMANDS).map_err(|e| broken(&e))?;
    if let Pace::Storm = pace {
        send(&queue, &plan.deliveries)?;
    }
    let (folded, begun) = (Folded::new(), Instant::now());
    let (stop, stopped) = watch::channel(false);
    let tasks = start(stage, &queue, writers, &folded, &stopped)?;
    if let Pace::Rate(rate) = pace {
        send_at(&queue, &plan.deliveries, rate, (stage, &folded)).await?;
    }
    while !is_done(stage, &queue, &folded)? {
        tokio::time::sleep(LOOK).await;
    }
    let _ = stop.send(true);
    for task in tasks {
        let _ = task.await;
    }
    let (ended, lags) = folded.end();
    Ok(Ran { begun, ended, lags })
}

fn start(
    stage: &Stage,
    queue: &Queue,
    writers: usize,
    folded: &Folded,
    stopped: &watch::Receiver<bool>,
) -> Result<[tokio::task::JoinHandle<()>; 2], Failure> {
    let (writer, projector) = (writer(stage)?, projector(stage)?);
    let write = move |event, deadline| {
        let writer = writer.clone();
        async move { writer.handle(event, deadline).await }
    };
    let (folded, meter) = (folded.clone(), stage.meter.clone());
    let project = move |event: StreamEvent, deadline| {
        let (projector, folded, meter) = (projector.clone(), folded.clone(), meter.clone());
        async move {
            let last = event.records.last().map(|record| record.dynamodb.sequence_number.clone());
            let behind = last.and_then(|number| number.parse().ok()).unwrap_or(0);
            let (_, changes) = event.clone().read()?;
            let answer = projector.handle(event, deadline).await?;
            if answer.batch_item_failures.is_empty() {
                folded.note(behind, &changes, &meter);
            }
            Ok(answer)
        }
    };
    let source = EventSource {
        concurrency: writers,
        timeout: TIMEOUT,
        keeps_visibility: false,
        faults: stage.deliveries.clone(),
    };
    let stream = StreamSource {
        timeout: TIMEOUT,
        faults: stage.deliveries.clone(),
        giving_up: GivingUp::new(sender(stage, DEAD_LETTERS)),
    };
    Ok([
        tokio::spawn(source.run(queue.clone(), write, stopped.clone())),
        tokio::spawn(stream.run(stage.engine.clone(), project, stopped.clone())),
    ])
}

/// Nothing is on the queue, and nothing in the stream that was not folded.
fn is_done(stage: &Stage, queue: &Queue, folded: &Folded) -> Result<bool, Failure> {
    let counts = queue.counts().map_err(|e| broken(&e))?;
    let left = || stage.engine.stream_behind(folded.behind(), 1).map_err(|e| broken(&e));
    Ok(counts.is_empty() && left()?.is_empty())
}

fn message(change: &LikeChange) -> Result<NewMessage, Failure> {
    let command = Command::Like(change.clone());
    let message = NewMessage::new(command.to_body()).map_err(|e| broken(&e))?;
    message.in_group(command.group()).map_err(|e| broken(&e))
}

fn send(queue: &Queue, changes: &[LikeChange]) -> Result<(), Failure> {
    for changes in changes.chunks(BATCH) {
        let messages = changes.iter().map(message).collect::<Result<Vec<_>, _>>()?;
        queue.send_batch(&messages).map_err(|e| broken(&e))?;
    }
    Ok(())
}

/// Sends at a rate. The instant of each is that at which it is first sent.
async fn send_at(
    queue: &Queue,
    changes: &[LikeChange],
    rate: f64,
    (stage, folded): (&Stage, &Folded),
) -> Result<(), Failure> {
    let (begun, mut sent) = (Instant::now(), 0);
    let mut ticks = tokio::time::interval(TICK);
    let mut instants = HashMap::new();
    while sent < changes.len() {
        ticks.tick().await;
        let due = (begun.elapsed().as_secs_f64() * rate) as usize;
        let now = stage.clock.now();
        let batch: Vec<_> = changes[sent..due.min(changes.len())]
            .iter()
            .map(|change| {
                let mut change = change.clone();
                let first = instants.entry((change.viewer_id.clone(), change.state.liked));
                change.state.changed_at = *first.or_insert(now);
                folded.sent(&change);
                change
            })
            .collect();
        send(queue, &batch)?;
        sent += batch.len();
    }
    Ok(())
}

/// Publishes the activity, so that there is somebody to be notified.
pub(super) async fn publish(stage: &Stage) -> Result<(), Failure> {
    let publish = Command::Publish(Publish {
        activity_id: activity()?,
        actor_id: ActorId::new(ACTOR)?,
        published_at: stage.clock.now(),
        kind: Kind::default(),
        payload: Payload::default(),
    });
    let applied = writer(stage)?.apply(publish, Delivery::only(Deadline::after(TIMEOUT))).await;
    applied.map(drop).map_err(|e| broken(&e))
}

/// What is shown in the end.
pub(super) async fn counted(stage: &Stage) -> Result<Counted, Failure> {
    let activity = activity()?;
    let counts = LikeCounts::new(&stage.tables.views);
    let deadline = Deadline::after(TIMEOUT);
    let counts = counts.of(std::slice::from_ref(&activity), deadline).await?;
    let actor = ViewerId::new(ACTOR)?;
    let inbox = stage.tables.views.read(inbox(&actor), View::<Inbox>::read_from, deadline).await?;
    let likes = counts.get(&activity).copied().unwrap_or(0);
    Ok(Counted { likes, notified: Some(inbox.state.unread()) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Whatever is delivered twice, and whatever is undone.
    #[tokio::test]
    async fn counts_are_the_truth_and_a_storm_costs_little_more_than_its_facts() {
        let stage = Stage::new(&"".parse().unwrap()).unwrap();
        publish(&stage).await.unwrap();
        stage.meter.reset();
        let plan = Plan::of(400, [0.1, 0.3], stage.clock.now()).unwrap();
        let ran = run(&stage, &plan, 4, Pace::Storm).await.unwrap();
        assert_eq!(counted(&stage).await.unwrap().likes, plan.truth);
        let measured = stage.meter.read();
        assert!(measured.stored <= plan.commands);
        assert!(measured.refused > 0);
        assert_eq!(ran.lags.facts.len(), measured.stored);
        let facts = measured.units[stage.tables.facts.table().name()];
        assert_eq!(facts, measured.stored as f64, "one unit each");
    }
}
