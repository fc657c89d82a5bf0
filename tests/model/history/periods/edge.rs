//! The edge below the SDK: what may go wrong with a call there, and what it has done to events.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::faults::Fault;
use serde_json::Value;
use tests::EVENTS_TABLE_PREFIX;

/// What a call has done, whatever its caller was told.
#[derive(Debug, Clone)]
pub(crate) enum Done {
    /// A table of a period was made.
    Made(String),
    Put(Value),
    Deleted(String),
    Written(String),
    Erased(String),
}

/// What calls have done since somebody looked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Done>>>);

impl Log {
    pub(crate) fn take(&self) -> Vec<Done> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Some things go wrong with nothing but tables themselves.
pub(crate) fn may_befall(fault: Fault, request: &HttpRequest) -> bool {
    let operation = operation(request).unwrap_or_default();
    match fault {
        Fault::LimitExceeded | Fault::InUse => {
            matches!(operation, "CreateTable" | "UpdateTable" | "DeleteTable")
        }
        Fault::Creating => matches!(operation, "CreateTable" | "DescribeTable"),
        _ => true,
    }
}

/// What is inside, and the log of what it has done.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) inside: SharedHttpConnector,
    pub(crate) log: Log,
}

impl HttpConnector for Watched {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inside, log, done) = (self.inside.clone(), self.log.clone(), done(&request));
        HttpConnectorFuture::new(async move {
            let answer = inside.call(request).await?;
            if answer.status().is_success() {
                log.0.lock().unwrap().extend(done);
            }
            Ok(answer)
        })
    }
}

/// What a request does if it succeeds, as far as it concerns events.
fn done(request: &HttpRequest) -> Option<Done> {
    let Some(operation) = operation(request) else {
        let (_, key) = request.uri().split_once("/archive/")?;
        return match request.method() {
            "PUT" => Some(Done::Written(key.to_owned())),
            "DELETE" => Some(Done::Erased(key.to_owned())),
            _ => None,
        };
    };
    let body: Value = serde_json::from_slice(request.body().bytes()?).ok()?;
    let table = body["TableName"].as_str().filter(|it| it.starts_with(EVENTS_TABLE_PREFIX))?;
    match operation {
        "CreateTable" => Some(Done::Made(table.to_owned())),
        "PutItem" => Some(Done::Put(body["Item"].clone())),
        "DeleteTable" => Some(Done::Deleted(table.to_owned())),
        "GetItem"
        | "Query"
        | "Scan"
        | "DescribeTable"
        | "UpdateTable"
        | "UpdateContinuousBackups" => None,
        other => panic!("nobody has to {other} a table of events"),
    }
}

/// The operation of a service that speaks JSON.
fn operation(request: &HttpRequest) -> Option<&str> {
    request.headers().get("x-amz-target")?.split_once('.').map(|(_, operation)| operation)
}
