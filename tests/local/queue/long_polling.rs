//! Waiting receivers, in tokio's paused time: it jumps ahead whenever every task sleeps, so that a
//! wait that ends too late, or never, shows as a wrong time instead of a slow test.

use std::sync::Arc;
use std::time::Duration;

use nagare_local::sqs::{Queue, Queues};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::support::*;

const LONG: Duration = Duration::from_secs(20);

/// A queue on tokio's own time.
struct Waiting {
    start: Instant,
    work: Queue,
    dead: Queue,
}

impl Waiting {
    fn new() -> Self {
        let start = Instant::now();
        let clock = Arc::new(move || START + start.elapsed().as_millis() as i64);
        let queues = Queues::in_memory(configs(), clock).unwrap();
        let (work, dead) = (queues.queue("work").unwrap(), queues.queue("dead").unwrap());
        Self { start, work, dead }
    }

    /// Starts a receiver that says what it got, and after how many seconds.
    fn receiver(&self, queue: &Queue, wait: Duration) -> JoinHandle<(Vec<String>, u64)> {
        let (queue, start) = (queue.clone(), self.start);
        tokio::spawn(async move {
            let messages = queue.receive(10, None, wait).await.unwrap();
            let bodies = messages.into_iter().map(|message| message.body).collect();
            (bodies, start.elapsed().as_secs())
        })
    }
}

fn got(body: &str, after: u64) -> (Vec<String>, u64) {
    (vec![body.to_owned()], after)
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_empty_at_its_deadline() {
    let waiting = Waiting::new();
    let receiver = waiting.receiver(&waiting.work, LONG);
    assert_eq!(receiver.await.unwrap(), (vec![], 20));
}

#[tokio::test(start_paused = true)]
async fn a_send_wakes_a_waiting_receiver() {
    let waiting = Waiting::new();
    let receiver = waiting.receiver(&waiting.work, LONG);
    sleep(3 * SECOND).await;
    send(&waiting.work, "a");
    assert_eq!(receiver.await.unwrap(), got("a", 3));
}

#[tokio::test(start_paused = true)]
async fn every_waiting_receiver_gets_its_message() {
    let waiting = Waiting::new();
    let receivers = [1, 2, 3].map(|_| waiting.receiver(&waiting.work, LONG));
    for seconds in 1..=3 {
        sleep(SECOND).await;
        send(&waiting.work, &seconds.to_string());
    }
    let mut all = Vec::new();
    for receiver in receivers {
        all.push(receiver.await.unwrap());
    }
    all.sort();
    assert_eq!(all, [got("1", 1), got("2", 2), got("3", 3)]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_ends_wakes_a_waiting_receiver() {
    let waiting = Waiting::new();
    waiting.work.send(message("a").delayed(5 * SECOND).unwrap()).unwrap();
    let receiver = waiting.receiver(&waiting.work, LONG);
    assert_eq!(receiver.await.unwrap(), got("a", 5));
}

#[tokio::test(start_paused = true)]
async fn a_visibility_timeout_that_ends_wakes_a_waiting_receiver() {
    let waiting = Waiting::new();
    send(&waiting.work, "a");
    waiting.work.receive(1, Some(7 * SECOND), Duration::ZERO).await.unwrap();
    let receiver = waiting.receiver(&waiting.work, LONG);
    assert_eq!(receiver.await.unwrap(), got("a", 7));
}

#[tokio::test(start_paused = true)]
async fn giving_a_message_back_wakes_a_waiting_receiver() {
    let waiting = Waiting::new();
    send(&waiting.work, "a");
    let held = waiting.work.receive(1, None, Duration::ZERO).await.unwrap();
    let receiver = waiting.receiver(&waiting.work, LONG);
    sleep(4 * SECOND).await;
    waiting.work.change_visibility(&held[0].receipt_handle, Duration::ZERO).unwrap();
    assert_eq!(receiver.await.unwrap(), got("a", 4));
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_wakes_who_waits_for_dead_letters() {
    let waiting = Waiting::new();
    send(&waiting.work, "a");
    for _ in 0..2 {
        waiting.work.receive(1, Some(Duration::ZERO), Duration::ZERO).await.unwrap();
    }
    let receiver = waiting.receiver(&waiting.dead, LONG);
    sleep(2 * SECOND).await;
    assert!(waiting.work.receive(1, None, Duration::ZERO).await.unwrap().is_empty());
    assert_eq!(receiver.await.unwrap(), got("a", 2));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_gives_up_loses_nothing() {
    let waiting = Waiting::new();
    let receiver = waiting.receiver(&waiting.work, LONG);
    sleep(SECOND).await;
    receiver.abort();
    send(&waiting.work, "a");
    assert_eq!(waiting.receiver(&waiting.work, LONG).await.unwrap(), got("a", 1));
}
