//! Receipts: a producer that waits reads what became of its messages, and never too early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lambda_events::event::sqs::{SqsMessage, SqsMessageAttribute};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::Value;
use shared::platform::receipts::MessageEnd::{Done, HandedOn, Refused};
use shared::platform::receipts::{MessageEnd, RECEIPT, Receipt, Receipts, RunId};
use tests::{NOW, World, event, follow, message, publish, soon, unfinished};

use crate::social::split::with_followers;

const RUN: RunId = RunId(7);

/// Tables that refuse to note receipts while this is set.
#[derive(Debug)]
struct Forgetful(SharedHttpConnector, Arc<AtomicBool>);

impl HttpConnector for Forgetful {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        let body = String::from_utf8_lossy(body);
        let notes = body.contains("receipts#") && body.contains("UpdateExpression");
        if !notes || !self.1.load(Ordering::SeqCst) {
            return self.0.call(request);
        }
        let body = SdkBody::from(r#"{"__type":"x#InternalServerError"}"#);
        let status = StatusCode::try_from(500).unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, body)))
    }
}

/// A message with a receipt of this number, for the n-th time.
fn numbered(number: u32, body: &str, receives: u32) -> SqsMessage {
    let mut message = message(&format!("m-{number}"), body, receives);
    let mut attribute = SqsMessageAttribute::default();
    attribute.data_type = Some("String".to_owned());
    attribute.string_value = Some(Receipt { run: RUN, number }.to_string());
    message.message_attributes.insert(RECEIPT.to_owned(), attribute);
    message
}

/// Gives the writer one batch. Returns the places of those that come again.
async fn write(world: &World, batch: Vec<SqsMessage>) -> Vec<String> {
    let response = world.writer.handle(event(batch), soon()).await.unwrap();
    response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect()
}

/// What is noted of the first three hundred.
async fn noted(world: &World) -> Vec<(u32, MessageEnd)> {
    let receipts = Receipts::new(&world.tables.ledger);
    let mut noted = receipts.read(RUN, &[0, 1, 2]).await.unwrap();
    noted.sort_by_key(|(number, _)| *number);
    noted
}

fn body(command: &Value) -> String {
    command.to_string()
}

#[tokio::test]
async fn each_message_is_noted_by_what_became_of_it() {
    let world = with_followers(World::new()).await;
    let batch = vec![
        numbered(0, &body(&follow("bob", "anna", NOW)), 1),
        numbered(99, &body(&follow("bob", "anna", NOW)), 1),
        numbered(100, &body(&publish("star", "live", NOW)), 1),
        numbered(250, "no command", 1),
        // Without a receipt.
        message("other", &body(&follow("carla", "anna", NOW)), 1),
    ];
    assert!(write(&world, batch).await.is_empty());
    assert_eq!(noted(&world).await, [(0, Done), (99, Done), (100, HandedOn), (250, Refused)]);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_receipt_is_not_noted_comes_again() {
    let forgets = Arc::new(AtomicBool::new(true));
    let world =
        World::behind(|inside| SharedHttpConnector::new(Forgetful(inside, Arc::clone(&forgets))));
    let batch =
        || vec![numbered(3, &body(&follow("bob", "anna", NOW)), 1), numbered(4, "no command", 1)];
    assert_eq!(write(&world, batch()).await, ["m-3", "m-4"]);
    assert_eq!(noted(&world).await, []);
    forgets.store(false, Ordering::SeqCst);
    assert!(write(&world, batch()).await.is_empty());
    // A repeated note changes nothing.
    assert!(write(&world, batch()).await.is_empty());
    assert_eq!(noted(&world).await, [(3, Done), (4, Refused)]);
}

#[tokio::test]
async fn what_is_no_receipt_is_passed_over() {
    let world = World::new();
    for text in ["", "7", "x.1", "00000000000000000000000000000007.4294967296"] {
        let mut message = numbered(1, &body(&follow("bob", "anna", NOW)), 1);
        let attribute = message.message_attributes.get_mut(RECEIPT).unwrap();
        attribute.string_value = Some(text.to_owned());
        let response = world.writer.handle(event([message]), soon()).await.unwrap();
        assert_eq!(unfinished(&response), [0_usize; 0], "{text}");
    }
    assert_eq!(noted(&world).await, []);
}
