//! Calls to the queues that fail: what the writer sends arrives as long as there is time to send it
//! again, and otherwise nothing is acknowledged. Time is simulated.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::connector;
use nagare_local::faults::{Fault, inject};
use shared::platform::queue::{BATCH, MAX_BYTES, Message, Sender};
use shared::platform::runtime::deadline::Deadline;
use tests::{NOW, World, event, message, publish, unfinished};

use crate::social::split::{FOLLOWERS, with_followers};

/// Faults after which a call to a queue is repeated.
pub(crate) const PASSING: [Fault; 7] = [
    Fault::Throttled,
    Fault::Leftovers(1),
    Fault::ServerError,
    Fault::LostRequest,
    Fault::LostAnswer,
    Fault::CutAnswer,
    Fault::Hang,
];
/// Faults that no other attempt helps against.
pub(crate) const LASTING: [Fault; 2] = [Fault::TableMissing, Fault::Denied];
/// The time of an invocation.
const ENOUGH: Duration = Duration::from_secs(58);
const COMMANDS: &str = "http://queue/000000000000/commands";

/// The faults of the next calls to the queues, and the calls that there have been.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    next: Arc<Mutex<VecDeque<Fault>>>,
    calls: Arc<Mutex<Vec<usize>>>,
}

impl Script {
    pub(crate) fn fail(&self, times: usize, fault: Fault) {
        *self.next.lock().unwrap() = vec![fault; times].into();
        self.calls.lock().unwrap().clear();
    }

    /// How many messages each call had.
    pub(crate) fn calls(&self) -> Vec<usize> {
        self.calls.lock().unwrap().clone()
    }

    /// A world in which calls to the queues go by this script, and a sender to its commands.
    pub(crate) fn world(&self) -> (World, Sender) {
        let (script, mut sqs) = (self.clone(), None);
        let world = World::behind(|inside| {
            let scripted = SharedHttpConnector::new(Scripted { inside, script });
            sqs = Some(connector::sqs(scripted.clone()));
            scripted
        });
        (world, Sender::new(sqs.unwrap(), COMMANDS))
    }
}

#[derive(Debug)]
struct Scripted {
    inside: SharedHttpConnector,
    script: Script,
}

impl HttpConnector for Scripted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        if !target.starts_with("AmazonSQS.") {
            return self.inside.call(request);
        }
        let body = request.body().bytes().unwrap_or_default();
        let body: serde_json::Value = serde_json::from_slice(body).unwrap();
        self.script.calls.lock().unwrap().push(body["Entries"].as_array().map_or(1, Vec::len));
        let fault = self.script.next.lock().unwrap().pop_front();
        let inside = self.inside.clone();
        HttpConnectorFuture::new(async move { inject(fault, request, &inside).await })
    }
}

fn within(time: Duration) -> Deadline {
    Deadline::after(time)
}

/// Gives the writer one message. True if it has to come again.
async fn comes_again(world: &World, body: &str, deadline: Deadline) -> bool {
    let batch = event([message("0", body, 1)]);
    !unfinished(&world.writer.handle(batch, deadline).await.unwrap()).is_empty()
}

async fn entries_after_all_segments(world: &World) -> u64 {
    loop {
        let segments = world.take_commands().await;
        if segments.is_empty() {
            return world.entry_count().await;
        }
        let answer = world.writer.handle(event(segments), within(ENOUGH)).await.unwrap();
        assert_eq!(unfinished(&answer), [0_usize; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn segments_arrive_after_any_number_of_failures() {
    let script = Script::default();
    let world = with_followers(script.world().0).await;
    let trials = PASSING.into_iter().flat_map(|fault| [(fault, 1), (fault, 5)]);
    for (n, (fault, times)) in trials.enumerate() {
        script.fail(times, fault);
        let body = publish("star", &format!("live-{n}"), NOW).to_string();
        assert!(!comes_again(&world, &body, within(ENOUGH)).await, "{fault:?}, {times} times");
        let calls = script.calls();
        match fault {
            Fault::Leftovers(_) => assert!(calls[1] == calls[0] - 1, "{calls:?}"),
            _ => assert_eq!(calls, vec![calls[0]; times + 1], "{fault:?}: all are sent again"),
        }
        assert_eq!(calls.len(), times + 1, "{fault:?}");
        let expected = FOLLOWERS * (n + 1);
        assert_eq!(entries_after_all_segments(&world).await, expected as u64, "{fault:?}");
        assert_eq!(world.take_dead_letters().await.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn dead_letters_arrive_after_any_number_of_failures_and_are_one() {
    for fault in PASSING {
        let script = Script::default();
        let (world, _) = script.world();
        script.fail(5, fault);
        assert!(!comes_again(&world, "not json", within(ENOUGH)).await, "{fault:?}");
        assert_eq!(script.calls(), [1; 6], "{fault:?}");
        // If an answer is lost, cut or late, the letter has arrived anyway.
        let done = [Fault::LostAnswer, Fault::CutAnswer, Fault::Hang].contains(&fault);
        let letters = world.take_dead_letters().await;
        assert_eq!(letters.len(), if done { 6 } else { 1 }, "{fault:?}");
        let answer = world.alerter.handle(event(letters), within(ENOUGH)).await.unwrap();
        assert_eq!(answer.batch_item_failures.len(), 0);
        let kept = world.kept_letters().await;
        assert_eq!(kept.len(), 1, "{fault:?}: all of them are the same letter");
    }
}

/// As calls to the tables are: see `metrics`.
#[tokio::test(start_paused = true)]
async fn calls_that_are_made_again_are_counted() {
    let script = Script::default();
    let world = with_followers(script.world().0).await;
    let retried = || world.metrics.lines().iter().filter_map(|l| l["CallsRetried"].as_u64()).sum();
    for body in [publish("star", "live", NOW).to_string(), "not json".to_owned()] {
        let before: u64 = retried();
        script.fail(5, Fault::ServerError);
        assert!(!comes_again(&world, &body, within(ENOUGH)).await);
        assert_eq!(retried() - before, 5, "{body}");
        script.fail(5, Fault::Denied);
        assert!(comes_again(&world, "not json", within(ENOUGH)).await);
        assert_eq!(retried() - before, 5, "what nothing helps against is not tried again");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_in_time_comes_again() {
    let script = Script::default();
    let world = with_followers(script.world().0).await;
    let publish = publish("star", "live", NOW).to_string();
    for fault in PASSING.into_iter().filter(|fault| !matches!(fault, Fault::Leftovers(_))) {
        script.fail(10_000, fault);
        for body in ["not json", &publish] {
            assert!(comes_again(&world, body, within(Duration::from_secs(12))).await, "{fault:?}");
        }
        assert!((4..100).contains(&script.calls().len()), "{fault:?}: {:?}", script.calls().len());
    }
    script.fail(0, Fault::Hang);
    for body in ["not json", &publish] {
        assert!(!comes_again(&world, body, within(ENOUGH)).await);
    }
    assert_eq!(entries_after_all_segments(&world).await, FOLLOWERS as u64);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_not_tried_again() {
    let script = Script::default();
    let world = with_followers(script.world().0).await;
    let publish = publish("star", "live", NOW).to_string();
    for fault in LASTING {
        for body in ["not json", &publish] {
            script.fail(10_000, fault);
            assert!(comes_again(&world, body, within(ENOUGH)).await, "{fault:?}");
            assert_eq!(script.calls().len(), 1, "{fault:?}: no hot loop");
        }
    }
    assert_eq!(world.take_dead_letters().await.len() + world.take_commands().await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_what_is_wrong() {
    let script = Script::default();
    let (_, sender) = script.world();
    let said = [("queue-missing", "does not exist"), ("access-denied", "denied")];
    for (fault, (reason, words)) in LASTING.into_iter().zip(said) {
        script.fail(1, fault);
        let error = sender.send(&[Message::new("x")], within(ENOUGH)).await.unwrap_err();
        assert_eq!((error.reason(), error.is_retryable()), (reason, false));
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_was_not_accepted_is_sent_again() {
    let script = Script::default();
    let (world, sender) = script.world();
    let messages: Vec<_> = (0..8).map(|n| Message::new(n.to_string())).collect();
    script.fail(3, Fault::Leftovers(3));
    sender.send(&messages, within(ENOUGH)).await.unwrap();
    // Of the last two none can be left out, so that call is refused as a whole.
    assert_eq!(script.calls(), [8, 5, 2, 2]);
    let bodies = world.take_commands().await.into_iter().map(|message| message.body.unwrap());
    let mut bodies: Vec<_> = bodies.collect();
    bodies.sort();
    assert_eq!(bodies, ["0", "1", "2", "3", "4", "5", "6", "7"]);
}

/// The queue itself checks the limits.
#[tokio::test(start_paused = true)]
async fn messages_of_any_number_and_size_arrive_with_all_they_have() {
    let script = Script::default();
    let (world, sender) = script.world();
    let large = |n: usize| "x".repeat(MAX_BYTES / 2 - n);
    let mut messages: Vec<_> = (0..5).map(|n| Message::new(large(n))).collect();
    messages.extend((0..25).map(|n| Message::new(n.to_string())));
    messages.push(Message::new("x".repeat(MAX_BYTES)));
    messages.push(Message {
        body: "one with everything".to_owned(),
        group: Some("anna".to_owned()),
        attributes: vec![("name", "text".to_owned())],
        delay_seconds: Some(7),
    });
    sender.send(&messages, within(ENOUGH)).await.unwrap();
    let calls = script.calls();
    assert_eq!(calls.iter().sum::<usize>(), messages.len(), "{calls:?}");
    assert!(calls.iter().all(|sent| (1..=BATCH).contains(sent)), "{calls:?}");
    assert_eq!(world.take_commands().await.len(), messages.len() - 1, "one is delayed");
    world.set_clock("2026-11-20T12:00:06.999Z");
    assert_eq!(world.take_commands().await.len(), 0, "by seven seconds");
    world.set_clock("2026-11-20T12:00:07.000Z");
    let delayed = world.take_commands().await.pop().unwrap();
    assert_eq!(delayed.attributes["MessageGroupId"], "anna");
    assert_eq!(delayed.message_attributes["name"].string_value.as_deref(), Some("text"));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_the_queue_refuses_is_reported() {
    let script = Script::default();
    let (world, sender) = script.world();
    let messages = ["good", "bad \u{1}", "good"].map(Message::new);
    let error = sender.send(&messages, within(ENOUGH)).await.unwrap_err();
    assert_eq!((error.reason(), error.is_retryable()), ("queue-refused", false));
    assert!(error.to_string().contains("InvalidMessageContents"), "{error}");
    assert_eq!(script.calls(), [3]);
    assert_eq!(world.take_commands().await.len(), 2, "the others are there");
    let error = sender.send(&[Message::new("x".repeat(MAX_BYTES + 1))], within(ENOUGH)).await;
    assert_eq!(error.unwrap_err().reason(), "queue-refused");
}
