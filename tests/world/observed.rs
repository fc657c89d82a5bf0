//! What each function calls, on which table or queue, written down as it happens: `tests/template` compares
//! it with what the functions' roles allow.
//!
//! Every call that a test has not seen yet in its process becomes a line of
//! `target/observed/<test>.txt`, such as `fanout-writer dynamodb:PutItem ledger`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::{lambda, schema};
use serde_json::Value;

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
        Some((_, "TransactWriteItems")) => {
            let body = body();
            let items = body["TransactItems"].as_array().unwrap().iter();
            let items = items.flat_map(|item| item.as_object().unwrap());
            let action = |name: &str| match name {
                "ConditionCheck" => "dynamodb:ConditionCheckItem".to_owned(),
                other => format!("dynamodb:{other}Item"),
            };
            items.filter_map(|(name, item)| Some((action(name), table(item)?))).collect()
        }
        Some((_, operation)) => {
            let body = body();
            let requests = body["RequestItems"].as_object();
            let tables = match requests {
                Some(requests) => requests.keys().filter_map(|name| resource(name)).collect(),
                None => Vec::from_iter(table(&body)),
            };
            let action = format!("dynamodb:{operation}");
            tables.into_iter().map(|table| (action.clone(), table)).collect()
        }
        None => Vec::new(),
    }
}

fn table(request: &Value) -> Option<String> {
    let named = request["TableName"].as_str();
    let named = named.or_else(|| request["ResourceArn"].as_str()?.rsplit('/').next());
    let table = resource(named?)?;
    Some(match request["IndexName"].as_str() {
        Some(index) => format!("{table}/index/{index}"),
        None => table,
    })
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
