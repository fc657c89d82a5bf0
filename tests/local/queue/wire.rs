//! The wire protocol, as an SDK would see it.

use nagare_local::sqs::{Wire, WireResponse};
use serde_json::{Value, json};

use super::support::*;

const URL: &str = "http://any.host:1/000000000000/work";

struct Client {
    wire: Wire,
    stack: Stack,
}

impl Client {
    fn new() -> Self {
        let stack = Stack::new();
        Self { wire: Wire::new(stack.queues.clone(), "http://localhost:9324/"), stack }
    }

    fn raw(&self, operation: &str, body: &[u8]) -> WireResponse {
        self.wire.call(&format!("AmazonSQS.{operation}"), body)
    }

    /// Adds the queue's URL where a test does not name another.
    fn send(&self, operation: &str, mut request: Value) -> WireResponse {
        let members = request.as_object_mut().unwrap();
        members.entry("QueueUrl").or_insert_with(|| URL.into());
        self.raw(operation, request.to_string().as_bytes())
    }

    fn ok(&self, operation: &str, request: Value) -> Value {
        let response = self.send(operation, request);
        assert_eq!(response.status, 200, "{}", response.body);
        assert_eq!(response.error_type, None);
        serde_json::from_str(&response.body).unwrap()
    }

    /// The error's name and its code in the header.
    fn check_error(&self, operation: &str, request: Value, name: &str, code: &str) {
        let context = format!("{operation} {request}");
        let response = self.send(operation, request);
        assert_eq!(response.status, 400, "{context}");
        let body: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!(body["__type"], format!("com.amazonaws.sqs#{name}"), "{context}");
        assert!(!body["message"].as_str().unwrap().is_empty(), "{context}");
        assert_eq!(response.error_type.unwrap(), format!("{code};Sender"), "{context}");
    }
}

fn attributes() -> Value {
    json!({
        "kind": {"DataType": "String", "StringValue": "live"},
        "count": {"DataType": "Number.int", "StringValue": "42"},
        "thumb": {"DataType": "Binary.png", "BinaryValue": "AP8Q"},
    })
}

/// The digests were computed with Python's hashlib.
#[test]
fn a_message_goes_and_comes_with_its_digests() {
    let client = Client::new();
    let request = json!({
        "MessageBody": "héllo 😀", "MessageAttributes": attributes(), "MessageGroupId": "anna",
    });
    let sent = client.ok("SendMessage", request);
    assert_eq!(sent["MD5OfMessageBody"], "207dd4f0cd7a4f13b4932646cd1f8f2b");
    assert_eq!(sent["MD5OfMessageAttributes"], "54420c2e880c6ec895950c49d7ca834a");
    let message = receive_one(&client.stack.work);
    assert_eq!(message.message_id.to_string(), sent["MessageId"].as_str().unwrap());
    assert_eq!(message.body, "héllo 😀");
    assert_eq!(message.md5_of_body(), "207dd4f0cd7a4f13b4932646cd1f8f2b");
    let types = message.attributes.iter().map(|(name, it)| (name, it.data_type()));
    let expected = [("count", "Number.int"), ("kind", "String"), ("thumb", "Binary.png")];
    assert_eq!(types.collect::<Vec<_>>(), expected);
    let expected = [
        ("SenderId", "000000000000".to_owned()),
        ("SentTimestamp", START.to_string()),
        ("ApproximateReceiveCount", "1".to_owned()),
        ("ApproximateFirstReceiveTimestamp", START.to_string()),
        ("MessageGroupId", "anna".to_owned()),
    ];
    assert_eq!(message.system_attributes().collect::<Vec<_>>(), expected);
}

#[test]
fn entries_of_a_batch_fail_on_their_own() {
    let client = Client::new();
    let entries = json!([
        {"Id": "good", "MessageBody": "a"},
        {"Id": "control", "MessageBody": "\u{1}"},
        {"Id": "empty", "MessageBody": ""},
        {"Id": "late", "MessageBody": "b", "DelaySeconds": 901},
        {"Id": "also-good", "MessageBody": "c", "DelaySeconds": 900},
    ]);
    let reply = client.ok("SendMessageBatch", json!({"Entries": entries}));
    assert_eq!(ids(&reply["Successful"]), ["good", "also-good"]);
    let failed = reply["Failed"].as_array().unwrap();
    let codes: Vec<_> = failed.iter().map(|f| (f["Id"].as_str(), f["Code"].as_str())).collect();
    let expected = [
        ("control", "InvalidMessageContents"),
        ("empty", "MissingParameter"),
        ("late", "InvalidParameterValue"),
    ];
    assert_eq!(codes, expected.map(|(id, code)| (Some(id), Some(code))));
    assert!(failed.iter().all(|failure| failure["SenderFault"] == true));
    assert_eq!(counts(&client.stack.work), (1, 0, 1));
}

#[test]
fn a_queue_describes_itself() {
    let client = Client::new();
    client.stack.work.send_batch(&vec![message("a"); 5]).unwrap();
    client.stack.work.send(message("b").delayed(SECOND).unwrap()).unwrap();
    try_receive(&client.stack.work, 2, None).unwrap();
    let all = client.ok("GetQueueAttributes", json!({"AttributeNames": ["All"]}));
    let policy =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-local-1:000000000000:dead","maxReceiveCount":2}"#;
    let expected = json!({
        "ApproximateNumberOfMessages": "3",
        "ApproximateNumberOfMessagesDelayed": "1",
        "ApproximateNumberOfMessagesNotVisible": "2",
        "CreatedTimestamp": (START / 1_000).to_string(),
        "DelaySeconds": "0",
        "LastModifiedTimestamp": (START / 1_000).to_string(),
        "MaximumMessageSize": "1048576",
        "MessageRetentionPeriod": "3600",
        "QueueArn": "arn:aws:sqs:us-local-1:000000000000:work",
        "ReceiveMessageWaitTimeSeconds": "0",
        "RedrivePolicy": policy,
        "VisibilityTimeout": "30",
    });
    assert_eq!(all["Attributes"], expected);
    let one =
        client.ok("GetQueueAttributes", json!({"AttributeNames": ["DelaySeconds", "Policy"]}));
    assert_eq!(one, json!({"Attributes": {"DelaySeconds": "0"}}));
    assert_eq!(client.ok("GetQueueAttributes", json!({})), json!({}));
}

#[test]
fn queues_are_found_and_fixed() {
    let client = Client::new();
    let (work, dead) =
        ("http://localhost:9324/000000000000/work", "http://localhost:9324/000000000000/dead");
    let url = json!({"QueueUrl": work});
    assert_eq!(client.ok("GetQueueUrl", json!({"QueueName": "work"})), url);
    assert_eq!(client.ok("ListQueues", json!({})), json!({"QueueUrls": [work, dead]}));
    let dead_only = client.ok("ListQueues", json!({"QueueNamePrefix": "de"}));
    assert_eq!(dead_only, json!({"QueueUrls": [dead]}));
    client.ok("SendMessage", json!({"MessageBody": "a"}));
    client.ok("PurgeQueue", json!({}));
    assert!(client.stack.work.counts().unwrap().is_empty());
}

#[test]
fn mistakes_have_the_names_that_sdks_know() {
    let client = Client::new();
    let check = |operation, request, name| client.check_error(operation, request, name, name);
    let check_prefixed = |operation, request, name: &str| {
        client.check_error(operation, request, name, &format!("AWS.SimpleQueueService.{name}"));
    };
    let missing = json!({"QueueUrl": "http://h/000000000000/none", "MessageBody": "a"});
    let code = "AWS.SimpleQueueService.NonExistentQueue";
    client.check_error("SendMessage", missing, "QueueDoesNotExist", code);
    check("SendMessage", json!({}), "MissingParameter");
    check("SendMessage", json!({"MessageBody": ""}), "MissingParameter");
    check("SendMessage", json!({"MessageBody": "\u{c}"}), "InvalidMessageContents");
    check("SendMessage", json!({"MessageBody": "a", "DelaySeconds": -1}), "InvalidParameterValue");
    check("SendMessage", json!({"MessageBody": 1}), "SerializationException");
    let attribute = json!({"a": {"DataType": "String"}});
    let request = json!({"MessageBody": "a", "MessageAttributes": attribute});
    check("SendMessage", request, "InvalidParameterValue");
    check("GetQueueAttributes", json!({"AttributeNames": ["Colour"]}), "InvalidAttributeName");
    for operation in ["ReceiveMessage", "DeleteQueue", "CreateQueue", "SetQueueAttributes"] {
        check(operation, json!({}), "UnknownOperationException");
    }
    let batch = |ids: &[&str]| {
        let entry = |id: &&str| json!({"Id": id, "MessageBody": "a"});
        json!({"Entries": ids.iter().map(entry).collect::<Vec<_>>()})
    };
    check_prefixed("SendMessageBatch", batch(&[]), "EmptyBatchRequest");
    check_prefixed("SendMessageBatch", batch(&["a", "a"]), "BatchEntryIdsNotDistinct");
    check_prefixed("SendMessageBatch", batch(&["a b"]), "InvalidBatchEntryId");
    check_prefixed("SendMessageBatch", batch(&["a"; 11]), "TooManyEntriesInBatchRequest");
    let half = "x".repeat(600_000);
    let entry = |id: &str| json!({"Id": id, "MessageBody": half});
    let entries = json!({"Entries": [entry("a"), entry("b")]});
    check_prefixed("SendMessageBatch", entries, "BatchRequestTooLong");
    assert!(client.stack.work.counts().unwrap().is_empty());
}

#[test]
fn what_is_not_json_is_refused() {
    let client = Client::new();
    for body in [&b"{"[..], b"[]", b"\xff", b"null"] {
        assert_eq!(client.raw("SendMessage", body).status, 400);
    }
    assert_eq!(client.raw("ListQueues", b"").status, 200);
    let other = client.wire.call("DynamoDB_20120810.Query", b"{}");
    assert_eq!(other.status, 400);
}

fn ids(entries: &Value) -> Vec<&str> {
    entries.as_array().unwrap().iter().map(|entry| entry["Id"].as_str().unwrap()).collect()
}
