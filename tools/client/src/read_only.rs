//! A client that writes nothing, whoever calls it: every call that is not known to only read is refused before it leaves this
//! process.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector,
    http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use http::StatusCode;
use serde_json::json;

/// The operations that change nothing, as requests name them.
const READING: [&str; 7] = [
    "DynamoDB_20120810.BatchGetItem",
    "DynamoDB_20120810.DescribeTable",
    "DynamoDB_20120810.GetItem",
    "DynamoDB_20120810.Query",
    "DynamoDB_20120810.Scan",
    "DynamoDB_20120810.TransactGetItems",
    "AmazonSQS.GetQueueAttributes",
];

/// The operation of a request; empty if it names none.
pub fn operation(request: &HttpRequest) -> &str {
    request.headers().get("x-amz-target").unwrap_or_default()
}

/// True for an operation that changes nothing.
pub fn is_reading(operation: &str) -> bool {
    READING.contains(&operation)
}

/// The same client, which refuses to write, with the error of an account that does not permit it.
pub fn reading(inside: SharedHttpClient) -> SharedHttpClient {
    http_client_fn(move |settings, components| {
        SharedHttpConnector::new(Reading(inside.http_connector(settings, components)))
    })
}

#[derive(Debug)]
struct Reading(SharedHttpConnector);

impl HttpConnector for Reading {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let operation = operation(&request);
        match is_reading(operation) {
            true => self.0.call(request),
            false => HttpConnectorFuture::ready(Ok(refusal(operation))),
        }
    }
}

fn refusal(operation: &str) -> HttpResponse {
    let body = json!({
        "__type": "com.amazon.coral.service#AccessDeniedException",
        "Message": format!("only reading is allowed here, and {operation} is none"),
    });
    HttpResponse::new(StatusCode::BAD_REQUEST.into(), SdkBody::from(body.to_string()))
}
