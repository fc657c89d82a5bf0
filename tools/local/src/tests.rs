//! Whole stacks, in this process, with a clock of the test's own.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use nagare_telemetry::numbers::{INVOCATIONS, QUEUE_REQUESTS, READ_UNITS, WRITE_UNITS};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;
use shared::platform::values::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Stack, StackConfig};
use crate::sqs::{NewMessage, QueueConfig, Queues};

const START: i64 = 1_795_176_000_000;
const DAY: i64 = 86_400_000;
const COMMANDS: [&str; 2] = [
    r#"{"type":"follow.created","follower_id":"bob","followee_id":"anna","at":"2026-11-20T11:00:00Z"}"#,
    r#"{"type":"activity.published","activity_id":"live-1","actor_id":"anna","published_at":"2026-11-20T11:30:00Z"}"#,
];

async fn start(data_dir: &Path, millis: i64) -> Stack {
    let clock = Clock::manual(Timestamp::from_unix_millis(millis));
    let config =
        StackConfig { data_dir: Some(data_dir.to_owned()), clock, ..StackConfig::default() };
    Stack::start(config).await.unwrap()
}

async fn send(stack: &Stack, command: &str) {
    let client =
        nagare_client::local_stack::sqs_over_http(stack.variable("AWS_ENDPOINT_URL_SQS").unwrap());
    let url = stack.variable(env::QUEUE_URL).unwrap();
    client.send_message().queue_url(url).message_body(command).send().await.unwrap();
}

async fn timeline(stack: &Stack) -> String {
    let address = stack.variable(env::API_URL).unwrap().trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = "GET /v1/timelines/bob HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Repeats a check until it succeeds.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    while !is_so().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The number of the file that the stack stores the time in; it is a new one after each sweep.
fn time_file(data_dir: &Path) -> Option<u64> {
    data_dir.join("clock").metadata().ok().filter(|file| file.len() > 0).map(|file| file.ino())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_a_month_ahead_at_start_loses_no_entry() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let stack = start(&data, START).await;
    for command in COMMANDS {
        send(&stack, command).await;
    }
    until(async || timeline(&stack).await.contains("live-1")).await;
    until(async || time_file(&data).is_some()).await;
    let before = time_file(&data);
    stack.shut_down().await;

    let stack = start(&data, START + 31 * DAY).await;
    assert!(!timeline(&stack).await.contains("live-1"), "by that clock it has expired");
    until(async || time_file(&data) != before).await;
    stack.shut_down().await;

    let stack = start(&data, START + 60_000).await;
    assert!(timeline(&stack).await.contains("live-1"));
    stack.shut_down().await;
}

/// A queue whose clock and expiry clock the test sets.
fn queue(clock: &Arc<AtomicI64>, expiry: &Arc<AtomicI64>) -> crate::sqs::Queue {
    let tell = |clock: &Arc<AtomicI64>| {
        let clock = Arc::clone(clock);
        Arc::new(move || clock.load(Ordering::SeqCst))
    };
    let queues = Queues::in_memory(vec![QueueConfig::new("commands")], tell(clock)).unwrap();
    queues.expiring_by(tell(expiry)).queue("commands").unwrap()
}

#[test]
fn messages_expire_by_their_own_clock() {
    let (clock, expiry) = (Arc::new(AtomicI64::new(START)), Arc::new(AtomicI64::new(START)));
    let queue = queue(&clock, &expiry);
    queue.send(NewMessage::new("waits").unwrap()).unwrap();
    clock.store(START + 31 * DAY, Ordering::SeqCst);
    assert_eq!(queue.counts().unwrap().visible, 1);
    expiry.store(START + 31 * DAY, Ordering::SeqCst);
    assert_eq!(queue.counts().unwrap().visible, 0);
}

#[test]
fn messages_that_a_clock_ahead_sent_are_visible_once_it_is_right() {
    let clock = Arc::new(AtomicI64::new(START + 31 * DAY));
    let queue = queue(&clock, &clock);
    queue.send(NewMessage::new("from the future").unwrap()).unwrap();
    clock.store(START, Ordering::SeqCst);
    assert_eq!(queue.counts().unwrap().visible, 0);
    queue.release_in_flight().unwrap();
    assert_eq!(queue.counts().unwrap().visible, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_counts_what_its_functions_do_and_what_it_takes() {
    let config = StackConfig::default();
    let numbers = config.telemetry.numbers.clone();
    let stack = Stack::start(config).await.unwrap();
    let now = Clock::system().now();
    let published = format!(
        r#"{{"type":"activity.published","activity_id":"live-1","actor_id":"anna","published_at":"{now}"}}"#
    );
    send(&stack, &COMMANDS[0].replace("2026-11-20T11:00:00Z", &now.to_string())).await;
    let liked = format!(
        r#"{{"type":"like.created","viewer_id":"bob","activity_id":"live-1","at":"{now}"}}"#
    );
    for command in [published.as_str(), liked.as_str(), "not json"] {
        send(&stack, command).await;
    }
    until(async || timeline(&stack).await.contains("live-1")).await;
    let ever = |name| numbers.ever(name, None).sum;
    let expected = [("CommandsApplied", 3.0), ("ChangesFolded", 1.0), ("DeadLetters", 1.0)];
    let seen = until(async || expected.iter().all(|(name, least)| ever(name) >= *least));
    let seen = tokio::time::timeout(Duration::from_secs(60), seen).await;
    assert!(seen.is_ok(), "{:?}", expected.map(|(name, _)| (name, ever(name))));
    assert_eq!((ever("CommandsApplied"), ever("CommandsRefused")), (3.0, 1.0));
    assert_eq!((ever("EntriesWritten"), numbers.kinds("DeadLetters")), (1.0, vec!["not-json"]));
    let functions = ["dead-letter alerter", "fan-out writer", "projector", "timeline reader"];
    assert_eq!(numbers.kinds(INVOCATIONS), functions);
    assert!(numbers.ever("PageLatency", None).count >= 1);
    for (name, tables) in [
        (WRITE_UNITS, vec!["dead letters", "facts", "ledger", "timelines", "views"]),
        (READ_UNITS, vec!["facts", "ledger", "timelines", "views"]),
    ] {
        let kinds = numbers.kinds(name);
        assert!(tables.iter().all(|table| kinds.contains(table)), "{name}: {kinds:?}");
    }
    assert_eq!(numbers.ever(WRITE_UNITS, Some("timelines")).sum, 1.0, "one entry");
    let sent = numbers.ever(QUEUE_REQUESTS, Some("clients")).sum;
    assert!(sent >= 5.0, "commands and a dead letter: {sent}");
    stack.shut_down().await;
}
