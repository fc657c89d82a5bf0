//! When the local stack redelivers a message that was not acknowledged. Time is simulated, for the queue
//! too.

use std::convert::Infallible;
use std::future::Ready;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use nagare_local::event_source::EventSource;
use nagare_local::faults::{Deliveries, Faults};
use nagare_local::sqs::{NewMessage, QueueConfig, Queues};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

const VISIBILITY: Duration = Duration::from_secs(360);

/// Acknowledges nothing.
async fn refuse(event: SqsEvent) -> Result<SqsBatchResponse, Infallible> {
    let mut response = SqsBatchResponse::default();
    for record in &event.records {
        let mut failure = BatchItemFailure::default();
        failure.item_identifier = record.message_id.clone().unwrap();
        response.batch_item_failures.push(failure);
    }
    Ok(response)
}

/// How long a message stays hidden that this handler always fails, three times in a row.
async fn waits<F>(
    keeps_visibility: bool,
    handle: impl Fn(SqsEvent) -> F + Clone + Send + Sync + 'static,
) -> Vec<Duration>
where
    F: Future<Output = Result<SqsBatchResponse, Infallible>> + Send + 'static,
{
    let begun = Instant::now();
    let time = Arc::new(move || i64::try_from(begun.elapsed().as_millis()).unwrap());
    let config = QueueConfig { visibility_timeout: VISIBILITY, ..QueueConfig::new("work") };
    let queue = Queues::in_memory(vec![config], time).unwrap().queue("work").unwrap();
    queue.send(NewMessage::new("x").unwrap()).unwrap();

    let (delivered, mut deliveries) = mpsc::unbounded_channel();
    let handler = move |event: SqsEvent, _| {
        delivered.send(Instant::now()).unwrap();
        handle(event)
    };
    let faults = Deliveries::new(Faults::default());
    let timeout = Duration::from_secs(60);
    let source = EventSource { concurrency: 1, timeout, keeps_visibility, faults };
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(source.run(queue, handler, stopped));
    let mut times = Vec::new();
    while times.len() < 4 {
        times.push(deliveries.recv().await.unwrap());
    }
    stop.send(true).unwrap();
    running.await.unwrap();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_not_acknowledged_comes_back_soon() {
    let waits = waits(false, refuse).await;
    assert!(waits.is_sorted() && waits[2] < VISIBILITY / 10, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn or_after_the_queues_visibility_timeout_if_it_is_kept() {
    let waits = waits(true, refuse).await;
    assert!(waits.iter().all(|wait| *wait >= VISIBILITY), "{waits:?}");
    assert!(waits.iter().all(|wait| *wait < VISIBILITY * 2), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_fails_its_batch_and_no_poller() {
    let waits = waits(false, |_| async { panic!("on purpose") }).await;
    assert!(waits.is_sorted() && waits[2] < VISIBILITY / 10, "{waits:?}");
}

/// It dies outside of the handler's task here; its batch comes back after the visibility timeout.
#[tokio::test(start_paused = true)]
async fn a_poller_that_dies_is_replaced() {
    let waits = waits(false, |_| -> Ready<_> { panic!("on purpose") }).await;
    assert!(waits.iter().all(|wait| *wait >= VISIBILITY), "{waits:?}");
}
