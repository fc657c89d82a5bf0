//! `ClientRequestToken`: a transaction that is sent again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use nagare_local::engine::Engine;
use nagare_local::schema;
use serde_json::{Value, json};

const MINUTE: i64 = 60_000;

/// An engine whose time stands still, and the time.
fn engine() -> (Engine, Arc<AtomicI64>) {
    let time = Arc::new(AtomicI64::new(1_795_176_000_000));
    (Engine::in_memory().unwrap().with_time(clock(&time)), time)
}

fn clock(time: &Arc<AtomicI64>) -> Arc<dyn Fn() -> i64 + Send + Sync> {
    let time = Arc::clone(time);
    Arc::new(move || time.load(Ordering::SeqCst))
}

fn call(engine: &Engine, operation: &str, request: &Value) -> Result<Value, Value> {
    let (status, body) = engine.call(operation, request.to_string().as_bytes());
    let body = serde_json::from_str(&body).unwrap();
    if status == 200 { Ok(body) } else { Err(body) }
}

fn key(name: &str) -> Value {
    json!({"viewer_id": {"S": name}, "sort_key": {"S": "1"}})
}

/// Adds one to a counter: whatever is applied twice shows.
fn count(name: &str) -> Value {
    json!({"Update": {
        "TableName": schema::names().timelines,
        "Key": key(name),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }})
}

fn transact(engine: &Engine, token: &str, actions: &[Value]) -> Result<Value, Value> {
    let request = json!({"TransactItems": actions, "ClientRequestToken": token});
    call(engine, "TransactWriteItems", &request)
}

fn counted(engine: &Engine, name: &str) -> u32 {
    let get = json!({"TableName": schema::names().timelines, "Key": key(name)});
    let item = call(engine, "GetItem", &get).unwrap();
    item["Item"]["n"]["N"].as_str().map_or(0, |n| n.parse().unwrap())
}

fn assert_error(answer: Result<Value, Value>, name: &str) {
    let error = answer.unwrap_err();
    assert!(error["__type"].as_str().unwrap().ends_with(name), "{error}");
}

#[test]
fn the_same_token_applies_once() {
    let (engine, _) = engine();
    for _ in 0..3 {
        assert_eq!(transact(&engine, "t", &[count("a"), count("b")]), Ok(json!({})));
    }
    assert_eq!((counted(&engine, "a"), counted(&engine, "b")), (1, 1));
    transact(&engine, "u", &[count("a")]).unwrap();
    assert_eq!(counted(&engine, "a"), 2);
}

#[test]
fn without_a_token_every_call_applies() {
    let (engine, _) = engine();
    transact(&engine, "t", &[count("a")]).unwrap();
    let request = json!({"TransactItems": [count("a")]});
    for _ in 0..2 {
        call(&engine, "TransactWriteItems", &request).unwrap();
    }
    assert_eq!(counted(&engine, "a"), 3);
}

#[test]
fn the_same_token_with_other_actions_is_a_mismatch() {
    let (engine, _) = engine();
    transact(&engine, "t", &[count("a"), count("b")]).unwrap();
    for others in [vec![count("a")], vec![count("b"), count("a")], vec![count("c")]] {
        assert_error(transact(&engine, "t", &others), "#IdempotentParameterMismatchException");
    }
    assert_eq!((counted(&engine, "b"), counted(&engine, "c")), (1, 0));
}

/// Members of objects have no order, and what is asked about the answer is no part of the transaction.
#[test]
fn the_same_actions_in_other_words_are_the_same() {
    let (engine, _) = engine();
    let table = schema::names().timelines;
    let item = r#"{"viewer_id":{"S":"a"},"sort_key":{"S":"1"},"n":{"N":"1"}}"#;
    let reversed = r#"{"n":{"N":"1"},"sort_key":{"S":"1"},"viewer_id":{"S":"a"}}"#;
    for (item, capacity) in [(item, "NONE"), (reversed, "TOTAL")] {
        let request = format!(
            r#"{{"TransactItems":[{{"Put":{{"TableName":"{table}","Item":{item},"ConditionExpression":"attribute_not_exists(n)"}}}}],"ClientRequestToken":"t","ReturnConsumedCapacity":"{capacity}"}}"#
        );
        let (status, answer) = engine.call("TransactWriteItems", request.as_bytes());
        assert_eq!(status, 200, "{answer}");
    }
}

/// A repetition costs what reading the items costs: two units for each of up to 4 KB.
#[test]
fn a_repetition_consumes_reads() {
    let (engine, _) = engine();
    let ledger = schema::names().ledger;
    let item = json!({"pk": {"S": "a"}, "sk": {"S": "1"}, "text": {"S": "x".repeat(3_000)}});
    let request = json!({
        "TransactItems": [count("a"), {"Put": {"TableName": ledger, "Item": item}}],
        "ClientRequestToken": "t",
        "ReturnConsumedCapacity": "TOTAL",
    });
    let units = |answer: &Value, table: &str| {
        let all = answer["ConsumedCapacity"].as_array().unwrap();
        all.iter().find(|one| one["TableName"] == table).unwrap()["CapacityUnits"].as_f64().unwrap()
    };
    let first = call(&engine, "TransactWriteItems", &request).unwrap();
    let second = call(&engine, "TransactWriteItems", &request).unwrap();
    let timelines = schema::names().timelines;
    assert_eq!([units(&first, &timelines), units(&first, &ledger)], [2.0, 6.0]);
    assert_eq!([units(&second, &timelines), units(&second, &ledger)], [2.0, 2.0]);
    assert_eq!(counted(&engine, "a"), 1);
}

#[test]
fn a_token_is_remembered_for_ten_minutes() {
    let (engine, time) = engine();
    let pass = |millis| time.fetch_add(millis, Ordering::SeqCst);
    transact(&engine, "t", &[count("a")]).unwrap();
    pass(10 * MINUTE - 1);
    transact(&engine, "t", &[count("a")]).unwrap();
    assert_eq!(counted(&engine, "a"), 1);
    pass(1);
    transact(&engine, "t", &[count("a")]).unwrap();
    assert_eq!(counted(&engine, "a"), 2);
}

#[test]
fn a_transaction_that_was_cancelled_may_be_sent_again() {
    let (engine, _) = engine();
    let check = json!({"ConditionCheck": {
        "TableName": schema::names().timelines,
        "Key": key("b"),
        "ConditionExpression": "attribute_exists(n)",
    }});
    let actions = [count("a"), check];
    assert_error(transact(&engine, "t", &actions), "#TransactionCanceledException");
    assert_eq!(counted(&engine, "a"), 0);
    transact(&engine, "u", &[count("b")]).unwrap();
    for _ in 0..2 {
        transact(&engine, "t", &actions).unwrap();
    }
    assert_eq!(counted(&engine, "a"), 1);
}

/// The token of a transaction that changes no row is remembered too: a later repetition must not change one.
#[test]
fn what_changed_nothing_is_remembered() {
    let (engine, _) = engine();
    let delete = json!({"Delete": {"TableName": schema::names().timelines, "Key": key("a")}});
    transact(&engine, "t", std::slice::from_ref(&delete)).unwrap();
    transact(&engine, "u", &[count("a")]).unwrap();
    transact(&engine, "t", &[delete]).unwrap();
    assert_eq!(counted(&engine, "a"), 1);
}

/// Other writes, before and after, leave no token behind.
#[test]
fn a_token_belongs_to_its_own_transaction() {
    let (engine, _) = engine();
    transact(&engine, "t", &[count("a")]).unwrap();
    let put = json!({"TableName": schema::names().timelines, "Item": key("b")});
    call(&engine, "PutItem", &put).unwrap();
    assert_error(transact(&engine, "v", &[json!({})]), "ValidationException");
    call(&engine, "PutItem", &put).unwrap();
    transact(&engine, "v", &[count("b")]).unwrap();
    assert_eq!(counted(&engine, "b"), 1);
}

#[test]
fn tokens_have_1_to_36_characters() {
    let (engine, _) = engine();
    for token in [String::new(), "x".repeat(37)] {
        assert_error(transact(&engine, &token, &[count("a")]), "ValidationException");
    }
    transact(&engine, &"x".repeat(36), &[count("a")]).unwrap();
    assert_eq!(counted(&engine, "a"), 1);
}

/// As many actions as DynamoDB takes: the token is none of them.
#[test]
fn a_hundred_actions_and_a_token() {
    let (engine, _) = engine();
    let actions: Vec<_> = (0..100).map(|n| count(&format!("v{n}"))).collect();
    for _ in 0..2 {
        transact(&engine, "t", &actions).unwrap();
    }
    assert_eq!((counted(&engine, "v0"), counted(&engine, "v99")), (1, 1));
}

#[test]
fn calls_at_once_apply_once() {
    let (engine, _) = engine();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let engine = engine.clone();
            thread::spawn(move || transact(&engine, "t", &[count("a")]).unwrap())
        })
        .collect();
    for call in calls {
        call.join().unwrap();
    }
    assert_eq!(counted(&engine, "a"), 1);
}

/// A copy of the files taken between two calls is what `kill -9` would leave.
#[test]
fn a_token_survives_with_what_it_applied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tables.sqlite");
    let time = Arc::new(AtomicI64::new(1_795_176_000_000));
    let open = |path: &Path| Engine::open(path).unwrap().with_time(clock(&time));
    let engine = open(&path);
    transact(&engine, "t", &[count("a")]).unwrap();
    let copy = directory.path().join("copy.sqlite");
    for suffix in ["", "-wal"] {
        let part = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(part(&path), part(&copy)).unwrap();
    }
    let copied = open(&copy);
    transact(&copied, "t", &[count("a")]).unwrap();
    assert_eq!(counted(&copied, "a"), 1);
    drop(engine);
    let again = open(&path);
    transact(&again, "t", &[count("a")]).unwrap();
    assert_eq!(counted(&again, "a"), 1);
}

/// Nothing can come between a token and what it applied: they are one commit.
#[test]
fn a_token_and_what_it_applied_are_one_commit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tables.sqlite");
    let engine = Engine::open(&path).unwrap();
    let log = directory.path().join("tables.sqlite-wal");
    let before = commits(&log);
    transact(&engine, "t", &[count("a"), count("b")]).unwrap();
    assert_eq!(commits(&log), before + 1);
    transact(&engine, "t", &[count("a"), count("b")]).unwrap();
    assert_eq!(commits(&log), before + 1, "a repetition writes nothing");
    assert_eq!(counted(&engine, "a"), 1);
}

/// The commits in a write-ahead log, as <https://www.sqlite.org/fileformat.html#walformat> describes it: frames of
/// one page, of which the last of a commit says how large the database then is.
fn commits(log: &Path) -> usize {
    let log = std::fs::read(log).unwrap();
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let frame = 24 + number(8) as usize;
    let is_current = |at: &usize| number(at + 8) == number(16);
    (32..log.len()).step_by(frame).filter(is_current).filter(|at| number(at + 4) > 0).count()
}
