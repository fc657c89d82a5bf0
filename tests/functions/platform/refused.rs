//! What the store refuses is one command's affair: it is a dead letter with its reason after its first delivery, and
//! everything beside it in the batch is in effect.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tests::{World, delete, follow, publish};

const AT: &str = "2026-11-20T11:00:00.000Z";
const LATER: &str = "2026-11-20T11:10:00.000Z";
/// What is refused has this in its request.
const POISON: &str = "poison";

/// Tables that refuse every request of one operation with a word in it, at most so often.
#[derive(Debug, Clone)]
struct Refusing {
    inside: SharedHttpConnector,
    operation: &'static str,
    answer: Arc<Mutex<Value>>,
    left: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
}

impl HttpConnector for Refusing {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let asked = target.starts_with("DynamoDB") && target.ends_with(self.operation);
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default());
        let take = |left: usize| left.checked_sub(1);
        let left = &self.left;
        if !asked
            || !body.contains(POISON)
            || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_err()
        {
            return self.inside.call(request);
        }
        self.refused.fetch_add(1, Ordering::SeqCst);
        let body = self.answer.lock().unwrap().to_string();
        let status = StatusCode::try_from(400).unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
    }
}

/// A world whose tables refuse, and how often they have.
fn refusing(operation: &'static str, answer: Value, times: usize) -> (World, Arc<AtomicUsize>) {
    let refused = Arc::<AtomicUsize>::default();
    let world = World::behind(|inside| {
        let (answer, left) = (Arc::new(Mutex::new(answer)), Arc::new(AtomicUsize::new(times)));
        let refused = Arc::clone(&refused);
        SharedHttpConnector::new(Refusing { inside, operation, answer, left, refused })
    });
    (world, refused)
}

fn update(activity: &str, payload: &str) -> Value {
    json!({"type": "activity.updated", "activity_id": activity, "actor_id": "anna", "at": LATER, "payload": payload})
}

/// Nine good edits and deletes, and one in their midst that is refused.
fn batch(poison: Value) -> Vec<String> {
    let edits = (0..9).map(|n| match n % 2 {
        0 => update(&format!("live-{n}"), "edited"),
        _ => delete("anna", &format!("live-{n}")),
    });
    let mut batch: Vec<_> = edits.map(|edit| edit.to_string()).collect();
    batch.insert(4, poison.to_string());
    batch
}

async fn prepared(world: &World) {
    world.done(&[follow("bob", "anna", AT), publish("carl", "of-carl", AT)]).await;
    for n in 0..9 {
        world.done(&[publish("anna", &format!("live-{n}"), AT)]).await;
    }
}

const AFTER: [&str; 5] = ["live-8", "live-6", "live-4", "live-2", "live-0"];

#[tokio::test]
async fn a_refusal_is_a_dead_letter_at_once_and_all_beside_it_is_in_effect() {
    let reasons = json!([{"Code": "None"}, {"Code": "ValidationError", "Message": "too large"}]);
    for answer in [
        json!({"__type": "com.amazon.coral.validate#ValidationException", "message": "too large"}),
        json!({"__type": "ItemCollectionSizeLimitExceededException", "message": "too large"}),
        json!({"__type": "TransactionCanceledException", "message": "too large", "CancellationReasons": reasons}),
        json!({"__type": "NobodyThoughtOfThisException", "message": "too large"}),
    ] {
        for (operation, poison) in [
            ("PutItem", publish("anna", POISON, AT)),
            ("UpdateItem", follow(POISON, "anna", AT)),
            ("BatchWriteItem", follow(POISON, "carl", AT)),
        ] {
            let (world, refused) = refusing(operation, answer.clone(), usize::MAX);
            prepared(&world).await;
            let batch = batch(poison.clone());
            let bodies: Vec<_> = batch.iter().map(String::as_str).collect();
            assert_eq!(world.write(&bodies, 1).await, [0_usize; 0], "{operation} {answer}");
            let letters = world.take_dead_letters().await;
            let [letter] = &letters[..] else { panic!("{operation} {answer}: {}", letters.len()) };
            assert_eq!(letter.body.as_deref(), Some(bodies[4]));
            let attribute =
                |name: &str| letter.message_attributes[name].string_value.clone().unwrap();
            assert_eq!(attribute("nagare.reason"), "store-rejected");
            assert!(attribute("nagare.detail").contains("refused the request"));
            // Twice, since once may be an accident. A batch beside it may be in flight.
            assert!((2..=4).contains(&refused.load(Ordering::SeqCst)), "{operation}: {refused:?}");
            assert_eq!(world.take_commands().await.len(), 0, "nothing is handed on");
            let ids = world.ids("bob", "").await;
            assert_eq!(ids.iter().filter(|id| *id != POISON).collect::<Vec<_>>(), AFTER);
        }
    }
}

#[tokio::test]
async fn a_refusal_that_does_not_repeat_is_none() {
    let answer = json!({"__type": "SerializationException", "message": "cut on its way"});
    let (world, refused) = refusing("PutItem", answer, 1);
    prepared(&world).await;
    let batch = batch(publish("anna", POISON, AT));
    let bodies: Vec<_> = batch.iter().map(String::as_str).collect();
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
    assert_eq!(world.take_dead_letters().await.len(), 0);
    assert_eq!(refused.load(Ordering::SeqCst), 1);
    assert!(world.ids("bob", "").await.contains(&POISON.to_owned()));
}

#[tokio::test]
async fn an_item_that_cannot_be_read_stops_its_own_command_alone() {
    let (world, _) = refusing("PutItem", Value::Null, 0);
    prepared(&world).await;
    world.done(&[publish("anna", POISON, AT)]).await;
    let request = json!({
        "TableName": "nagare-ledger", "UpdateExpression": "REMOVE revision",
        "Key": {"pk": {"S": format!("activity#{POISON}")}, "sk": {"S": "actor#anna"}},
    });
    assert_eq!(world.engine.call("UpdateItem", request.to_string().as_bytes()).0, 200);
    let batch = batch(update(POISON, "edited"));
    let bodies: Vec<_> = batch.iter().map(String::as_str).collect();
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
    let letters = world.take_dead_letters().await;
    assert_eq!(letters.len(), 1);
    let reason = letters[0].message_attributes["nagare.reason"].string_value.as_deref();
    assert_eq!(reason, Some("corrupt-record"));
    assert_eq!(
        world.ids("bob", "").await.iter().filter(|id| *id != POISON).collect::<Vec<_>>(),
        AFTER
    );
}
