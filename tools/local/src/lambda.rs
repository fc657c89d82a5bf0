//! Lambda's event source mappings: creates, lists and deletes the mappings of streams. The keeper of periods calls them as on AWS.
//! The [source of streams](super::stream_source) reads the tables of events whose streams are mapped.
//!
//! A mapping is in effect, or is gone, as soon as the call returns. All streams are mapped to one function. The settings of a mapping
//! are stored and returned; the source of streams has its own.

use form_urlencoded::parse;
use serde_json::{Value, json};
use uuid::Uuid;

use super::aws_models::{self, Unknown};
use super::engine::Engine;
use super::engine::mappings::StreamMapped;
use super::stream_source::BATCH;

const PATH: &str = "/2015-03-31/event-source-mappings/";
/// The endpoint of Lambda for the functions of this process.
pub const ENDPOINT: &str = "http://lambda.local";
/// The name of the history projector's function.
const FUNCTION: &str = "history-projector";

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The name of an error.
    pub(crate) error: Option<&'static str>,
    pub(crate) body: Value,
}

/// The request by which the keeper maps a stream, with the settings of the template, in JSON.
pub fn mapping_request() -> String {
    let request = json!({
        "FunctionName": FUNCTION,
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": BATCH,
        "ParallelizationFactor": 1,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
    });
    request.to_string()
}

/// The path and query of a URI, if it is one of the mappings.
pub(crate) fn path(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    let path = &rest[rest.find('/')?..];
    path.starts_with(PATH).then_some(path)
}

/// Answers a request for a path of [`path`].
pub(crate) fn answer(engine: &Engine, method: &str, path: &str, body: &[u8]) -> Answer {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let uuid = path.strip_prefix(PATH).unwrap_or_default();
    match (method, uuid) {
        ("POST", "") => create(engine, body),
        ("GET", "") => list(engine, query),
        ("DELETE", uuid) if !uuid.is_empty() => delete(engine, uuid),
        _ => refused(404, "ResourceNotFoundException", "There is no such operation."),
    }
}

fn create(engine: &Engine, body: &[u8]) -> Answer {
    let invalid = |message| refused(400, "InvalidParameterValueException", message);
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return invalid("The request is not JSON.");
    };
    if let Err(violation) =
        aws_models::check("lambda.CreateEventSourceMapping", &request, Unknown::Ignored)
    {
        return refused(400, "ValidationException", &violation.to_string());
    }
    let of = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default();
    let (stream, function) = (of("EventSourceArn"), of("FunctionName"));
    if function != FUNCTION {
        return refused(404, "ResourceNotFoundException", "There is no such function.");
    }
    let Some(table) = table_of(engine, stream) else {
        return invalid("There is no such stream.");
    };
    let mapping = StreamMapped {
        uuid: Uuid::new_v4().to_string(),
        stream: stream.to_owned(),
        function: function.to_owned(),
        table,
        request: request.to_string(),
    };
    match engine.add_mapping(&mapping) {
        Ok(true) => Answer { status: 202, error: None, body: shown(&mapping, "Creating") },
        Ok(false) => refused(
            409,
            "ResourceConflictException",
            "The event source arn and function provided mapping already exists.",
        ),
        Err(failure) => failed(&failure),
    }
}

/// The table that has this stream now.
fn table_of(engine: &Engine, stream: &str) -> Option<String> {
    let (_, rest) = stream.split_once(":table/")?;
    let (table, _) = rest.split_once("/stream/")?;
    let describe = json!({"TableName": table}).to_string();
    let (_, answer) = engine.call("DescribeTable", describe.as_bytes());
    let answer: Value = serde_json::from_str(&answer).ok()?;
    (answer["Table"]["LatestStreamArn"] == stream).then(|| table.to_owned())
}

fn list(engine: &Engine, query: &str) -> Answer {
    let query: Vec<_> = parse(query.as_bytes()).collect();
    let is = |name: &str, value: &str| {
        query.iter().find(|(other, _)| other == name).is_none_or(|(_, wanted)| wanted == value)
    };
    match engine.mappings() {
        Ok(all) => {
            let found = all
                .iter()
                .filter(|it| is("EventSourceArn", &it.stream) && is("FunctionName", &it.function));
            let found: Vec<_> = found.map(|mapping| shown(mapping, "Enabled")).collect();
            Answer { status: 200, error: None, body: json!({"EventSourceMappings": found}) }
        }
        Err(failure) => failed(&failure),
    }
}

fn delete(engine: &Engine, uuid: &str) -> Answer {
    match engine.remove_mapping(uuid) {
        Ok(Some(mapping)) => Answer { status: 202, error: None, body: shown(&mapping, "Deleting") },
        Ok(None) => refused(404, "ResourceNotFoundException", "There is no such mapping."),
        Err(failure) => failed(&failure),
    }
}

fn shown(mapping: &StreamMapped, state: &str) -> Value {
    let mut shown: Value = serde_json::from_str(&mapping.request).unwrap_or_else(|_| json!({}));
    shown["UUID"] = json!(mapping.uuid);
    shown["State"] = json!(state);
    shown
}

fn refused(status: u16, error: &'static str, message: &str) -> Answer {
    Answer { status, error: Some(error), body: json!({"Type": "User", "Message": message}) }
}

fn failed(failure: &dyn std::error::Error) -> Answer {
    tracing::error!("{failure}");
    refused(500, "ServiceException", "Mappings cannot be read or written.")
}
