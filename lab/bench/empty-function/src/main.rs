//! A function that does nothing, with the runtime and the SDK client of the others:
//! `lab/bench/start.py` measures them against it.

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::Client;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let https = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let config = aws_config::defaults(BehaviorVersion::latest()).http_client(https).load().await;
    let client = Client::new(&config);
    run(service_fn(async |_event: LambdaEvent<Value>| {
        let answer = client.list_tables().send().await;
        answer.map(|_| Value::Null).map_err(Error::from)
    }))
    .await
}
