//! Payloads that are refused now and were stored before: every one of them is still read.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use serde_json::json;
use tests::{World, follow, publish, soon};

const AT: &str = "2026-11-20T11:00:00.000Z";
const LATER: &str = "2026-11-20T11:30:00.000Z";

/// Puts a payload into a record as a former version did.
fn store(world: &World, activity: &str, set: &str, payload: &str) {
    let mut values = json!({":payload": {"S": payload}});
    if set.contains(":at") {
        values[":at"] = json!({"S": LATER});
    }
    let request = json!({
        "TableName": "nagare-ledger",
        "Key": {"pk": {"S": format!("activity#{activity}")}, "sk": {"S": "actor#anna"}},
        "UpdateExpression": format!("SET {set}"),
        "ExpressionAttributeValues": values,
    });
    let (status, answer) = world.engine.call("UpdateItem", request.to_string().as_bytes());
    assert_eq!(status, 200, "{answer}");
}

/// The body of a page, as it is sent.
async fn page(world: &World) -> String {
    let event = json!({
        "version": "2.0", "rawPath": "/v1/timelines/bob", "rawQueryString": "", "headers": {},
        "requestContext": {"stage": "$default", "timeEpoch": 0, "http": {
            "method": "GET", "path": "/v1/timelines/bob", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1",
        }},
    });
    let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
    let answer = serde_json::to_value(world.reader.handle(&event, soon()).await).unwrap();
    assert_eq!(answer["statusCode"], 200, "{answer}");
    answer["body"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_stored_is_read_whatever_it_says() {
    let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
    for payload in [r#"{"\ud800":"\udc00"}"#, &deep] {
        let world = World::new();
        world.done(&[follow("bob", "anna", AT), publish("anna", "live", AT)]).await;
        store(&world, "live", "payload = :payload", payload);
        assert!(page(&world).await.contains(payload));
        store(&world, "live", "edited_payload = :payload, edited_payload_at = :at", payload);
        assert!(page(&world).await.contains(payload));
        // The writer reads it too.
        let mut update = publish("anna", "live", AT);
        (update["type"], update["at"]) = (json!("activity.updated"), json!("2026-11-20T11:45:00Z"));
        update["payload"] = json!("new");
        world.done(&[update]).await;
        assert!(page(&world).await.contains(r#""payload":"new""#));
        // And nobody can send one any more.
        let body = publish("anna", "other", AT).to_string();
        let body = body.replace(r#"{"of":"other"}"#, payload);
        assert!(body.contains(payload));
        world.write(&[&body], 1).await;
        let letters = world.take_dead_letters().await;
        let reason = letters[0].message_attributes["nagare.reason"].string_value.as_deref();
        assert_eq!(reason, Some("malformed"));
    }
}
