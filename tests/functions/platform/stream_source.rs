//! When the local stack gives up changes of facts. Time is simulated.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use function_stream::{EventError, Failed, StreamEvent, StreamResponse};
use nagare_local::connector::{self, InProcess};
use nagare_local::engine::Engine;
use nagare_local::faults::{Deliveries, Faults};
use nagare_local::sqs::{QueueConfig, Queues, Wire};
use nagare_local::stream_dead_letter::GivingUp;
use nagare_local::stream_source::StreamSource;
use serde_json::json;
use shared::platform::dead_letters::StreamBatch;
use shared::platform::queue::Sender;
use tokio::sync::watch;

const QUEUE: &str = "dead";

/// What a handler does about a batch with the record that is bad.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bad {
    Panics,
    IsReported,
}

struct Seen {
    /// The records that were handled: the first is 1.
    handled: Vec<String>,
    /// What was said of those that were given up.
    given_up: Vec<String>,
}

/// Reads eight records, of which the fifth is bad, for a minute.
async fn read(bad: Bad, giving_up: impl FnOnce(GivingUp) -> GivingUp) -> Seen {
    let engine = Engine::in_memory().unwrap();
    let queues = Queues::in_memory(vec![QueueConfig::new(QUEUE)], Arc::new(|| 0)).unwrap();
    let wire = Wire::new(queues.clone(), "http://queue");
    let sqs =
        connector::sqs(SharedHttpConnector::new(InProcess::new(engine.clone(), wire.clone())));
    for n in 0..8 {
        let item = json!({"pk": {"S": "likes#bob"}, "sk": {"S": n.to_string()}});
        let put = json!({"TableName": "nagare-facts", "Item": item}).to_string();
        assert_eq!(engine.call("PutItem", put.as_bytes()).0, 200);
    }
    let numbers = engine.stream_behind(0, usize::MAX).unwrap();
    let numbers: Vec<_> = numbers.iter().map(|record| record.number.to_string()).collect();
    let (fifth, names) = (numbers[4].clone(), numbers.iter().zip(1..));
    let named = |text: &str| {
        names
            .clone()
            .fold(text.to_owned(), |text, (number, n)| text.replace(number, &n.to_string()))
    };
    // The engine knows real time only, and that to the second.
    std::thread::sleep(Duration::from_millis(1_100));
    let (handled, (_stop, stopped)) = (Arc::new(Mutex::new(Vec::new())), watch::channel(false));
    let seen = Arc::clone(&handled);
    let handler = move |event: StreamEvent, _| {
        let records = event.records.iter().map(|r| r.dynamodb.sequence_number.clone());
        let (mut records, seen): (Vec<_>, _) = (records.collect(), Arc::clone(&seen));
        let fifth = fifth.clone();
        async move {
            let poison = records.iter().position(|number| *number == fifth);
            assert!(poison.is_none() || bad != Bad::Panics, "on purpose");
            let reported = poison.map(|at| records.split_off(at).remove(0));
            seen.lock().unwrap().extend(records);
            let failed = reported.map(|item_identifier| Failed { item_identifier });
            let batch_item_failures = failed.into_iter().collect();
            Ok::<_, EventError>(StreamResponse { batch_item_failures, ..StreamResponse::default() })
        }
    };
    let source = StreamSource {
        timeout: Duration::from_secs(60),
        faults: Deliveries::new(Faults::default()),
        giving_up: giving_up(GivingUp::new(Sender::new(sqs, wire.queue_url(QUEUE)))),
    };
    let minute = Duration::from_secs(60);
    let _ = tokio::time::timeout(minute, source.run(engine, handler, stopped)).await;
    let letters = queues.queue(QUEUE).unwrap().receive(10, None, Duration::ZERO).await.unwrap();
    let given_up = letters.iter().map(|m| StreamBatch::read(&m.body).unwrap().to_string());
    let given_up = given_up.map(|said| named(&said)).collect();
    let handled = handled.lock().unwrap().iter().map(|number| named(number)).collect();
    Seen { handled, given_up }
}

/// A record that ends the function is found by halves. What is beside it is handled.
#[tokio::test(start_paused = true)]
async fn a_record_that_ends_the_function_is_given_up_alone() {
    let seen = read(Bad::Panics, |giving_up| GivingUp { retries: 3, ..giving_up }).await;
    assert_eq!(seen.handled, ["1", "2", "3", "4", "6", "7", "8"]);
    assert_eq!(seen.given_up, ["1 change of shardId-local, 5 to 5: RetryAttemptsExhausted"]);
}

/// What is behind a record that is reported again and again is in its batch.
#[tokio::test(start_paused = true)]
async fn a_batch_that_is_reported_too_often_is_given_up() {
    let seen = read(Bad::IsReported, |giving_up| GivingUp { retries: 3, ..giving_up }).await;
    assert_eq!(seen.handled, ["1", "2", "3", "4"]);
    assert_eq!(seen.given_up, ["4 changes of shardId-local, 5 to 8: RetryAttemptsExhausted"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_is_given_up_once_it_has_failed() {
    let giving_up = |giving_up| GivingUp { record_age: Duration::ZERO, ..giving_up };
    let seen = read(Bad::Panics, giving_up).await;
    assert_eq!(seen.handled, ["1", "2", "3", "4", "6", "7", "8"]);
    assert_eq!(seen.given_up, ["1 change of shardId-local, 5 to 5: RecordAgeExceeded"]);
}

#[tokio::test(start_paused = true)]
async fn until_then_it_is_tried_again() {
    let seen = read(Bad::Panics, |giving_up| giving_up).await;
    assert_eq!(seen.handled, ["1", "2", "3", "4"]);
    assert_eq!(seen.given_up, [""; 0]);
}
