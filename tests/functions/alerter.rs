//! The dead-letter alerter: every letter is kept completely, logged, and counted.

use std::collections::BTreeSet;

use aws_lambda_events::event::sqs::SqsMessage;
use fanout_writer::Failure;
use nagare::local::schema;
use nagare::tables::TableNames;
use serde_json::json;
use shared::dead_letters::{REASONS, RECEIVES_EXHAUSTED, STREAM_BATCH, UNFOLDABLE, known_reason};
use shared::dynamo::DynamoError;
use shared::message::CommandError;
use shared::queue::SendError;
use shared::runtime::deadline::DeadlineExceeded;

use tests::{World, event, message, publish, soon, unfinished};

#[tokio::test]
async fn a_letter_is_kept_completely_and_counted_by_reason() {
    let world = World::new();
    let long = format!("{{\"type\":\"é{}\"", "x".repeat(1_000_000));
    let batch = event([
        message("0", &long, 1),
        message("1", &publish("a", "b", "2026-11-20T11:00:00Z").to_string(), 1),
    ]);
    for _ in 0..2 {
        let response = world.alerter.handle(batch.clone(), soon()).await.unwrap();
        assert_eq!(unfinished(&response), [0_usize; 0]);
    }
    let letter = world.tables.dead_letters.get("0", soon()).await.unwrap().unwrap();
    assert_eq!(letter.body, long);
    assert_eq!(letter.reason, "not-json");
    let letter = world.tables.dead_letters.get("1", soon()).await.unwrap().unwrap();
    assert_eq!((letter.reason.as_str(), letter.receive_count), ("receives-exhausted", 5));

    let lines = world.metrics.lines();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["DeadLetters"], 1);
    assert_eq!(lines[0]["Reason"], "not-json");
    assert_eq!(lines[0]["Stage"], "test");
    let metric = &lines[0]["_aws"]["CloudWatchMetrics"][0];
    assert_eq!(metric["Namespace"], "Nagare");
    assert_eq!(metric["Dimensions"], json!([["Stage", "Reason"], ["Stage"]]));
}

#[tokio::test]
async fn a_letter_that_was_dropped_takes_its_parts_along() {
    let world = World::new();
    let long = "x".repeat(700_000);
    world.alerter.handle(event([message("0", &long, 1)]), soon()).await.unwrap();
    let letters = &world.tables.dead_letters;
    let letter = letters.get("0", soon()).await.unwrap().unwrap();
    letters.remove(&letter, soon()).await.unwrap();
    letters.remove(&letter, soon()).await.unwrap();
    assert!(letters.get("0", soon()).await.unwrap().is_none());
    let table = &schema::names().dead_letters;
    let left = world.tables.ledger.table().client().scan().table_name(table).send().await.unwrap();
    assert_eq!(left.count, 0);
}

#[tokio::test]
async fn a_forged_origin_overwrites_nothing() {
    let world = World::new();
    world.alerter.handle(event([message("0", "mine", 1)]), soon()).await.unwrap();
    let mut forged = message("1", "theirs", 1);
    let origin = json!({"nagare.origin": {"stringValue": "0", "dataType": "String"}});
    forged.message_attributes = serde_json::from_value(origin).unwrap();
    world.alerter.handle(event([forged]), soon()).await.unwrap();
    for (id, body) in [("0", "mine"), ("1", "theirs")] {
        let letter = world.tables.dead_letters.get(id, soon()).await.unwrap().unwrap();
        assert_eq!(letter.body, body);
    }
}

#[tokio::test]
async fn a_forged_origin_takes_nobodys_place() {
    let world = World::new();
    let mut forged = message("1", "theirs", 1);
    let origin = json!({"nagare.origin": {"stringValue": "0", "dataType": "String"}});
    forged.message_attributes = serde_json::from_value(origin).unwrap();
    for letter in [&forged, &message("0", "mine", 1), &forged, &message("0", "mine", 1)] {
        world.alerter.handle(event([letter.clone()]), soon()).await.unwrap();
    }
    let kept = world.kept_letters().await;
    assert_eq!(kept.len(), 2);
    for (id, body) in [("0", "theirs"), ("0-1", "mine")] {
        let letter = world.tables.dead_letters.get(id, soon()).await.unwrap().unwrap();
        assert_eq!(letter.body, body);
    }
}

#[tokio::test]
async fn a_forged_reason_is_no_metric() {
    let world = World::new();
    let mut forged = message("0", "not json", 1);
    let reason = json!({"nagare.reason": {"stringValue": "r".repeat(2_000), "dataType": "String"}});
    forged.message_attributes = serde_json::from_value(reason).unwrap();
    world.alerter.handle(event([forged]), soon()).await.unwrap();
    assert_eq!(world.metrics.lines()[0]["Reason"], "not-json");
}

#[tokio::test]
async fn a_letter_that_cannot_be_kept_stays_on_the_queue() {
    let tables = TableNames { dead_letters: "nowhere".to_owned(), ..schema::names() };
    let world = World::with_tables(&tables);
    let batch = event([message("0", "mine", 1), message("1", "theirs", 1)]);
    let response = world.alerter.handle(batch, soon()).await.unwrap();
    assert_eq!(unfinished(&response), [0, 1]);
    assert!(world.metrics.lines().is_empty());
}

#[test]
fn every_reason_is_known_and_in_the_runbook() {
    let text = String::new;
    let failures = [
        CommandError::NotAnObject(text()).into(),
        CommandError::unknown_type("x", text()).into(),
        CommandError::Missing("type").into(),
        Failure::Conflict("live-1".parse().unwrap()),
        DynamoError::Throttled.into(),
        DynamoError::Contended.into(),
        DynamoError::Unavailable(text()).into(),
        DynamoError::TableMissing(text()).into(),
        DynamoError::Denied(text()).into(),
        DynamoError::Rejected { code: text(), message: text() }.into(),
        DynamoError::Corrupt { place: text(), expected: "" }.into(),
        DynamoError::from(DeadlineExceeded).into(),
        Failure::Queue(DeadlineExceeded.into()),
        Failure::Queue(SendError::Throttled),
        Failure::Queue(SendError::Missing),
        Failure::Queue(SendError::Refused { code: text(), message: text() }),
    ];
    let mut reasons: BTreeSet<_> = failures.iter().map(Failure::reason).collect();
    reasons.extend([RECEIVES_EXHAUSTED, UNFOLDABLE, STREAM_BATCH]);
    assert_eq!(reasons, BTreeSet::from(REASONS));
    let runbook = include_str!("../../docs/OPERATIONS.md");
    for reason in REASONS {
        assert_eq!(known_reason(reason), reason);
        assert!(runbook.contains(&format!("`{reason}`")), "{reason}");
    }
    assert_eq!(known_reason("somebody's words"), "other");
}

/// A message with these attributes.
fn claiming(id: &str, body: &str, attributes: &[(&str, &str)]) -> SqsMessage {
    let attributes = attributes.iter().map(|(name, value)| {
        (name.to_string(), json!({"stringValue": value, "dataType": "String"}))
    });
    let mut claiming = message(id, body, 1);
    let attributes = attributes.collect::<serde_json::Map<_, _>>();
    claiming.message_attributes = serde_json::from_value(attributes.into()).unwrap();
    claiming
}

#[tokio::test]
async fn what_a_stranger_says_of_a_letter_is_cut_and_marked() {
    let world = World::new();
    let body = publish("a", "b", "2026-11-20T11:00:00Z").to_string();
    let long = "😀".repeat(250_000);
    let claims = [("nagare.reason", "conflict"), ("nagare.detail", long.as_str())];
    // As long as a message can be: stored beside the body, it would exceed the size of an item.
    let filled = format!("{}{}", body, " ".repeat(290_000 - body.len()));
    for (id, body) in [("0", &body), ("1", &filled)] {
        let batch = event([claiming(id, body, &claims)]);
        let response = world.alerter.handle(batch, soon()).await.unwrap();
        assert_eq!(unfinished(&response), [0_usize; 0]);
        let letter = world.tables.dead_letters.get(id, soon()).await.unwrap().unwrap();
        assert_eq!(
            (letter.reason.as_str(), &letter.body, letter.verified),
            ("conflict", body, false)
        );
        assert_eq!(letter.detail, "😀".repeat(499) + "…");
    }
}

#[tokio::test]
async fn a_reason_that_the_body_bears_out_is_our_own() {
    let world = World::new();
    let good = publish("a", "b", "2026-11-20T11:00:00Z").to_string();
    let claims = |reason| [("nagare.reason", reason), ("nagare.detail", "their words")];
    for (id, body, reason, expected) in [
        ("0", "not json", "not-json", ("not-json", true)),
        ("1", "not json", "conflict", ("conflict", false)),
        ("2", r#"{"type":"x"}"#, "not json\u{1b}[2J", ("unknown-type", true)),
        ("3", &good, "conflict", ("conflict", false)),
        ("4", &good, "receives-exhausted", ("receives-exhausted", true)),
        ("5", &good, "", ("receives-exhausted", true)),
    ] {
        let batch = event([claiming(id, body, &claims(reason))]);
        world.alerter.handle(batch, soon()).await.unwrap();
        let letter = world.tables.dead_letters.get(id, soon()).await.unwrap().unwrap();
        assert_eq!((letter.reason.as_str(), letter.verified), expected, "{body} {reason}");
        assert_eq!(letter.detail == "their words", !letter.verified, "{body} {reason}");
    }
    // In a list too; nothing is known of letters that were stored before there was a mark.
    let request = json!({"TableName": "nagare-dead-letters", "Key": {"id": {"S": "0"}, "part": {"S": "letter"}},
                         "UpdateExpression": "REMOVE verified"});
    let (status, answer) = world.engine.call("UpdateItem", request.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
    let kept = world.kept_letters().await;
    let verified: BTreeSet<_> = kept.iter().filter(|l| l.verified).map(|l| l.id.as_str()).collect();
    assert_eq!(verified, BTreeSet::from(["2", "4", "5"]));
}

/// Parts of a body without their letter, as each of these cases leaves them, and how many they are.
#[tokio::test]
async fn parts_that_no_letter_needs_are_found() {
    let world = World::new();
    let letters = &world.tables.dead_letters;
    let long = "x".repeat(700_000);
    let keep = async |id: &str, body: &str, attributes: &[(&str, &str)]| {
        let batch = event([claiming(id, body, attributes)]);
        world.alerter.handle(batch, soon()).await.unwrap();
    };
    let spare = async || letters.spare_parts(soon).await.unwrap();
    keep("0", &long, &[]).await;
    assert_eq!(spare().await.len(), 0, "its letter needs them");
    // Refused: the id is taken by another body. It is kept under its own.
    keep("1", &"y".repeat(700_000), &[("nagare.origin", "0")]).await;
    assert_eq!(spare().await.len(), 3);
    // Overtaken: the same letter comes in another message. Whoever read the former one cannot drop it.
    let seen = letters.get("0", soon()).await.unwrap().unwrap();
    keep("2", &long, &[("nagare.origin", "0")]).await;
    assert!(!letters.remove(&seen, soon()).await.unwrap());
    assert_eq!(spare().await.len(), 6);
    // Interrupted: the letter is gone, and its parts are not.
    let request = json!({"TableName": "nagare-dead-letters", "Key": {"id": {"S": "1"}, "part": {"S": "letter"}}});
    let (status, answer) = world.engine.call("DeleteItem", request.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
    let spare_parts = spare().await;
    assert_eq!(spare_parts.len(), 9);
    // One is stored again meanwhile, and another has its letter by now: both stay.
    world.set_clock("2026-11-20T12:30:00.000Z");
    keep("1", &"y".repeat(700_000), &[]).await;
    let mut dropped = 0;
    for part in &spare_parts {
        dropped += usize::from(letters.remove_spare_part(part, soon()).await.unwrap());
    }
    assert_eq!((dropped, spare().await.len()), (6, 0));
    for (id, body) in [("0", long), ("1", "y".repeat(700_000))] {
        assert_eq!(letters.get(id, soon()).await.unwrap().unwrap().body, body);
    }
}
