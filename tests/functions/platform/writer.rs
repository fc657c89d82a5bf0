//! The fan-out writer: what becomes of each message of a batch.

use aws_lambda_events::event::sqs::SqsMessage;
use fanout_writer::DeadLetterQueue;
use nagare_client::tables::TableNames;
use nagare_local::{connector, schema};
use serde_json::json;
use shared::platform::queue::{BatchError, Sender};
use tests::{World, delete, event, follow, letter_seal, message, publish, soon, unfollow};

const AT: &str = "2026-11-20T11:00:00.000Z";

#[tokio::test]
async fn one_bad_body_in_ten_touches_nobody_else() {
    let world = World::new();
    world.done(&[follow("bob", "anna", AT)]).await;
    let commands: Vec<_> =
        (0..9).map(|n| publish("anna", &format!("live-{n}"), AT).to_string()).collect();
    let mut bodies: Vec<_> = commands.iter().map(String::as_str).collect();
    bodies.insert(4, "not json");
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
    assert_eq!(world.ids("bob", "order=oldest").await.len(), 9);
    let letters = world.dead_letters().await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].body, "not json");
}

#[tokio::test]
async fn a_record_without_an_id_fails_the_invocation() {
    let world = World::new();
    for id in [None, Some(String::new())] {
        let mut nameless: SqsMessage = message("x", "{}", 1);
        nameless.message_id = id;
        let batch = event([message("0", "{}", 1), nameless]);
        let answer = world.writer.handle(batch, soon()).await;
        assert_eq!(answer.err(), Some(BatchError::MessageWithoutId(1)));
    }
    assert!(world.dead_letters().await.is_empty());
}

#[tokio::test]
async fn what_the_store_refuses_is_kept_until_it_is_received_too_often() {
    let tables = TableNames { ledger: "nowhere".to_owned(), ..schema::names() };
    let world = World::with_tables(&tables);
    let body = publish("anna", "live-1", AT).to_string();
    for receives in 1..5 {
        assert_eq!(world.write(&[&body], receives).await, [0], "receive {receives}");
    }
    assert_eq!(world.write(&[&body], 5).await, [0_usize; 0]);
    let letters = world.dead_letters().await;
    let reason = letters[0].attributes.iter().find(|(name, _)| *name == "nagare.reason");
    assert!(format!("{:?}", reason.expect("a reason").1).contains("table-missing"));
}

#[tokio::test]
async fn what_cannot_be_given_up_comes_again() {
    let mut sqs = None;
    let mut world = World::behind(|inside| {
        sqs = Some(connector::sqs(inside.clone()));
        inside
    });
    let nowhere = Sender::new(sqs.unwrap(), "http://queue/000000000000/elsewhere");
    world.writer.dead_letters = DeadLetterQueue::new(nowhere, letter_seal());
    assert_eq!(world.write(&["not json"], 1).await, [0]);
}

#[tokio::test]
async fn an_activity_id_belongs_to_the_first_publish() {
    let world = World::new();
    world.done(&[follow("bob", "anna", AT), follow("bob", "eve", AT)]).await;
    world.done(&[publish("anna", "live-1", AT), publish("anna", "live-1", AT)]).await;
    let others = [
        publish("eve", "live-1", AT).to_string(),
        publish("anna", "live-1", "2026-11-20T11:00:00.001Z").to_string(),
    ];
    for other in &others {
        assert_eq!(world.write(&[other], 1).await, [0_usize; 0]);
        assert_eq!(world.dead_letters().await.len(), 1, "{other}");
    }
    assert_eq!(world.ids("bob", "").await, ["live-1"]);
}

#[tokio::test]
async fn follow_brings_in_and_unfollow_takes_out() {
    let world = World::new();
    world.done(&[publish("anna", "live-1", AT), publish("anna", "live-2", AT)]).await;
    world.done(&[follow("bob", "anna", "2026-11-20T11:00:01Z")]).await;
    assert_eq!(world.ids("bob", "").await, ["live-2", "live-1"]);
    world.done(&[unfollow("bob", "anna", "2026-11-20T11:00:02Z")]).await;
    // Late, and a tie.
    world.done(&[follow("bob", "anna", "2026-11-20T11:00:01Z")]).await;
    world.done(&[follow("bob", "anna", "2026-11-20T11:00:02Z")]).await;
    assert_eq!(world.ids("bob", "").await, [""; 0]);
    world.done(&[follow("bob", "anna", "2026-11-20T11:00:03Z")]).await;
    assert_eq!(world.ids("bob", "").await, ["live-2", "live-1"]);
}

#[tokio::test]
async fn a_delete_holds_whatever_the_order() {
    let world = World::new();
    world
        .done(&[follow("bob", "anna", AT), delete("anna", "early"), delete("eve", "live-1")])
        .await;
    for activity in ["early", "live-1", "live-2"] {
        world.done(&[publish("anna", activity, AT)]).await;
    }
    assert_eq!(world.ids("bob", "").await, ["live-2", "live-1"]);
    world.done(&[delete("anna", "live-2"), publish("anna", "live-2", AT)]).await;
    assert_eq!(world.ids("bob", "").await, ["live-1"]);
}

#[tokio::test]
async fn the_latest_update_wins_whatever_the_order() {
    let world = World::new();
    let update = |at: &str, payload: i32, kind: Option<&str>| {
        json!({"type": "activity.updated", "actor_id": "anna", "activity_id": "live-1",
               "at": at, "payload": payload, "kind": kind})
    };
    world.done(&[follow("bob", "anna", AT), update("2026-11-20T11:00:02Z", 2, None)]).await;
    world.done(&[publish("anna", "live-1", AT)]).await;
    world.done(&[update("2026-11-20T11:00:01Z", 1, Some("over"))]).await;
    let (_, _, page) = world.get("/v1/timelines/bob", "").await;
    assert_eq!(page["items"][0]["payload"], 2);
    assert_eq!(page["items"][0]["kind"], "over");
}

#[tokio::test]
async fn what_is_older_than_retention_reaches_nobody() {
    let world = World::new();
    world.done(&[follow("bob", "anna", AT)]).await;
    world.done(&[publish("anna", "old", "2026-10-21T11:59:59.999Z")]).await;
    world.done(&[publish("anna", "border", "2026-10-21T12:00:00.000Z")]).await;
    assert_eq!(world.ids("bob", "").await, ["border"]);
    assert!(world.dead_letters().await.is_empty());
    world.set_clock("2026-11-20T12:00:00.001Z");
    assert_eq!(world.ids("bob", "").await, [""; 0]);
}
