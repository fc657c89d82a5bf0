//! The dead-letter alerter: every letter is kept in full, told of, and counted.

use std::collections::BTreeSet;

use fanout_writer::Failure;
use nagare::stack::schema;
use serde_json::json;
use shared::command::CommandError;
use shared::dead_letter::{REASONS, RECEIVES_EXHAUSTED, known_reason};
use shared::deadline::DeadlineExceeded;
use shared::store::{StoreError, Tables};

use tests::{World, event, message, publish, soon, unfinished};

#[tokio::test]
async fn a_letter_is_kept_in_full_and_counted_by_reason() {
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
    let letter = world.writer.store.letter("0", soon()).await.unwrap().unwrap();
    assert_eq!(letter.body, long);
    assert_eq!(letter.reason, "not-json");
    let letter = world.writer.store.letter("1", soon()).await.unwrap().unwrap();
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
    let store = &world.writer.store;
    let letter = store.letter("0", soon()).await.unwrap().unwrap();
    store.drop_letter(&letter, soon()).await.unwrap();
    store.drop_letter(&letter, soon()).await.unwrap();
    assert!(store.letter("0", soon()).await.unwrap().is_none());
    let table = &store.tables().dead_letters;
    let left = store.client().scan().table_name(table).send().await.unwrap();
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
        let letter = world.writer.store.letter(id, soon()).await.unwrap().unwrap();
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
    let kept = world.writer.store.letters(None, soon()).await.unwrap().letters;
    assert_eq!(kept.len(), 2);
    for (id, body) in [("0", "theirs"), ("0-1", "mine")] {
        let letter = world.writer.store.letter(id, soon()).await.unwrap().unwrap();
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
    let tables = Tables { dead_letters: "nowhere".to_owned(), ..schema::tables() };
    let world = World::with_tables(tables);
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
        CommandError::UnknownType(text()).into(),
        CommandError::Missing("type").into(),
        Failure::Conflict("live-1".parse().unwrap()),
        StoreError::Throttled.into(),
        StoreError::Contended.into(),
        StoreError::Unavailable(text()).into(),
        StoreError::TableMissing(text()).into(),
        StoreError::Denied(text()).into(),
        StoreError::Rejected { code: text(), message: text() }.into(),
        StoreError::Corrupt { place: text(), expected: "" }.into(),
        StoreError::from(DeadlineExceeded).into(),
        Failure::Queue(DeadlineExceeded.into()),
    ];
    let mut reasons: BTreeSet<_> = failures.iter().map(Failure::reason).collect();
    reasons.insert(RECEIVES_EXHAUSTED);
    assert_eq!(reasons, BTreeSet::from(REASONS));
    let runbook = include_str!("../../docs/OPERATIONS.md");
    for reason in REASONS {
        assert_eq!(known_reason(reason), reason);
        assert!(runbook.contains(&format!("`{reason}`")), "{reason}");
    }
    assert_eq!(known_reason("somebody's words"), "other");
}
