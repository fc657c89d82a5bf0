//! What the endpoint answers, whoever calls.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;

fn endpoint(schedule: Option<&str>) -> Endpoint {
    let engine = Engine::in_memory().expect("tables");
    let followers = FollowersPartition::new(0).expect("nobody");
    let schedule = schedule.map(|text| text.parse().expect("a schedule"));
    Endpoint::new(engine, followers, schedule, Count::new(true, true), Duration::ZERO)
}

/// A put of `count` entries, starting with the `first`.
fn puts(first: usize, count: usize) -> Value {
    let put = |n| {
        json!({"PutRequest": {"Item": {
            "viewer_id": {"S": format!("bench-{n}")},
            "sort_key": {"S": "2026-11-20T12:00:00.000Z#a\"b"},
            "expires_at": {"N": "1766404800"},
        }}})
    };
    (first..first + count).map(put).collect()
}

async fn write(endpoint: &Endpoint, requests: &Value) -> (u16, Value) {
    call(endpoint, "BatchWriteItem", &json!({"RequestItems": {"nagare-timelines": requests}})).await
}

async fn call(endpoint: &Endpoint, operation: &str, body: &Value) -> (u16, Value) {
    let request =
        Request::post("/").header("x-amz-target", format!("DynamoDB_20120810.{operation}"));
    let request = request.body(Body::from(body.to_string())).expect("a request");
    let response = endpoint.router().oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    (status, serde_json::from_slice(&body).expect("JSON"))
}

fn summary(endpoint: &Endpoint) -> Value {
    serde_json::to_value(endpoint.summary(0.0)).expect("JSON")
}

#[tokio::test]
async fn counts_entries_and_does_not_store_them() {
    let endpoint = endpoint(None);
    for first in [0, 25, 0] {
        let all_done = (200, json!({"UnprocessedItems": {}}));
        assert_eq!(write(&endpoint, &puts(first, 25)).await, all_done);
    }
    let summary = summary(&endpoint);
    assert_eq!(summary["items_accepted"], 75);
    assert_eq!(summary["distinct_keys"], 50);
    let traces = summary["accepted_per_100_ms"].as_object().expect("traces");
    let of_one_writer: u64 = traces["2026-11-20T12:00:00.000Z#a\"b"]
        .as_array()
        .expect("a trace")
        .iter()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!((traces.len(), of_one_writer), (1, 75));
    let scan = json!({"TableName": "nagare-timelines"});
    assert_eq!(call(&endpoint, "Scan", &scan).await.1["Count"], 0);
}

#[tokio::test]
async fn gives_back_what_it_has_no_capacity_for() {
    let endpoint = endpoint(Some("0=30"));
    assert_eq!(write(&endpoint, &puts(0, 25)).await.0, 200);
    let (status, answer) = write(&endpoint, &puts(25, 25)).await;
    // A few units may come in meanwhile: the clock is the real one.
    let left = answer["UnprocessedItems"]["nagare-timelines"].as_array().expect("leftovers");
    assert_eq!((status, left.last()), (200, puts(49, 1).get(0)));
    let summary = summary(&endpoint);
    assert_eq!(summary["items_accepted"], 50 - left.len());
    assert_eq!(summary["items_offered"], 50);
}

#[tokio::test]
async fn refuses_a_call_when_nothing_is_left() {
    let endpoint = endpoint(Some("0=1"));
    assert_eq!(write(&endpoint, &puts(0, 2)).await.0, 200);
    let (status, answer) = write(&endpoint, &puts(2, 2)).await;
    let code = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
    assert_eq!((status, &answer["__type"]), (400, &json!(code)));
    assert_eq!(summary(&endpoint)["calls_refused"], 1);
}

#[tokio::test]
async fn takes_no_batch_that_dynamodb_refuses() {
    let endpoint = endpoint(None);
    let twice = json!([puts(0, 1)[0], puts(0, 1)[0]]);
    let no_key = json!([{"PutRequest": {"Item": {"viewer_id": {"S": "bob"}}}}]);
    for requests in [puts(0, 26), puts(0, 0), twice, no_key] {
        let (status, answer) = write(&endpoint, &requests).await;
        let code = "com.amazon.coral.validate#ValidationException";
        assert_eq!((status, &answer["__type"]), (400, &json!(code)), "{answer}");
    }
    assert_eq!(summary(&endpoint)["calls"], 0);
}
