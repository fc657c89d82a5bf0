//! When the local stack delivers a message again that was not acknowledged. Time is simulated, the queue's
//! too.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use nagare::queue::{NewMessage, QueueConfig, Queues};
use nagare::stack::event_source::EventSource;
use nagare::stack::faults::{Deliveries, Faults};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

const VISIBILITY: Duration = Duration::from_secs(360);

/// Acknowledges nothing.
fn refuse(event: &SqsEvent) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    for record in &event.records {
        let mut failure = BatchItemFailure::default();
        failure.item_identifier = record.message_id.clone().unwrap();
        response.batch_item_failures.push(failure);
    }
    response
}

/// How long a message that always fails stays away, three times in a row.
async fn waits(keeps_visibility: bool) -> Vec<Duration> {
    let begun = Instant::now();
    let time = Arc::new(move || i64::try_from(begun.elapsed().as_millis()).unwrap());
    let config = QueueConfig { visibility_timeout: VISIBILITY, ..QueueConfig::new("work") };
    let queue = Queues::in_memory(vec![config], time).unwrap().queue("work").unwrap();
    queue.send(NewMessage::new("x").unwrap()).unwrap();

    let (delivered, mut deliveries) = mpsc::unbounded_channel();
    let handler = move |event: SqsEvent, _| {
        delivered.send(Instant::now()).unwrap();
        async move { Ok::<_, Infallible>(refuse(&event)) }
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
    let waits = waits(false).await;
    assert!(waits.is_sorted() && waits[2] < VISIBILITY / 10, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn or_after_the_queues_visibility_timeout_if_it_is_kept() {
    let waits = waits(true).await;
    assert!(waits.iter().all(|wait| *wait >= VISIBILITY), "{waits:?}");
    assert!(waits.iter().all(|wait| *wait < VISIBILITY * 2), "{waits:?}");
}
