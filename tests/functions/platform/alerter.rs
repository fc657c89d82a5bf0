//! The dead-letter alerter: every letter is kept completely, logged, and counted.

use aws_lambda_events::event::sqs::SqsMessage;
use nagare_client::tables::TableNames;
use nagare_local::schema;
use serde_json::json;
use shared::platform::dead_letters::{Evidence, LetterSeal, SOURCE};
use tests::{COMMAND_QUEUE_ARN, World, event, message, moved, publish, secrets, soon, unfinished};

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
    let letter = world.tables.dead_letters.get("0").await.unwrap().unwrap();
    assert_eq!(letter.body, long);
    assert_eq!(letter.reason, "not-json");
    let letter = world.tables.dead_letters.get("1").await.unwrap().unwrap();
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
    let letter = letters.get("0").await.unwrap().unwrap();
    letters.remove(&letter).await.unwrap();
    letters.remove(&letter).await.unwrap();
    assert!(letters.get("0").await.unwrap().is_none());
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
        let letter = world.tables.dead_letters.get(id).await.unwrap().unwrap();
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
        let letter = world.tables.dead_letters.get(id).await.unwrap().unwrap();
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
        let letter = world.tables.dead_letters.get(id).await.unwrap().unwrap();
        assert_eq!(
            (letter.reason.as_str(), &letter.body, letter.evidence),
            ("conflict", body, None)
        );
        assert_eq!(letter.detail, "😀".repeat(499) + "…");
    }
}

#[tokio::test]
async fn a_letter_that_nothing_vouches_for_is_unverified_whatever_it_says() {
    let world = World::new();
    let good = publish("a", "b", "2026-11-20T11:00:00Z").to_string();
    let claims = |reason| [("nagare.reason", reason), ("nagare.detail", "their words")];
    for (id, body, reason, expected) in [
        ("0", "not json", "not-json", "not-json"),
        ("1", "not json", "conflict", "conflict"),
        ("2", r#"{"type":"x"}"#, "not json\u{1b}[2J", "unknown-type"),
        ("3", &good, "conflict", "conflict"),
        ("4", &good, "receives-exhausted", "receives-exhausted"),
        ("5", &good, "", "receives-exhausted"),
    ] {
        let batch = event([claiming(id, body, &claims(reason))]);
        world.alerter.handle(batch, soon()).await.unwrap();
        let letter = world.tables.dead_letters.get(id).await.unwrap().unwrap();
        assert_eq!((letter.reason.as_str(), letter.evidence), (expected, None), "{body} {reason}");
        assert_eq!(letter.detail == "their words", expected == "conflict", "{body} {reason}");
    }
}

/// What SQS moved is a letter of the command queue's; what it says of itself is its producer's.
#[tokio::test]
async fn what_the_command_queue_gave_up_is_verified_and_judged_by_its_body() {
    let world = World::new();
    let claims = [
        ("nagare.reason", "access-denied"),
        ("nagare.detail", "their words"),
        ("nagare.receives", "77"),
        ("nagare.sent", "1"),
    ];
    let good = publish("a", "b", "2026-11-20T11:00:00Z").to_string();
    let mut from_elsewhere = claiming("2", &good, &[]);
    let elsewhere = COMMAND_QUEUE_ARN.replace("commands", "commands-of-somebody-else");
    from_elsewhere.attributes.insert(SOURCE.to_owned(), elsewhere);
    let mut claimed = claiming("1", &good, &claims);
    claimed.attributes = moved("1", &good).attributes;
    // A message attribute of that name is anybody's.
    let forged = claiming("3", &good, &[(SOURCE, COMMAND_QUEUE_ARN)]);
    let batch = event([moved("0", "not json"), claimed, from_elsewhere, forged]);
    world.alerter.handle(batch, soon()).await.unwrap();
    let get = async |id| world.tables.dead_letters.get(id).await.unwrap().unwrap();
    for (id, reason) in [("0", "not-json"), ("1", "receives-exhausted")] {
        let letter = get(id).await;
        assert_eq!((letter.reason.as_str(), letter.evidence), (reason, Some(Evidence::Redrive)));
        assert_eq!(letter.receive_count, 5);
        assert_eq!(letter.sent_at.unix_millis(), 1_795_176_000_000);
    }
    assert_ne!(get("1").await.detail, "their words");
    for id in ["2", "3"] {
        assert_eq!(get(id).await.evidence, None, "{id}");
    }
}

#[tokio::test]
async fn what_the_writer_sealed_is_verified_and_nothing_that_was_made_of_it() {
    let world = World::new();
    let body = r#"{"type":"activity.deleted","activity_id":"b","actor_id":"a","x":"#;
    assert_eq!(world.write(&[body], 1).await, [0_usize; 0]);
    let [sealed] = world.take_dead_letters().await.try_into().unwrap();
    let mut other_body = sealed.clone();
    other_body.message_id = Some("1".to_owned());
    other_body.body = Some(publish("a", "b", "2026-11-20T11:00:00Z").to_string());
    let (mut other_detail, mut other_place) = (sealed.clone(), sealed.clone());
    for (message, id, name) in
        [(&mut other_detail, "2", "nagare.detail"), (&mut other_place, "3", "nagare.origin")]
    {
        message.message_id = Some(id.to_owned());
        message.message_attributes.get_mut(name).unwrap().string_value = Some(id.to_owned());
    }
    for message in [&sealed, &other_body, &other_detail, &other_place] {
        world.alerter.handle(event([message.clone()]), soon()).await.unwrap();
    }
    let mut kept = world.kept_letters().await;
    kept.sort_by(|a, b| a.message_id.cmp(&b.message_id));
    let kept: Vec<_> = kept.iter().map(|l| (l.message_id.len(), l.evidence)).collect();
    assert_eq!(kept.iter().filter(|(_, evidence)| *evidence == Some(Evidence::Seal)).count(), 1);
    assert_eq!(kept.iter().filter(|(id, evidence)| *id == 1 && evidence.is_none()).count(), 3);
}

/// While a secret is rotated, writer and alerter may seal with different ones of the two.
#[tokio::test]
async fn a_letter_is_verified_as_long_as_the_secret_that_sealed_it_opens() {
    let mut world = World::new();
    assert_eq!(world.write(&["not json"], 1).await, [0_usize; 0]);
    let [sealed] = world.take_dead_letters().await.try_into().unwrap();
    for (opening, evidence) in [(7, None), (8, Some(Evidence::Seal))] {
        let secrets = secrets(9).also_opening(&[opening; 32]).unwrap();
        world.alerter.seal = LetterSeal::new(&secrets);
        world.alerter.handle(event([sealed.clone()]), soon()).await.unwrap();
        let [kept] = world.kept_letters().await.try_into().unwrap();
        assert_eq!(kept.evidence, evidence);
    }
}

/// A copy of a letter does not take its evidence away.
#[tokio::test]
async fn evidence_is_not_lost() {
    let world = World::new();
    let body = publish("a", "b", "2026-11-20T11:00:00Z").to_string();
    world.alerter.handle(event([moved("0", &body)]), soon()).await.unwrap();
    let copy = claiming("1", &body, &[("nagare.origin", "0"), ("nagare.reason", "conflict")]);
    for _ in 0..2 {
        world.alerter.handle(event([copy.clone()]), soon()).await.unwrap();
    }
    let get = async |id| world.tables.dead_letters.get(id).await.unwrap().unwrap();
    assert_eq!(get("0").await.evidence, Some(Evidence::Redrive));
    assert_eq!((get("1").await.evidence, get("1").await.reason.as_str()), (None, "conflict"));
    assert_eq!(world.kept_letters().await.len(), 2);
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
    let spare = async || letters.spare_parts().await.unwrap();
    keep("0", &long, &[]).await;
    // Of 60,000 bytes.
    let parts = 700_000_usize.div_ceil(60_000);
    assert_eq!(spare().await.len(), 0, "its letter needs them");
    // Refused: the id is taken by another body. It is kept under its own.
    keep("1", &"y".repeat(700_000), &[("nagare.origin", "0")]).await;
    assert_eq!(spare().await.len(), parts);
    // Overtaken: the same letter comes in another message. Whoever read the former one cannot drop it.
    let seen = letters.get("0").await.unwrap().unwrap();
    keep("2", &long, &[("nagare.origin", "0")]).await;
    assert!(!letters.remove(&seen).await.unwrap());
    assert_eq!(spare().await.len(), 2 * parts);
    // Interrupted: the letter is gone, and its parts are not.
    let request = json!({"TableName": "nagare-dead-letters", "Key": {"id": {"S": "1"}, "part": {"S": "letter"}}});
    let (status, answer) = world.engine.call("DeleteItem", request.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
    let spare_parts = spare().await;
    assert_eq!(spare_parts.len(), 3 * parts);
    // One is stored again meanwhile, and another has its letter by now: both stay.
    world.set_clock("2026-11-20T12:30:00.000Z");
    keep("1", &"y".repeat(700_000), &[]).await;
    let mut dropped = 0;
    for part in &spare_parts {
        dropped += usize::from(letters.remove_spare_part(part).await.unwrap());
    }
    assert_eq!((dropped, spare().await.len()), (2 * parts, 0));
    for (id, body) in [("0", long), ("1", "y".repeat(700_000))] {
        assert_eq!(letters.get(id).await.unwrap().unwrap().body, body);
    }
}

/// What a producer got wrong is counted and wakes nobody; nor does somebody who sends to this queue.
#[tokio::test]
async fn nobody_is_woken_for_what_a_producer_got_wrong() {
    let world = World::new();
    let good = publish("a", "b", "2026-11-20T11:00:00Z").to_string();
    let batch = json!({"DDBStreamBatchInfo": {"shardId": "s", "startSequenceNumber": "1", "endSequenceNumber": "2", "batchSize": 2}});
    let throttled = claiming("2", &good, &[("nagare.reason", "throttled")]);
    for (letter, wakes) in [
        (moved("0", "not json"), false),
        (moved("1", &good), true),
        (throttled, false),
        (message("3", &batch.to_string(), 1), true),
    ] {
        let before = world.metrics.lines().len();
        world.alerter.handle(event([letter]), soon()).await.unwrap();
        let line = &world.metrics.lines()[before];
        assert_eq!(
            (&line["DeadLetters"], line["SystemDeadLetters"] == 1),
            (&json!(1), wakes),
            "{line}"
        );
    }
    world.done(&[publish("a", "b", "2026-11-20T11:00:00Z")]).await;
    let taken = publish("c", "b", "2026-11-20T11:00:00Z").to_string();
    assert_eq!(world.write(&[&taken], 1).await, [0_usize; 0]);
    let before = world.metrics.lines().len();
    world.alerter.handle(event(world.take_dead_letters().await), soon()).await.unwrap();
    let line = &world.metrics.lines()[before];
    assert_eq!((&line["Reason"], &line["SystemDeadLetters"]), (&json!("conflict"), &json!(null)));
}

/// However long the body is, and whatever is said of it.
#[tokio::test]
async fn no_item_of_a_letter_is_above_64_kb() {
    let world = World::new();
    let long = "é".repeat(1_000);
    let claims = [("nagare.reason", "conflict"), ("nagare.detail", long.as_str())];
    let whole = 1_048_576 - 2_100;
    for (id, bytes) in [("0", 60_000), ("1", 60_001), ("2", whole)] {
        let mut letter = claiming(id, &"x".repeat(bytes), &claims);
        letter.attributes.insert("MessageGroupId".to_owned(), "g".repeat(128));
        world.alerter.handle(event([letter]), soon()).await.unwrap();
        let kept = world.tables.dead_letters.get(id).await.unwrap().unwrap();
        assert_eq!(kept.body.len(), bytes);
    }
    let mut longest = 0;
    for id in ["0", "1", "2"] {
        let request = json!({"TableName": "nagare-dead-letters", "KeyConditionExpression": "id = :id",
                             "ExpressionAttributeValues": {":id": {"S": id}}});
        let (status, answer) = world.engine.call("Query", request.to_string().as_bytes());
        assert_eq!(status, 200, "{answer}");
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        // What JSON puts around names and values is more than what DynamoDB weighs them with.
        let lengths = answer["Items"].as_array().unwrap().iter().map(|item| item.to_string().len());
        longest = lengths.max().unwrap().max(longest);
    }
    assert!((62_000..=65_536).contains(&longest), "{longest}");
}
