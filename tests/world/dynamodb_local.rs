//! The tables of a DynamoDB Local in place of the embedded ones.
//!
//! A caller waits for each answer without letting anybody else run, as with the embedded tables, so a
//! test that decides who goes on next decides it here too. Each world has an access key of its own, by
//! which DynamoDB Local (without `-sharedDb`) keeps databases apart.

use std::sync::LazyLock;
use std::sync::mpsc;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use nagare_local::connector::InProcess;
use nagare_local::schema;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use uuid::Uuid;

const TARGET: &str = "DynamoDB_20120810.";

/// Sends requests while callers wait.
static SENDERS: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
/// One for all, so that connections are used again.
static HTTP: LazyLock<Client> = LazyLock::new(|| {
    // The client asks for one even if it never speaks TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
});

/// The embedded tables, unless others were asked for.
pub(crate) fn unless_embedded(embedded: InProcess) -> SharedHttpConnector {
    #[allow(clippy::disallowed_methods, reason = "how to choose an engine from the command line")]
    match std::env::var("NAGARE_TEST_ENDPOINT") {
        Err(_) => SharedHttpConnector::new(embedded),
        Ok(endpoint) => SharedHttpConnector::new(DynamoDbLocal::new(endpoint, embedded)),
    }
}

#[derive(Debug)]
struct DynamoDbLocal {
    endpoint: String,
    credential: String,
    /// Answers every call that is not to the tables.
    embedded: InProcess,
}

impl DynamoDbLocal {
    fn new(endpoint: String, embedded: InProcess) -> Self {
        let access_key = Uuid::new_v4().simple();
        let credential = format!("{access_key}/20260101/us-east-1/dynamodb/aws4_request");
        let this = Self { endpoint, credential, embedded };
        for definition in schema::definitions() {
            this.command("CreateTable", &definition);
        }
        this
    }

    fn command(&self, operation: &str, request: &Value) {
        let target = format!("{TARGET}{operation}");
        let (status, body) = self.post(&target, request.to_string().into_bytes()).unwrap();
        assert_eq!(status, 200, "{operation}: {}", String::from_utf8_lossy(&body));
    }

    fn post(&self, target: &str, body: Vec<u8>) -> Result<(u16, Vec<u8>), reqwest::Error> {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}, SignedHeaders=host, Signature=0",
            self.credential
        );
        let request = HTTP
            .post(&self.endpoint)
            .header("authorization", authorization)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", target)
            .body(body);
        let (answer, answered) = mpsc::channel();
        SENDERS.spawn(async move {
            let exchange = async {
                let response = request.send().await?;
                Ok((response.status().as_u16(), response.bytes().await?.to_vec()))
            };
            let _ = answer.send(exchange.await);
        });
        answered.recv().unwrap()
    }

    fn answer(&self, target: &str, body: &[u8]) -> Result<HttpResponse, ConnectorError> {
        let exchange = self.post(target, body.to_vec());
        let (status, body) = exchange.map_err(|error| ConnectorError::io(error.into()))?;
        Ok(HttpResponse::new(StatusCode::try_from(status).unwrap(), SdkBody::from(body)))
    }
}

impl HttpConnector for DynamoDbLocal {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        if target.starts_with(TARGET) {
            let body = request.body().bytes().unwrap_or_default();
            return HttpConnectorFuture::ready(self.answer(target, body));
        }
        self.embedded.call(request)
    }
}

impl Drop for DynamoDbLocal {
    fn drop(&mut self) {
        for definition in schema::definitions() {
            self.command("DeleteTable", &json!({"TableName": definition["TableName"]}));
        }
    }
}
