//! Logs and metrics hold no payload, token, cursor or secret, nor anything else that a sender can
//! choose: whatever happens, and whatever the tables answer.
//!
//! Words that must not come out are planted in everything that goes in. The tables quote every request
//! in the errors that they answer, as some services do.

use shared::platform::crypto::seal::Secrets;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Once};

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::event::sqs::SqsMessage;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use function_http::Authorization;
use serde_json::{Value, json};
use shared::platform::paging::CursorSeal;
use shared::platform::runtime::telemetry;
use tests::{NOW, Output, World, event, follow, message, soon};
use tracing::subscriber::{DefaultGuard, set_default, set_global_default};

/// Part of every word that must not come out.
const CANARY: &str = "canary";
const SECRET: &str = "canary-secret-0123456789abcdefghijklmnop";

/// Tables and queues that answer with this status, unless it is 200, and quote the request.
#[derive(Debug)]
struct Quoting {
    inside: SharedHttpConnector,
    status: Arc<AtomicU16>,
}

impl HttpConnector for Quoting {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let status = self.status.load(Ordering::SeqCst);
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        // The way to the dead letters stays open.
        if status == 200 || target.starts_with("AmazonSQS") {
            return self.inside.call(request);
        }
        let quoted = String::from_utf8_lossy(request.body().bytes().unwrap_or_default());
        let code = if status == 500 { "InternalServerError" } else { "ValidationException" };
        let body = json!({"__type": code, "message": format!("not acceptable: {quoted} canary")});
        let status = StatusCode::try_from(status).unwrap();
        let answer = HttpResponse::new(status, SdkBody::from(body.to_string()));
        HttpConnectorFuture::ready(Ok(answer))
    }
}

/// A world that quotes, what it answers with, and what it has said.
fn world() -> (World, Arc<AtomicU16>) {
    let status = Arc::new(AtomicU16::new(200));
    let mut world = World::behind(|inside| {
        SharedHttpConnector::new(Quoting { inside, status: Arc::clone(&status) })
    });
    world.reader.requests.seal = CursorSeal::new(&Secrets::new(SECRET.as_bytes()).unwrap());
    world.set_authorization(Authorization::Jwt);
    (world, status)
}

/// Commands that hold the word wherever one can be: those that are applied, and those that are refused.
fn commands() -> (Vec<String>, Vec<String>) {
    let publish = |id: &str| {
        json!({"type": "activity.published", "activity_id": id, "actor_id": "anna",
               "published_at": NOW, "payload": {"title": CANARY, "token": "canary-token"}})
    };
    let update = json!({"type": "activity.updated", "activity_id": "live-1", "actor_id": "anna",
                        "at": NOW, "payload": CANARY});
    let with = |member: &str, value: Value| {
        let mut command = publish("live-2");
        command[member] = value;
        command.to_string()
    };
    let good = vec![
        follow("bob", "anna", NOW).to_string(),
        publish("live-1").to_string(),
        update.to_string(),
        publish("live-3").to_string(),
        with("canary", json!("canary")),
    ];
    let bad = vec![
        CANARY.to_owned(),
        r#""canary""#.to_owned(),
        format!("{{\"payload\": {CANARY}}}"),
        with("type", json!(CANARY)),
        with("activity_id", json!("canary#")),
        with("actor_id", json!({"canary": CANARY})),
        with("published_at", json!(CANARY)),
        with("kind", json!("canary!")),
        with("payload", json!(CANARY.repeat(1_000))),
        json!({"type": "fanout.part", "activity_id": "live-1", "actor_id": "anna",
               "published_at": NOW, "followers": CANARY})
        .to_string(),
    ];
    (good, bad)
}

/// A letter that was sent to the dead-letter queue with words that are not the writer's.
fn forged() -> SqsMessage {
    let mut message = message("forged", CANARY, 1);
    let attribute = |value: &str| json!({"stringValue": value, "dataType": "String"});
    let attributes = json!({"nagare.reason": attribute(CANARY), "nagare.detail": attribute(CANARY),
                            "nagare.origin": attribute("canary origin")});
    message.message_attributes = serde_json::from_value(attributes).unwrap();
    message
}

/// Sends a request with the word in its headers, and returns the answer.
async fn read(world: &World, path: &str, query: &str) -> Value {
    let request: ApiGatewayV2httpRequest = serde_json::from_value(json!({
        "version": "2.0", "rawPath": path, "rawQueryString": query, "cookies": [CANARY],
        "headers": {"authorization": "Bearer canary-token", "x-canary": CANARY},
        "requestContext": {
            "requestId": "request-1", "stage": "$default", "timeEpoch": 0,
            "http": {"method": "GET", "path": path, "protocol": "HTTP/1.1",
                     "sourceIp": "127.0.0.1", "userAgent": CANARY},
            "authorizer": {"jwt": {"claims": {"sub": "bob", "jti": CANARY}}},
        },
    }))
    .unwrap();
    let answer = world.respond(&request, soon()).await;
    let answer = serde_json::to_value(&answer).unwrap();
    serde_json::from_str(answer["body"].as_str().unwrap()).unwrap()
}

/// What this thread logs, as long as the guard lives.
pub(crate) fn logs() -> (Output, DefaultGuard) {
    static ONCE: Once = Once::new();
    // The first thread that reaches a log statement caches whether anybody listens: other tests must not
    // cache that nobody does.
    ONCE.call_once(|| set_global_default(telemetry::json_lines(std::io::sink)).unwrap());
    let output = Output::default();
    let lines = output.clone();
    (output, set_default(telemetry::json_lines(move || lines.clone())))
}

/// Does everything that can be done with these commands and with the timeline. Returns the cursors that
/// came out.
async fn everything(world: &World) -> Vec<String> {
    let (good, bad) = commands();
    let bodies: Vec<_> = good.iter().chain(&bad).map(String::as_str).collect();
    for receives in [1, 5] {
        world.write(&bodies, receives).await;
    }
    let mut letters = world.take_dead_letters().await;
    letters.push(forged());
    world.alerter.handle(event(letters), soon()).await.unwrap();
    let page = read(world, "/v1/timelines/bob", "limit=1").await;
    let cursors = ["next_cursor", "newer_cursor"].map(|name| page[name].as_str());
    let cursors: Vec<_> = cursors.into_iter().flatten().map(ToOwned::to_owned).collect();
    for cursor in cursors.iter().map(String::as_str).chain([CANARY]) {
        read(world, "/v1/timelines/bob", &format!("cursor={cursor}")).await;
        read(world, "/v1/timelines/bob", &format!("cursor={cursor}x")).await;
    }
    for query in ["limit=canary", "from=canary", "order=canary", "canary=canary"] {
        read(world, "/v1/timelines/bob", query).await;
    }
    for path in ["/canary", "/v1/timelines/canary%20", "/v1/timelines/anna", "/v1/canary"] {
        read(world, path, "").await;
    }
    cursors
}

#[tokio::test(start_paused = true)]
async fn nothing_that_was_planted_comes_out() {
    let (world, status) = world();
    let (logs, _guard) = logs();
    let mut cursors = everything(&world).await;
    for answered in [400, 500] {
        status.store(answered, Ordering::SeqCst);
        cursors.extend(everything(&world).await);
    }
    status.store(200, Ordering::SeqCst);
    planted(&world, &cursors).await;

    let (logs, metrics) = (logs.lines(), world.metrics.lines());
    assert!(logs.len() > 80 && metrics.len() > 40, "{} and {}", logs.len(), metrics.len());
    for line in logs.iter().chain(&metrics).map(Value::to_string) {
        for word in cursors.iter().map(String::as_str).chain([CANARY, SECRET]) {
            assert!(!line.to_lowercase().contains(&word.to_lowercase()), "{word} is in {line}");
        }
    }
}

/// Asserts that the words went in: readers and operators get them.
async fn planted(world: &World, cursors: &[String]) {
    let page = read(world, "/v1/timelines/bob", "").await;
    assert_eq!(page["items"].as_array().unwrap().len(), 3, "{page}");
    assert!(page.to_string().contains(CANARY));
    assert_eq!(cursors.len(), 2);
    let letters = world.kept_letters().await;
    assert!(letters.iter().any(|letter| letter.detail.contains("got \"canary\"")));
    assert!(letters.iter().any(|letter| letter.reason == CANARY));
}

#[tokio::test]
async fn a_message_and_a_request_have_one_line_each() {
    let (world, _) = world();
    let (logs, _guard) = logs();
    let (good, bad) = commands();
    let bodies: Vec<_> = good.iter().chain(&bad).map(String::as_str).collect();
    world.write(&bodies, 1).await;
    let lines = logs.lines();
    assert_eq!(lines.len(), bodies.len());
    for n in 0..bodies.len() {
        let id = json!(n.to_string());
        let of: Vec<_> = lines.iter().filter(|line| line["message_id"] == id).collect();
        let [line] = of.as_slice() else { unreachable!("{of:?}") };
        assert_eq!(line["level"], if n < good.len() { "INFO" } else { "WARN" });
        assert_eq!(line["reason"].is_null(), n < good.len(), "{line}");
    }
    let published = &lines.iter().find(|line| line["activity_id"] == "live-1").unwrap();
    assert_eq!(
        (&published["command"], &published["actor_id"]),
        (&json!("activity.published"), &json!("anna"))
    );
    assert_eq!(lines.iter().find(|line| line["follower_id"] == "bob").unwrap()["entries"], 0);

    let letters = world.take_dead_letters().await;
    let kept = letters.len();
    world.alerter.handle(event(letters), soon()).await.unwrap();
    let logged = &logs.lines()[lines.len()..];
    assert_eq!(logged.len(), kept);
    assert!(
        logged.iter().all(|line| line["message"] == "dead letter" && line["reason"].is_string())
    );

    read(&world, "/v1/timelines/bob", "").await;
    read(&world, "/v1/timelines/eve", "").await;
    let lines = &logs.lines()[lines.len() + kept..];
    let [served, refused] = lines else { unreachable!("{lines:?}") };
    assert_eq!(served["request_id"], "request-1");
    assert_eq!(
        (&served["viewer_id"], &served["status"], &served["items"]),
        (&json!("bob"), &json!(200), &json!(3))
    );
    assert!(served["duration_ms"].as_f64().unwrap() > 0.0);
    assert_eq!((&refused["status"], &refused["message"]), (&json!(403), &json!("forbidden")));
}
