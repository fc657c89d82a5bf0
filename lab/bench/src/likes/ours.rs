//! Likes through the code that ships.

use std::collections::HashMap;
use std::time::Duration;

use fanout_writer::Delivery;
use nagare::Failure;
use nagare_local::sqs::Queue;
use shared::command::Command;
use shared::platform::projection::View;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{ActorId, Kind, Payload, ViewerId};
use shared::social::activities::Publish;
use shared::social::likes::{LikeChange, LikeCounts};
use shared::social::notifications::Inbox;
use shared::social::notifications::keys::inbox;
use tokio::time::Instant;

use super::super::ACTOR;
use super::super::folded::Folded;
use super::super::functions::writer;
use super::super::running::{Ran, Running, TIMEOUT, queue, send};
use super::super::stage::{Stage, broken};
use super::plan::{LikesPlan, activity};
use super::report::Counted;

/// How often commands are sent where they have a rate.
const TICK: Duration = Duration::from_millis(10);

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
    plan: &LikesPlan,
    writers: usize,
    pace: Pace,
) -> Result<Ran, Failure> {
    let queue = queue(stage)?;
    if let Pace::Storm = pace {
        send(&queue, &commands(&plan.deliveries))?;
    }
    let running = Running::start(stage, writers)?;
    if let Pace::Rate(rate) = pace {
        send_at(&queue, &plan.deliveries, rate, (stage, &running.folded)).await?;
    }
    running.end().await
}

fn commands(changes: &[LikeChange]) -> Vec<Command> {
    changes.iter().cloned().map(Command::Like).collect()
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
                let first = instants.entry((change.viewer_id.clone(), change.state.on));
                change.state.changed_at = *first.or_insert(now);
                folded.sent(&change);
                change
            })
            .collect();
        send(queue, &commands(&batch))?;
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
    let counts = counts.read(std::slice::from_ref(&activity)).await?;
    let actor = ViewerId::new(ACTOR)?;
    let inbox = stage.tables.views.read(inbox(&actor), View::<Inbox>::read_from).await?;
    let likes = counts.get(&activity).map_or(0, |it| it.count());
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
        let plan = LikesPlan::of(400, [0.1, 0.3], stage.clock.now()).unwrap();
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
