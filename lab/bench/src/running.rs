//! The code that ships, at work: the writer's handler with batches from a queue, the projector's with batches from the
//! stream of facts, each called as the local stack calls it.

use std::sync::Arc;
use std::time::Duration;

use fanout_writer::Writer;
use function_stream::StreamEvent;
use nagare::Failure;
use nagare_local::event_source::EventSource;
use nagare_local::sqs::{NewMessage, Queue};
use nagare_local::stream_dead_letter::GivingUp;
use nagare_local::stream_source::StreamSource;
use nagare_local::{COMMANDS, DEAD_LETTERS};
use parking_lot::Mutex;
use shared::command::Command;
use shared::platform::queue::BATCH;
use tokio::sync::watch;
use tokio::time::Instant;

use super::folded::Folded;
use super::functions::{projector, sender, writer};
use super::lag::Lags;
use super::stage::{Stage, broken};

/// How long one invocation may take, as the template sets it.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// Invocations of the writer at once, as the template sets it (`WriterMaximumConcurrency`).
pub(super) const WRITERS: usize = 10;
/// How often one looks whether all is done.
const LOOK: Duration = Duration::from_millis(20);

/// What a run was.
pub(super) struct Ran {
    /// When the first command could be taken.
    pub(super) begun: Instant,
    /// When the last change was in its view.
    pub(super) ended: Instant,
    /// What each change took.
    pub(super) lags: Lags,
}

/// The functions, at work on what is on the queue.
pub(super) struct Running<'s> {
    stage: &'s Stage,
    queue: Queue,
    pub(super) folded: Folded,
    begun: Instant,
    stop: watch::Sender<bool>,
    tasks: [tokio::task::JoinHandle<()>; 2],
}

impl<'s> Running<'s> {
    /// Starts N writers and the projector.
    pub(super) fn start(stage: &'s Stage, writers: usize) -> Result<Self, Failure> {
        let (queue, folded, begun) = (queue(stage)?, Folded::new(), Instant::now());
        let (stop, stopped) = watch::channel(false);
        let tasks = start(stage, &queue, writers, &folded, &stopped)?;
        Ok(Self { stage, queue, folded, begun, stop, tasks })
    }

    /// Returns when the last change is in its view.
    pub(super) async fn end(self) -> Result<Ran, Failure> {
        while !self.is_done()? {
            tokio::time::sleep(LOOK).await;
        }
        let _ = self.stop.send(true);
        for task in self.tasks {
            let _ = task.await;
        }
        let (ended, lags) = self.folded.end();
        Ok(Ran { begun: self.begun, ended, lags })
    }

    /// Nothing is on the queue, and nothing in the stream that was not folded.
    fn is_done(&self) -> Result<bool, Failure> {
        let counts = self.queue.counts().map_err(|e| broken(&e))?;
        let (engine, behind) = (&self.stage.engine, self.folded.behind());
        let left = || engine.stream_behind(behind, 1).map_err(|e| broken(&e));
        Ok(counts.is_empty() && left()?.is_empty())
    }
}

fn start(
    stage: &Stage,
    queue: &Queue,
    writers: usize,
    folded: &Folded,
    stopped: &watch::Receiver<bool>,
) -> Result<[tokio::task::JoinHandle<()>; 2], Failure> {
    let (writer, projector) = (writer(stage)?, projector(stage)?);
    // Each invocation at once is in a process of its own, which the next invocation finds as this one left it.
    let idle = Arc::new(Mutex::new(Vec::new()));
    let write = move |event, deadline| {
        let idle = Arc::clone(&idle);
        let writer = idle.lock().pop().unwrap_or_else(|| process(&writer));
        async move {
            let answer = writer.handle(event, deadline).await;
            idle.lock().push(writer);
            answer
        }
    };
    let (folded, meter) = (folded.clone(), stage.meter.clone());
    let project = move |event: StreamEvent, deadline| {
        let (projector, folded, meter) = (projector.clone(), folded.clone(), meter.clone());
        async move {
            let last = event.records.last().map(|record| record.dynamodb.sequence_number.clone());
            let behind = last.and_then(|number| number.parse().ok()).unwrap_or(0);
            let (_, changes) = event.clone().of_one_stream()?;
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

/// The writer in a process that has just begun.
fn process(writer: &Writer) -> Writer {
    let (change_log, queues, turns) = Default::default();
    Writer { change_log, queues, turns, ..writer.clone() }
}

/// The queue that the writers take from.
pub(super) fn queue(stage: &Stage) -> Result<Queue, Failure> {
    stage.queues.queue(COMMANDS).map_err(|e| broken(&e))
}

/// Puts commands onto the queue.
pub(super) fn send(queue: &Queue, commands: &[Command]) -> Result<(), Failure> {
    for commands in commands.chunks(BATCH) {
        let messages = commands.iter().map(message).collect::<Result<Vec<_>, _>>()?;
        queue.send_batch(&messages).map_err(|e| broken(&e))?;
    }
    Ok(())
}

fn message(command: &Command) -> Result<NewMessage, Failure> {
    let message = NewMessage::new(command.to_body()).map_err(|e| broken(&e))?;
    message.in_group(command.group()).map_err(|e| broken(&e))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn writers_are_as_many_as_the_template_has() {
        let template = include_str!("../../../template.yaml");
        let (_, parameter) = template.split_once("\n  WriterMaximumConcurrency:\n").unwrap();
        let default = parameter.lines().find_map(|line| line.trim().strip_prefix("Default: "));
        assert_eq!(default, Some(WRITERS.to_string().as_str()));
    }
}
