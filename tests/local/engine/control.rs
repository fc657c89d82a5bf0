//! Tables that are made, sealed and dropped while the stack is up.

use std::sync::Arc;

use nagare_local::engine::Engine;
use serde_json::{Value, json};

const NOW: i64 = 1_795_176_000_123;
const TABLE: &str = "nagare-events-2026-11";

fn engine() -> Engine {
    Engine::in_memory().unwrap().with_time(Arc::new(|| NOW))
}

fn call(engine: &Engine, operation: &str, request: &Value) -> Result<Value, String> {
    let (status, body) = engine.call(operation, request.to_string().as_bytes());
    let body: Value = serde_json::from_str(&body).unwrap();
    let error = || body["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
    if status == 200 { Ok(body.clone()) } else { Err(error()) }
}

fn named() -> Value {
    json!({"TableName": TABLE})
}

fn made() -> Engine {
    let engine = engine();
    let key = |name, kind| json!({"AttributeName": name, "KeyType": kind});
    let definition = |name| json!({"AttributeName": name, "AttributeType": "S"});
    let create = json!({
        "TableName": TABLE,
        "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
        "AttributeDefinitions": [definition("pk"), definition("sk")],
        "BillingMode": "PAY_PER_REQUEST",
        "DeletionProtectionEnabled": true,
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    call(&engine, "CreateTable", &create).unwrap();
    assert_eq!(call(&engine, "CreateTable", &create), Err("ResourceInUseException".to_owned()));
    engine
}

fn put(engine: &Engine) -> Result<Value, String> {
    let item = json!({"pk": {"S": "acme#c-9"}, "sk": {"S": "1"}});
    call(engine, "PutItem", &json!({"TableName": TABLE, "Item": item}))
}

#[test]
fn a_table_says_when_it_was_made_by_the_clock_of_the_stack() {
    let table = call(&made(), "DescribeTable", &named()).unwrap()["Table"].clone();
    assert_eq!(table["CreationDateTime"], json!(1_795_176_000.123_f64));
    assert_eq!(table["TableStatus"], "ACTIVE");
    assert_eq!(table["DeletionProtectionEnabled"], true);
}

#[test]
fn a_protected_table_is_not_deleted() {
    let engine = made();
    assert_eq!(call(&engine, "DeleteTable", &named()), Err("ValidationException".to_owned()));
    let off = json!({"TableName": TABLE, "DeletionProtectionEnabled": false});
    call(&engine, "UpdateTable", &off).unwrap();
    call(&engine, "DeleteTable", &named()).unwrap();
    let gone = Err("ResourceNotFoundException".to_owned());
    assert_eq!(call(&engine, "DescribeTable", &named()), gone);
    assert_eq!(call(&engine, "DeleteTable", &named()), gone);
}

#[test]
fn backups_are_off_until_they_are_on() {
    let engine = made();
    let status = || {
        let answer = call(&engine, "DescribeContinuousBackups", &named()).unwrap();
        answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
            ["PointInTimeRecoveryStatus"]
            .clone()
    };
    assert_eq!(status(), "DISABLED");
    let on = json!({"PointInTimeRecoveryEnabled": true});
    let on = json!({"TableName": TABLE, "PointInTimeRecoverySpecification": on});
    call(&engine, "UpdateContinuousBackups", &on).unwrap();
    assert_eq!(status(), "ENABLED");
}

#[test]
fn what_a_policy_denies_is_refused_and_what_it_does_not_is_not() {
    let engine = made();
    put(&engine).unwrap();
    let deny = json!({"Version": "2012-10-17", "Statement": [{
        "Effect": "Deny", "Principal": "*", "Resource": "*",
        "Action": ["dynamodb:PutItem", "dynamodb:BatchWriteItem"],
    }]});
    let arn = format!("arn:aws:dynamodb:us-local-1:000000000000:table/{TABLE}");
    let policy = json!({"ResourceArn": arn, "Policy": deny.to_string()});
    call(&engine, "PutResourcePolicy", &policy).unwrap();
    let denied = Err("AccessDeniedException".to_owned());
    assert_eq!(put(&engine), denied);
    let item = json!({"pk": {"S": "acme#c-9"}, "sk": {"S": "2"}});
    let batch = json!({"RequestItems": {TABLE: [{"PutRequest": {"Item": item.clone()}}]}});
    assert_eq!(call(&engine, "BatchWriteItem", &batch), denied);
    let transaction = json!({"TransactItems": [{"Put": {"TableName": TABLE, "Item": item}}]});
    assert_eq!(call(&engine, "TransactWriteItems", &transaction), denied);
    let scan = call(&engine, "Scan", &named()).unwrap();
    assert_eq!(scan["Count"], 1);
}

#[test]
fn a_policy_that_is_taken_away_denies_no_longer() {
    let engine = made();
    let arn = call(&engine, "DescribeTable", &named()).unwrap()["Table"]["TableArn"].clone();
    let deny =
        json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:PutItem", "Resource": arn});
    let policy = json!({"Version": "2012-10-17", "Statement": [deny]}).to_string();
    call(&engine, "PutResourcePolicy", &json!({"ResourceArn": arn, "Policy": policy})).unwrap();
    assert_eq!(put(&engine), Err("AccessDeniedException".to_owned()));
    let resource = json!({"ResourceArn": arn});
    call(&engine, "DeleteResourcePolicy", &resource).unwrap();
    assert!(put(&engine).is_ok());
    assert!(call(&engine, "GetResourcePolicy", &resource).is_err());
    assert!(call(&engine, "DeleteResourcePolicy", &resource).is_ok(), "once more");
}

#[test]
fn what_the_stack_consists_of_is_not_changed() {
    let engine = engine();
    let table = "nagare-ledger";
    let invalid = Err("ValidationException".to_owned());
    let arn = format!("arn:aws:dynamodb:us-local-1:000000000000:table/{table}");
    let named = json!({"TableName": table});
    for (operation, request) in [
        ("CreateTable", named.clone()),
        ("UpdateTable", json!({"TableName": table, "DeletionProtectionEnabled": false})),
        ("DeleteTable", named.clone()),
        ("UpdateContinuousBackups", named.clone()),
        ("PutResourcePolicy", json!({"ResourceArn": arn, "Policy": "{}"})),
        ("DeleteResourcePolicy", json!({"ResourceArn": arn})),
    ] {
        assert_eq!(call(&engine, operation, &request), invalid, "{operation}");
    }
    assert_eq!(call(&engine, "DescribeTable", &named).unwrap()["Table"]["TableName"], table);
}
