//! AWS's own models: the local stack refuses what they refuse.

use std::sync::Arc;

use nagare_local::aws_models::{self, Unknown, Violation};
use nagare_local::bus::LocalBus;
use nagare_local::engine::Engine;
use nagare_local::schema;
use nagare_local::sqs::{QueueConfig, Queues, Wire};
use serde_json::{Value, json};
use shared::platform::runtime::clock::Clock;

fn check(operation: &str, request: &Value) -> Result<(), Violation> {
    aws_models::check(operation, request, Unknown::Refused)
}

const STREAM: &str =
    "arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/2026-11-29T00:00:00.000";

fn create_table() -> Value {
    json!({
        "TableName": "nagare-events-2026-11",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

fn mapping() -> Value {
    json!({"EventSourceArn": STREAM, "FunctionName": "history-projector", "BatchSize": 1000})
}

fn event() -> Value {
    json!({"Entries": [{"Source": "nagare", "DetailType": "x", "Detail": "{}", "EventBusName": "default"}]})
}

/// The request, which is taken, with one member changed, which is refused.
fn refused(operation: &str, request: Value, pointer: &str, value: Value, said: &str) {
    check(operation, &request).unwrap();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let mut broken = request;
    broken.pointer_mut(parent).unwrap()[name] = value;
    let violation = check(operation, &broken).unwrap_err().to_string();
    assert!(violation.contains(said), "{operation} {pointer}: {violation}");
}

#[test]
fn what_a_model_refuses_is_refused() {
    let table = |pointer: &str, value: Value, said: &str| {
        refused("dynamodb.CreateTable", create_table(), pointer, value, said);
    };
    table("/TableName", json!("x".repeat(1025)), "less than or equal to");
    table("/TableName", Value::Null, "must not be null");
    table("/BillingMode", json!("ON_DEMAND"), "enum value set: [PROVISIONED, PAY_PER_REQUEST]");
    table("/KeySchema", json!([]), "length greater than or equal to 1");
    table("/SSESpecification", json!({"Enabled": "yes"}), "another type");
    table("/Encrypted", json!(true), "unknown");
    table(
        "/ProvisionedThroughput",
        json!({"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}),
        "value greater",
    );
    let policy = json!({"ResourceArn": STREAM, "Policy": "{}"});
    let long = json!("x".repeat(20_481));
    refused("dynamodb.PutResourcePolicy", policy, "/Policy", long, "less than or equal to 20480");

    let map = |pointer: &str, value: Value, said: &str| {
        refused("lambda.CreateEventSourceMapping", mapping(), pointer, value, said);
    };
    map("/BatchSize", json!(10_001), "less than or equal to 10000");
    map("/TumblingWindowInSeconds", json!(901), "less than or equal to 900");
    map("/ParallelizationFactor", json!(11), "less than or equal to 10");
    map("/MaximumRetryAttempts", json!(10_001), "less than or equal to 10000");
    map("/FunctionResponseTypes", json!(["ReportItemFailures"]), "enum value set");
    map("/FunctionName", json!("pro jector"), "pattern");

    let put = |pointer: &str, value: Value, said: &str| {
        refused("events.PutEvents", event(), pointer, value, said);
    };
    put("/Entries/0/EventBusName", json!("a bus"), "pattern");
    put("/Entries/0/DetailType", json!("x".repeat(129)), "less than or equal to 128");
    put("/Entries/0/Source", json!("x".repeat(257)), "less than or equal to 256");

    let object = json!({"Bucket": "archive", "Key": "events/x"});
    refused("s3.PutObject", object, "/Key", json!("k".repeat(1025)), "less than or equal to 1024");
    let sent = json!({"QueueUrl": "http://queue/commands", "MessageBody": "{}"});
    refused(
        "sqs.SendMessage",
        sent.clone(),
        "/DelaySeconds",
        json!(901),
        "less than or equal to 900",
    );
    refused("sqs.SendMessage", sent, "/MessageGroupId", json!("x".repeat(129)), "128");
    let metrics = json!({"MetricDataQueries": [{"Id": "m"}], "StartTime": 1, "EndTime": 2});
    let many = json!(vec![json!({"Id": "m"}); 501]);
    refused("cloudwatch.GetMetricData", metrics, "/MetricDataQueries", many, "equal to 500");
    check("dynamodb.CreateBackup", &json!({})).unwrap_err();
    // AWS ignores what it does not know.
    let mut more = create_table();
    more["Encrypted"] = json!(true);
    aws_models::check("dynamodb.CreateTable", &more, Unknown::Ignored).unwrap();
}

const QUEUE: &str = "http://queue/000000000000/commands";

/// A request of each operation that the stack answers, as functions and tools make it.
fn requests() -> Vec<(&'static str, Value)> {
    let table = schema::names().ledger;
    let key = json!({"pk": {"S": "p"}, "sk": {"S": "s"}});
    let values = json!({":pk": {"S": "p"}});
    let put =
        json!({"TableName": table, "Item": key, "ConditionExpression": "attribute_not_exists(pk)"});
    let made = json!({"TableName": "nagare-events-2026-11", "DeletionProtectionEnabled": false});
    let body = r#"{"type":"x"}"#;
    vec![
        ("dynamodb.CreateTable", create_table()),
        ("dynamodb.UpdateTable", made.clone()),
        ("dynamodb.DescribeTable", json!({"TableName": table})),
        ("dynamodb.GetItem", json!({"TableName": table, "Key": key, "ConsistentRead": true})),
        ("dynamodb.PutItem", put.clone()),
        ("dynamodb.DeleteItem", json!({"TableName": table, "Key": key, "ReturnValues": "ALL_OLD"})),
        (
            "dynamodb.UpdateItem",
            json!({"TableName": table, "Key": key, "UpdateExpression": "REMOVE x", "ReturnValues": "NONE"}),
        ),
        (
            "dynamodb.Query",
            json!({"TableName": table, "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": values, "Limit": 5, "Select": "COUNT"}),
        ),
        (
            "dynamodb.Scan",
            json!({"TableName": table, "Limit": 5, "Segment": 0, "TotalSegments": 2}),
        ),
        ("dynamodb.BatchGetItem", json!({"RequestItems": {&table: {"Keys": [key]}}})),
        (
            "dynamodb.BatchWriteItem",
            json!({"RequestItems": {&table: [{"PutRequest": {"Item": key}}]}}),
        ),
        (
            "dynamodb.TransactWriteItems",
            json!({"TransactItems": [{"Put": put}], "ClientRequestToken": "t"}),
        ),
        (
            "dynamodb.TransactGetItems",
            json!({"TransactItems": [{"Get": {"TableName": table, "Key": key}}]}),
        ),
        ("events.PutEvents", event()),
        (
            "sqs.SendMessage",
            json!({"QueueUrl": QUEUE, "MessageBody": body, "MessageGroupId": "g", "DelaySeconds": 1}),
        ),
        (
            "sqs.SendMessageBatch",
            json!({"QueueUrl": QUEUE, "Entries": [{"Id": "1", "MessageBody": body, "DelaySeconds": 1}]}),
        ),
        ("sqs.GetQueueAttributes", json!({"QueueUrl": QUEUE, "AttributeNames": ["QueueArn"]})),
    ]
}

struct Stack {
    engine: Engine,
    queues: Wire,
    bus: LocalBus,
}

impl Stack {
    fn new() -> Self {
        let now = || 1_795_000_000_000;
        let queues = Queues::in_memory(vec![QueueConfig::new("commands")], Arc::new(now));
        Self {
            engine: Engine::in_memory().unwrap(),
            queues: Wire::new(queues.unwrap(), "http://queue"),
            bus: LocalBus::new(&Clock::system()),
        }
    }

    /// The status and body of an answer.
    fn answer(&self, operation: &str, request: &Value) -> (u16, String) {
        let (service, name) = operation.split_once('.').unwrap();
        let body = request.to_string();
        match service {
            "dynamodb" => self.engine.call(name, body.as_bytes()),
            "events" => self.bus.call(&format!("AWSEvents.{name}"), body.as_bytes()),
            _ => {
                let target = format!("AmazonSQS.{name}");
                let answer = self.queues.call(&target, body.as_bytes());
                (answer.status, answer.body)
            }
        }
    }
}

/// The pointers of all values in a request.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<_> = match value {
        Value::Object(members) => members.iter().map(|(n, v)| (n.replace('/', "~1"), v)).collect(),
        Value::Array(values) => {
            values.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in inner {
        let at = format!("{at}/{name}");
        pointers(value, &at, found);
        found.push(at);
    }
}

/// Every value of every request is replaced by values that are too long, too short, of another type or out of range. The stack
/// refuses what the model refuses: as a whole, or the entry of a batch. (SDKs send no fractions for integers.)
#[test]
fn the_stack_refuses_what_the_models_refuse() {
    let long = "x".repeat(2_000);
    let many = vec![json!({"x": 1}); 101];
    let hostile = [
        json!(""),
        json!(" "),
        json!(long),
        json!(-1),
        json!(0),
        json!(1_000_000),
        json!(true),
        json!([]),
        json!({}),
        json!(many),
        Value::Null,
    ];
    let mut taken = Vec::new();
    let mut tried = 0;
    for (operation, request) in requests() {
        check(operation, &request).unwrap();
        let (stack, mut places) = (Stack::new(), Vec::new());
        pointers(&request, "", &mut places);
        for (place, value) in
            places.iter().flat_map(|place| hostile.iter().map(move |it| (place, it)))
        {
            let mut broken = request.clone();
            *broken.pointer_mut(place).unwrap() = value.clone();
            let violation = aws_models::check(operation, &broken, Unknown::Ignored);
            let Err(violation) = violation else { continue };
            tried += 1;
            let (status, answer) = stack.answer(operation, &broken);
            let failed = answer.contains(r#""Failed":[{"#) || answer.contains(r#""ErrorCode""#);
            if status == 200 && !failed {
                taken.push(format!("{operation} {place} {value:.40}: {violation:.200}"));
            }
        }
    }
    assert!(tried > 500, "{tried}");
    assert!(taken.is_empty(), "taken:\n{}", taken.join("\n"));
}

#[test]
fn the_tables_of_the_stack_refuse_it() {
    let engine = Engine::in_memory().unwrap();
    let call = |request: &Value| engine.call("CreateTable", request.to_string().as_bytes());
    let mut request = create_table();
    request["StreamSpecification"] =
        json!({"StreamEnabled": true, "StreamViewType": "OLD_AND_NEW_IMAGES"});
    let (status, answer) = call(&request);
    assert_eq!(status, 400);
    assert!(
        answer.contains("ValidationException") && answer.contains("enum value set"),
        "{answer}"
    );
    let (status, answer) = call(&create_table());
    assert_eq!(status, 200, "{answer}");
}
