//! What each function calls, on which table or queue, written down as it happens: `tests/template` compares
//! it with what the functions' roles allow.
//!
//! Every call that a test has not seen yet in its process becomes a line of
//! `target/observed/<test>.txt`, such as `fanout-writer sqs:SendMessage commands`. A call that writes into a table with several kinds of
//! partitions names the pattern of the partition key, such as `fanout-writer dynamodb:PutItem ledger person#*#rooms`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::aws_models::{self, Unknown};
use nagare_local::{lambda, schema};
use serde_json::{Map, Value, json};

use crate::{COMMANDS, DEAD_LETTERS, EVENTS_TABLE_PREFIX, bucket};

static CALLS: LazyLock<Mutex<Calls>> = LazyLock::new(|| Mutex::new(Calls::new()));

/// The edge below the SDK of one function.
#[derive(Debug)]
pub(crate) struct Observed {
    function: &'static str,
    inside: SharedHttpConnector,
}

impl Observed {
    pub(crate) fn of(function: &'static str, inside: &SharedHttpConnector) -> SharedHttpConnector {
        SharedHttpConnector::new(Self { function, inside: inside.clone() })
    }
}

impl HttpConnector for Observed {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let body = request.body().bytes().unwrap_or_default();
        model(&request);
        let mut calls = CALLS.lock().unwrap();
        match bucket::key(&request) {
            Some(_) => calls.see_object(self.function, request.method()),
            None if request.uri().starts_with(lambda::ENDPOINT) => {
                calls.see_mapping(self.function, request.method());
            }
            None => calls.see(self.function, target, body),
        }
        drop(calls);
        self.inside.call(request)
    }
}

/// The edge below the SDK of a tool: what the models refuse is a defect.
#[derive(Debug)]
pub(crate) struct Modelled(pub(crate) SharedHttpConnector);

impl HttpConnector for Modelled {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        model(&request);
        self.0.call(request)
    }
}

/// Holds a request to AWS's own models, as the service would.
fn model(request: &HttpRequest) {
    let (operation, values) = modelled(request);
    let held = aws_models::check(&operation, &values, Unknown::Refused);
    held.unwrap_or_else(|violation| panic!("{operation}: {violation}: {values}"));
}

/// The operation of a request, and its members.
fn modelled(request: &HttpRequest) -> (String, Value) {
    let json = || serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap();
    if let Some(key) = bucket::key(request) {
        let operation = match request.method() {
            "GET" | "HEAD" => "s3.GetObject",
            "PUT" => "s3.PutObject",
            _ => "s3.DeleteObject",
        };
        return (operation.to_owned(), json!({"Bucket": bucket::NAME, "Key": key}));
    }
    if let Some(path) = request.uri().strip_prefix(lambda::ENDPOINT) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let uuid = path.rsplit('/').next().unwrap_or_default();
        return match request.method() {
            "POST" => ("lambda.CreateEventSourceMapping".to_owned(), json()),
            "DELETE" => ("lambda.DeleteEventSourceMapping".to_owned(), json!({"UUID": uuid})),
            _ => {
                let values: Map<_, _> = form_urlencoded::parse(query.as_bytes())
                    .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
                    .collect();
                ("lambda.ListEventSourceMappings".to_owned(), values.into())
            }
        };
    }
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    let (service, operation) = target.rsplit_once('.').unwrap_or_default();
    let service = match service {
        "AmazonSQS" => "sqs",
        "AWSEvents" => "events",
        "GraniteServiceVersion20100801" => "cloudwatch",
        _ => "dynamodb",
    };
    (format!("{service}.{operation}"), json())
}

struct Calls {
    seen: BTreeSet<String>,
    file: File,
}

impl Calls {
    fn new() -> Self {
        let (directory, test) = place();
        fs::create_dir_all(&directory).unwrap();
        let file = File::create(directory.join(test).with_extension("txt")).unwrap();
        Self { seen: BTreeSet::new(), file }
    }

    fn see(&mut self, function: &str, target: &str, body: &[u8]) {
        for (action, resource) in called(target, body) {
            self.note(format!("{function} {action} {resource}"));
        }
    }

    fn see_object(&mut self, function: &str, method: &str) {
        let action = match method {
            "GET" | "HEAD" => "s3:GetObject",
            "PUT" => "s3:PutObject",
            "DELETE" => "s3:DeleteObject",
            other => panic!("the functions {other} objects, of which nobody knows"),
        };
        self.note(format!("{function} {action} archive"));
    }

    fn see_mapping(&mut self, function: &str, method: &str) {
        // What is made, or looked for, has no name yet.
        let call = match method {
            "GET" => "lambda:ListEventSourceMappings any",
            "POST" => "lambda:CreateEventSourceMapping any",
            "DELETE" => "lambda:DeleteEventSourceMapping mappings",
            other => panic!("the functions {other} mappings, of which nobody knows"),
        };
        self.note(format!("{function} {call}"));
    }

    fn note(&mut self, call: String) {
        if self.seen.insert(call.clone()) {
            writeln!(self.file, "{call}").unwrap();
        }
    }
}

/// `target/observed`, and the name of the test program.
fn place() -> (PathBuf, String) {
    let program = std::env::current_exe().unwrap();
    let name = program.file_stem().unwrap().to_string_lossy().into_owned();
    let name = name.rsplit_once('-').map_or(name.clone(), |(name, _hash)| name.to_owned());
    (directory(), name)
}

/// Where tests write down what `tests/template` reads.
#[must_use]
pub fn directory() -> PathBuf {
    // target/<profile>/deps/<program>
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("observed")
}

/// The actions that a call has to be allowed, and on what.
fn called(target: &str, body: &[u8]) -> Vec<(String, String)> {
    let body = || serde_json::from_slice::<Value>(body).unwrap();
    match target.rsplit_once('.') {
        // A batch is authorized as sending is.
        Some(("AmazonSQS", "SendMessage" | "SendMessageBatch")) => {
            let body = body();
            let url = body["QueueUrl"].as_str().unwrap();
            let queue = [COMMANDS, DEAD_LETTERS].into_iter().find(|name| url.ends_with(name));
            vec![("sqs:SendMessage".to_owned(), queue.unwrap().to_owned())]
        }
        Some(("AWSEvents", "PutEvents")) => {
            vec![("events:PutEvents".to_owned(), "bus".to_owned())]
        }
        Some(("GraniteServiceVersion20100801", "GetMetricData")) => {
            vec![("cloudwatch:GetMetricData".to_owned(), "any".to_owned())]
        }
        Some(("AmazonSQS", other)) => panic!("the functions call {other}, of which nobody knows"),
        // A transaction is authorized by its items.
        Some((_, "TransactWriteItems" | "TransactGetItems")) => {
            let body = body();
            let items = body["TransactItems"].as_array().unwrap().iter();
            let items = items.flat_map(|item| item.as_object().unwrap());
            let action = |name: &str| match name {
                "ConditionCheck" => "dynamodb:ConditionCheckItem".to_owned(),
                other => format!("dynamodb:{other}Item"),
            };
            items.filter_map(|(name, item)| on(action(name), item)).collect()
        }
        Some((_, operation)) => {
            let (body, action) = (body(), format!("dynamodb:{operation}"));
            match body["RequestItems"].as_object() {
                Some(requests) => requests.iter().flat_map(|it| batch(&action, it)).collect(),
                None => Vec::from_iter(on(action, &body)),
            }
        }
        None => Vec::new(),
    }
}

/// The action and the table of a request, with the pattern of the partition if it writes.
fn on(action: String, request: &Value) -> Option<(String, String)> {
    let named = request["TableName"].as_str();
    let named = named.or_else(|| request["ResourceArn"].as_str()?.rsplit('/').next());
    let table = resource(named?)?;
    if let Some(index) = request["IndexName"].as_str() {
        return Some((action, format!("{table}/index/{index}")));
    }
    let key = match action.as_str() {
        "dynamodb:PutItem" => &request["Item"],
        "dynamodb:UpdateItem" | "dynamodb:DeleteItem" => &request["Key"],
        _ => &Value::Null,
    };
    Some((action, with_partition(table, key)))
}

/// The action on each pattern of partitions that a batch writes in a table.
fn batch(action: &str, (name, requests): (&String, &Value)) -> BTreeSet<(String, String)> {
    let Some(table) = resource(name) else { return BTreeSet::new() };
    let key = |request: &Value| match request.get("PutRequest") {
        Some(put) => put["Item"].clone(),
        None => request["DeleteRequest"]["Key"].clone(),
    };
    match requests.as_array() {
        Some(writes) => writes.iter().map(|it| with_partition(table.clone(), &key(it))).collect(),
        // Keys to read.
        None => BTreeSet::from([table]),
    }
    .into_iter()
    .map(|resource| (action.to_owned(), resource))
    .collect()
}

/// The words of partition keys; everything else between two `#` is an id. `tests/template` grants no pattern with an id in the place of
/// such a word, so a word that is missing here is noticed.
const WORDS: [&str; 21] = [
    "alert",
    "alerts",
    "archive",
    "archiving",
    "customers",
    "daily",
    "decided",
    "deciding",
    "definitions",
    "following",
    "hidden",
    "keepers",
    "kind",
    "liked",
    "periods",
    "profile",
    "refusals",
    "refused",
    "rooms",
    "seen",
    "tagged",
];

/// A table, and the pattern of the partition that a key is in: its first word, then `*` for each id, and nothing for an empty one. Tables whose partition keys
/// are ids have no pattern.
fn with_partition(table: String, key: &Value) -> String {
    let Some(partition) = key["pk"]["S"].as_str().filter(|_| table != "events") else {
        return table;
    };
    let (first, rest) = partition.split_once('#').unwrap_or((partition, ""));
    let rest = rest
        .split('#')
        .map(|part| if part.is_empty() || WORDS.contains(&part) { part } else { "*" });
    format!("{table} {first}#{}", Vec::from_iter(rest).join("#"))
}

/// Tables of other names are those of tests that have functions look in the wrong place.
fn resource(name: &str) -> Option<String> {
    if name.starts_with(EVENTS_TABLE_PREFIX) {
        return Some("events".to_owned());
    }
    let names = schema::names();
    let tables = [
        ("timelines", names.timelines),
        ("ledger", names.ledger),
        ("facts", names.facts),
        ("views", names.views),
        ("dead_letters", names.dead_letters),
    ];
    tables.into_iter().find_map(|(what, table)| (table == name).then(|| what.to_owned()))
}
