//! What a file holds after the process has ended.

use std::path::Path;
use std::time::Duration;

use nagare_local::sqs::{QueueConfig, QueueError, Queues};

use super::support::*;

fn open(path: &Path, clock: &ManualClock) -> Stack {
    let queues = Queues::open(path, configs(), clock.as_clock()).unwrap();
    Stack::over(queues, clock.clone())
}

#[test]
fn everything_acknowledged_is_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("queue.db");
    let clock = ManualClock::new();
    let held = {
        let stack = open(&path, &clock);
        for body in ["deleted", "held", "dead"] {
            send(&stack.work, body);
            clock.pass(SECOND);
        }
        let first = try_receive(&stack.work, 1, None).unwrap().remove(0);
        delete(&stack.work, &first);
        let held = try_receive(&stack.work, 1, None).unwrap().remove(0);
        for _ in 0..3 {
            try_receive(&stack.work, 1, Some(Duration::ZERO)).unwrap();
        }
        stack.work.send(message("delayed").delayed(60 * SECOND).unwrap()).unwrap();
        held
    };
    let stack = open(&path, &clock);
    assert_eq!(counts(&stack.work), (0, 1, 1));
    assert_eq!(bodies(&receive(&stack.dead)), ["dead"]);
    // The receipt outlives the restart as well.
    delete(&stack.work, &held);
    assert_eq!(counts(&stack.work), (0, 0, 1));
    assert_eq!(stack.work.created_at(), START);
}

/// A copy of the files taken between two calls is what `kill -9` would leave.
#[test]
fn a_killed_process_leaves_what_it_had_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("queue.db");
    let clock = ManualClock::new();
    let stack = open(&path, &clock);
    stack.work.send_batch(&vec![message("a"); 10]).unwrap();
    let received = try_receive(&stack.work, 4, None).unwrap();
    delete(&stack.work, &received[0]);
    let copy = directory.path().join("copy.db");
    for suffix in ["", "-wal"] {
        let part = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(part(&path), part(&copy)).unwrap();
    }
    assert_eq!(counts(&open(&copy, &clock).work), (6, 3, 0));
}

#[test]
fn queues_are_found_by_name_whatever_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("queue.db");
    let clock = ManualClock::new();
    send(&open(&path, &clock).work, "a");
    let mut other = configs();
    other.reverse();
    other.insert(0, QueueConfig::new("new"));
    let queues = Queues::open(&path, other, clock.as_clock()).unwrap();
    assert_eq!(bodies(&receive(&queues.queue("work").unwrap())), ["a"]);
    assert!(receive(&queues.queue("new").unwrap()).is_empty());
}

#[test]
fn a_file_is_open_only_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("queue.db");
    let clock = ManualClock::new();
    let _first = open(&path, &clock);
    let second = Queues::open(&path, configs(), clock.as_clock());
    assert!(matches!(second, Err(QueueError::Storage { .. })));
}
