use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

use super::*;
use crate::platform::runtime::clock::Clock;
use crate::platform::runtime::deadline::Deadline;
use crate::platform::signed::Services;
use crate::platform::values::{ActorId, PollId, Timestamp};

/// Answers as it was told, one call after another, and then takes everything. Each call takes ten milliseconds.
#[derive(Debug, Clone, Default)]
struct Answering {
    answers: Arc<Mutex<VecDeque<(u16, Value)>>>,
    asked: Arc<Mutex<Vec<Vec<String>>>>,
}

impl HttpConnector for Answering {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body: Value =
            serde_json::from_slice(request.body().bytes().expect("a body")).expect("JSON");
        assert_eq!(request.headers().get("x-amz-target"), Some("AWSEvents.PutEvents"));
        assert_eq!(request.headers().get("content-type"), Some("application/x-amz-json-1.1"));
        assert!(
            request
                .headers()
                .get("authorization")
                .expect("it is signed")
                .contains("/events/aws4_request")
        );
        let entries = body["Entries"].as_array().expect("entries");
        let poll = |entry: &Value| {
            assert_eq!(
                (&entry["Source"], &entry["EventBusName"]),
                (&json!("nagare"), &json!("bus"))
            );
            let detail: Value =
                serde_json::from_str(entry["Detail"].as_str().expect("a text")).expect("JSON");
            detail["poll_id"].as_str().expect("a poll").to_owned()
        };
        let polls: Vec<_> = entries.iter().map(poll).collect();
        let taken =
            json!({"Entries": polls.iter().map(|_| json!({"EventId": "e"})).collect::<Vec<_>>()});
        self.asked.lock().expect("asked").push(polls);
        let answer = self.answers.lock().expect("answers").pop_front();
        let (status, body) = answer.unwrap_or((200, taken));
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            match status {
                0 => Err(ConnectorError::io("reset".into())),
                status => {
                    let status = StatusCode::try_from(status).expect("a status");
                    Ok(HttpResponse::new(status, SdkBody::from(body.to_string())))
                }
            }
        })
    }
}

const NOW: i64 = 1_790_000_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis)
}

fn bus(answers: &[(u16, Value)]) -> (Bus, Answering) {
    let answers = Arc::new(Mutex::new(answers.iter().cloned().collect()));
    let connector = Answering { answers, ..Answering::default() };
    let services =
        Services::behind(SharedHttpConnector::new(connector.clone()), "key", "eu-west-1");
    let services = services.at(Some("http://events.local".to_owned()));
    (Bus::new(&services, "bus", Clock::manual(at(NOW))), connector)
}

/// The end of a poll that was put on record this many minutes ago.
fn event(poll: &str, minutes: i64) -> OutboundEvent {
    let poll_id = PollId::new(poll).expect("an id");
    let actor_id = ActorId::new("anna").expect("an id");
    OutboundEvent::new(
        &Happened::PollClosed { poll_id, actor_id },
        at(0),
        at(NOW - minutes * 60_000),
    )
    .expect("JSON")
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

fn asked(connector: &Answering) -> Vec<Vec<String>> {
    connector.asked.lock().expect("asked").clone()
}

fn error(status: u16, name: &str) -> (u16, Value) {
    (status, json!({"__type": name, "message": "no"}))
}

fn each(codes: &[Option<&str>]) -> (u16, Value) {
    let one = |code: &Option<&str>| match code {
        Some(code) => json!({"ErrorCode": code, "ErrorMessage": "no"}),
        None => json!({"EventId": "e"}),
    };
    (200, json!({"FailedEntryCount": 1, "Entries": codes.iter().map(one).collect::<Vec<_>>()}))
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_sent_together() {
    let (bus, connector) = bus(&[]);
    let sending = (0..25).map(|n| {
        let bus = bus.clone();
        async move { bus.send(vec![event(&format!("p{n:02}"), 0)], soon()).await }
    });
    for sent in futures::future::join_all(sending).await {
        sent.expect("sent");
    }
    let asked = asked(&connector);
    assert_eq!(asked.iter().map(Vec::len).collect::<Vec<_>>(), [1, 10, 10, 4]);
    let mut all = asked.concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 25);
    bus.send(Vec::new(), soon()).await.expect("nothing to do");
    Bus::off().send(vec![event("p", 0)], soon()).await.expect("nothing to do");
    assert_eq!(connector.asked.lock().expect("asked").len(), 4, "nothing is no call");
}

#[tokio::test(start_paused = true)]
async fn only_what_failed_is_sent_again() {
    let failing = each(&[None, Some("InternalFailure"), None, Some("ThrottlingException")]);
    let (bus, connector) = bus(&[(0, json!(null)), error(500, "InternalException"), failing]);
    let events = ["a", "b", "c", "d"].map(|poll| event(poll, 0)).into();
    bus.send(events, soon()).await.expect("sent");
    let all = vec!["a", "b", "c", "d"];
    assert_eq!(asked(&connector), [all.clone(), all.clone(), all, vec!["b", "d"]]);
    assert_eq!(bus.take_refused(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_counted_and_holds_up_nothing() {
    let wrong = each(&[None, Some("MalformedDetail"), None]);
    let (of_three, connector) = bus(&[wrong, error(400, "ValidationException")]);
    of_three.send(["a", "b", "c"].map(|poll| event(poll, 0)).into(), soon()).await.expect("done");
    assert_eq!((asked(&connector).len(), of_three.take_refused()), (1, 1));
    // The request as a whole: each is tried alone.
    let refusals =
        [error(400, "ValidationException"), each(&[None]), error(400, "ValidationException")];
    let (bus, connector) = bus(&refusals);
    bus.send(["a", "b", "c"].map(|poll| event(poll, 0)).into(), soon()).await.expect("done");
    assert_eq!(asked(&connector), [vec!["a", "b", "c"], vec!["a"], vec!["b"], vec!["c"]]);
    assert_eq!((bus.take_refused(), bus.take_refused()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn who_has_waiting_events_of_their_own_sends_beside_others() {
    let (bus, connector) = bus(&[each(&[Some("MalformedDetail")])]);
    let (apart, begun) = (bus.apart(), tokio::time::Instant::now());
    let others = apart.send(vec![event("b", 0)], soon());
    let (one, other) = tokio::join!(bus.send(vec![event("a", 0)], soon()), others);
    assert!(one.is_ok() && other.is_ok());
    assert!(begun.elapsed() < Duration::from_millis(20), "{:?}", begun.elapsed());
    assert_eq!(asked(&connector), [["a"], ["b"]]);
    assert_eq!((apart.take_refused(), bus.take_refused()), (1, 0), "it is one bus");
    assert!(!Bus::off().apart().is_on());
}

#[tokio::test(start_paused = true)]
async fn a_bus_that_is_gone_is_waited_for_a_while() {
    for (refusal, reason) in [
        (error(400, "com.amazon#ResourceNotFoundException"), "bus-missing"),
        (error(400, "AccessDeniedException"), "access-denied"),
        (each(&[Some("NotAuthorizedForSourceException")]), "access-denied"),
    ] {
        let (bus, connector) = bus(&[refusal.clone(), refusal.clone()]);
        let failed = bus.send(vec![event("a", 14)], soon()).await.expect_err("it comes again");
        assert_eq!((failed.reason(), bus.take_refused()), (reason, 0));
        bus.send(vec![event("a", 16)], soon()).await.expect("given up");
        assert_eq!((asked(&connector).len(), bus.take_refused()), (2, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_bus_that_does_not_answer_takes_ten_seconds() {
    let answers = vec![(0, json!(null)); 1_000];
    let (bus, connector) = bus(&answers);
    let begun = tokio::time::Instant::now();
    let others = bus.send(vec![event("b", 0)], soon());
    let (one, other) = tokio::join!(bus.send(vec![event("a", 99)], soon()), others);
    assert!(one.is_err_and(|error| error.is_retryable()) && other.is_err());
    assert!(begun.elapsed() <= Duration::from_secs(10), "{:?}", begun.elapsed());
    // What was not sent is nobody's any more.
    connector.answers.lock().expect("answers").clear();
    bus.send(vec![event("c", 0)], soon()).await.expect("sent");
    assert_eq!(asked(&connector).last(), Some(&vec!["c".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_dropped_while_sending_leaves_the_others_theirs() {
    let (bus, connector) = bus(&[]);
    // One is at work for ten milliseconds, and two wait. The first of these sends for both, and is dropped on the way.
    let send = |poll| bus.send(vec![event(poll, 0)], soon());
    let dropped = tokio::time::timeout(Duration::from_millis(15), send("a"));
    let (first, dropped, last) = tokio::join!(send("x"), dropped, send("b"));
    assert!(first.is_ok() && dropped.is_err() && last.is_ok());
    assert_eq!(asked(&connector), [vec!["x"], vec!["a", "b"], vec!["b"]]);
}
