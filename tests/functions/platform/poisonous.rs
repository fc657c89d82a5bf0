//! What the store refuses, whenever it is asked: the change that causes it becomes a dead letter with the reason, and
//! everything beside it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::{base64, body::SdkBody};
use nagare_local::stream_source;
use serde_json::{Value, json};
use tests::{World, publish, soon};

use crate::platform::projecting::records;

const AT: &str = "2026-11-20T11:00:00.000Z";
/// What no view may say: a name that is always among the latest that a view knows.
const POISON: &str = "z-poison";

/// Refuses to write anything into views that says what none may say.
#[derive(Debug)]
struct Refusing {
    inside: SharedHttpConnector,
    refusals: Arc<AtomicUsize>,
}

impl HttpConnector for Refusing {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let answer = match target.rsplit('.').next() {
            Some("PutItem") => json!({"__type": "com.amazon.coral.validate#ValidationException"}),
            Some("TransactWriteItems") => {
                json!({"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                    "CancellationReasons": [{"Code": "None"}, {"Code": "ValidationError"}]})
            }
            _ => return self.inside.call(request),
        };
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        if !(is_of_views(&body) && says(&body, POISON)) {
            return self.inside.call(request);
        }
        self.refusals.fetch_add(1, Ordering::Relaxed);
        let status = 400.try_into().unwrap();
        let answer = HttpResponse::new(status, SdkBody::from(answer.to_string()));
        HttpConnectorFuture::ready(Ok(answer))
    }
}

fn is_of_views(body: &Value) -> bool {
    body.to_string().contains(r#""TableName":"nagare-views""#)
}

/// True if a text is in any string, or in any bytes.
fn says(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => {
            let holds = |bytes: Vec<u8>| bytes.windows(text.len()).any(|it| it == text.as_bytes());
            string.contains(text) || base64::decode(string).is_ok_and(holds)
        }
        Value::Array(list) => list.iter().any(|value| says(value, text)),
        Value::Object(map) => map.values().any(|value| says(value, text)),
        _ => false,
    }
}

fn refusing() -> (World, Arc<AtomicUsize>) {
    let refusals = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&refusals);
    let world =
        World::behind(|inside| SharedHttpConnector::new(Refusing { inside, refusals: counted }));
    (world, refusals)
}

fn like(viewer: &str, activity: &str) -> Value {
    json!({"type": "like.created", "viewer_id": viewer, "activity_id": activity, "at": AT})
}

fn vote(viewer: &str) -> Value {
    json!({"type": "vote.cast", "poll_id": "p", "viewer_id": viewer, "choice": "red", "at": AT})
}

/// Folds everything as one batch, all of which has to be worked off, and returns whose changes are dead letters.
async fn fold(world: &World) -> Vec<String> {
    let batch = stream_source::event("a", &records(world)).unwrap();
    let answer = world.fold(batch, soon()).await.unwrap();
    assert_eq!(answer.batch_item_failures, []);
    let letters = world.take_dead_letters().await.into_iter();
    let changed = letters.map(|letter| {
        let reason = letter.message_attributes["nagare.detail"].string_value.clone().unwrap();
        let is_said = ["the store refused the request", "set aside by an earlier delivery"];
        assert!(is_said.iter().any(|why| reason.contains(why)), "{reason}");
        let body = tests::said(letter.body.as_deref().unwrap());
        body["key"]["pk"].as_str().unwrap().to_owned()
    });
    changed.collect()
}

async fn likes(world: &World, activity: &str) -> Value {
    let (status, _, body) = world.get(&format!("/v1/activities/{activity}"), "").await;
    assert_eq!(status, 200, "{body}");
    body["likes"]["count"].clone()
}

#[tokio::test]
async fn a_poisonous_like_in_the_midst_of_a_batch_is_one_dead_letter() {
    let (world, refusals) = refusing();
    for activity in ["a", "b", "c"] {
        world.done(&[publish("anna", activity, AT)]).await;
    }
    for n in 0..40 {
        let viewer = format!("v{n}");
        let viewer = if n == 21 { POISON } else { &viewer };
        world.done(&[like(viewer, "b"), like(&format!("w{n}"), "a"), like("c", "c")]).await;
    }
    assert_eq!(fold(&world).await, ["likes#z-poison"]);
    let shown = [likes(&world, "a").await, likes(&world, "b").await, likes(&world, "c").await];
    assert_eq!(shown, [40, 39, 1]);
    let (_, _, page) = world.get("/v1/notifications/anna", "").await;
    assert_eq!(page["unread_count"], 80);
    // Halves of halves: not one by one.
    let refusals = refusals.load(Ordering::Relaxed);
    assert!(refusals < 20, "{refusals}");
    // Once more, and it is the same letter.
    assert_eq!(fold(&world).await, ["likes#z-poison"]);
    assert_eq!(likes(&world, "b").await, 39);
}

#[tokio::test]
async fn a_poisonous_like_that_nobody_is_told_of_is_one_dead_letter() {
    let (world, _) = refusing();
    for n in 0..9 {
        let viewer = format!("v{n}");
        world.done(&[like(if n == 4 { POISON } else { &viewer }, "b"), like(&viewer, "a")]).await;
    }
    assert_eq!(fold(&world).await, ["likes#z-poison"]);
    world.done(&[publish("anna", "a", AT), publish("anna", "b", AT)]).await;
    fold(&world).await;
    assert_eq!([likes(&world, "a").await, likes(&world, "b").await], [9, 8]);
}

#[tokio::test]
async fn a_poisonous_vote_that_waits_is_one_dead_letter() {
    let (world, _) = refusing();
    for n in 0..50 {
        let viewer = format!("v{n}");
        world.done(&[vote(if n == 33 { POISON } else { &viewer }), like("bob", &viewer)]).await;
    }
    assert_eq!(fold(&world).await, ["votes#z-poison"]);
    let open = json!({"type": "poll.opened", "poll_id": "p", "actor_id": "anna", "choices": ["red", "blue"],
        "opens_at": "2026-11-20T10:00:00.000Z", "closes_at": "2026-11-20T12:00:00.000Z"});
    world.done(&[open, publish("anna", "v7", AT)]).await;
    fold(&world).await;
    let (_, _, poll) = world.get("/v1/polls/p", "").await;
    assert_eq!((&poll["votes"], likes(&world, "v7").await), (&json!(49), json!(1)));
}
