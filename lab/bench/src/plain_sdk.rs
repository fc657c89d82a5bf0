//! `nagare-bench plain-sdk`: the baseline that `nagare-bench fanout` is compared with, all of it in this
//! file. It writes the same entries as the SDK's own documentation shows: default configuration, items
//! as maps, requests from builders, the SDK's retries, and a loop that resends unprocessed items after
//! doubling waits, as BatchWriteItem's reference recommends.
//!
//! It runs as `#[tokio::main]` does by default, in the same program as everything else here: with the
//! same optimisation and the same allocator, both of which a plain program would do without.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::{
    BeforeSerializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::{BoxError, SdkError};
use aws_sdk_dynamodb::operation::batch_write_item::{BatchWriteItemError, BatchWriteItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use nagare::Failure;
use nagare::print::print_json;
use nagare_local::schema;
use nagare_operator::progress;
use shared::platform::dynamo::{IN_FLIGHT, Usage};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;
use shared::platform::values::Retention;

use super::report::Measurement;
use super::{follower, in_flight};

/// Items one BatchWriteItem call takes.
const BATCH: u64 = 25;
/// The first wait before leftovers are sent again, and the longest.
const WAITS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

#[derive(Debug, Args)]
pub(crate) struct PlainSdk {
    /// How many followers.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    followers: u64,
    /// A DynamoDB endpoint; its timelines table is the one that NAGARE_TIMELINES_TABLE names, or
    /// `nagare-timelines`.
    #[arg(long)]
    endpoint: String,
    /// Calls in flight at once.
    #[arg(long, default_value_t = IN_FLIGHT, value_parser = in_flight)]
    in_flight: usize,
}

impl PlainSdk {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let sends = Sends::default();
        let client = self.client(sends.clone()).await;
        let table = env::optional(env::TIMELINES_TABLE);
        let table = table.unwrap_or_else(|| schema::names().timelines);
        let now = Clock::system().now();
        let sort_key = format!("{now}#bench-{}", std::process::id());
        let expires_at = Retention::default().expires_at(now).to_string();
        let measurement = Measurement::start()?;
        let bar = progress::bar(self.followers, "entries");
        let batches = (0..self.followers).step_by(BATCH as usize).map(|first| {
            let last = self.followers.min(first + BATCH);
            let requests = (first..last).map(|n| put(follower(n), &sort_key, &expires_at));
            write(&client, &table, requests.collect())
        });
        let written = stream::iter(batches).buffer_unordered(self.in_flight);
        let written = written.inspect_ok(|count| bar.inc(*count));
        let entries = written.try_fold(0, async |sum, count| Ok(sum + count)).await?;
        bar.finish_and_clear();
        print_json(&measurement.report(Usage {
            written: entries,
            sends: sends.total(),
            ..Usage::default()
        })?)?;
        Ok(())
    }

    /// The default client, with two exceptions: this workspace has one TLS stack instead of the SDK's
    /// default (which makes no difference on plain HTTP), and requests are counted.
    async fn client(&self, sends: Sends) -> Client {
        let https = aws_smithy_http_client::Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build_https();
        let config =
            aws_config::defaults(BehaviorVersion::latest()).http_client(https).load().await;
        let config = aws_sdk_dynamodb::config::Builder::from(&config)
            .endpoint_url(&self.endpoint)
            .interceptor(sends);
        Client::from_conf(config.build())
    }
}

fn put(viewer: String, sort_key: &str, expires_at: &str) -> Result<WriteRequest, Failure> {
    let item = HashMap::from([
        ("viewer_id".to_string(), AttributeValue::S(viewer)),
        ("sort_key".to_string(), AttributeValue::S(sort_key.to_string())),
        ("actor_id".to_string(), AttributeValue::S("bench".to_string())),
        ("expires_at".to_string(), AttributeValue::N(expires_at.to_string())),
    ]);
    let put = PutRequest::builder().set_item(Some(item)).build();
    let put = put.map_err(|e| Failure::Usage(e.to_string()))?;
    Ok(WriteRequest::builder().put_request(put).build())
}

/// Writes a batch, however many tries it takes. Returns the number of entries.
async fn write(
    client: &Client,
    table: &str,
    requests: Result<Vec<WriteRequest>, Failure>,
) -> Result<u64, Failure> {
    let mut left = requests?;
    let (count, [mut wait, longest]) = (left.len() as u64, WAITS);
    loop {
        match client.batch_write_item().request_items(table, left.clone()).send().await {
            Ok(output) => {
                match output.unprocessed_items.and_then(|mut items| items.remove(table)) {
                    Some(unprocessed) if !unprocessed.is_empty() => left = unprocessed,
                    _ => return Ok(count),
                }
            }
            // The SDK has tried three times by now.
            Err(error) if is_throttled(&error) => {}
            Err(error) => return Err(Failure::Unreachable(format!("{error:?}"))),
        }
        tokio::time::sleep(wait.mul_f64(fastrand::f64())).await;
        wait = longest.min(wait * 2);
    }
}

fn is_throttled<R>(error: &SdkError<BatchWriteItemError, R>) -> bool {
    let error = error.as_service_error();
    error.is_some_and(BatchWriteItemError::is_provisioned_throughput_exceeded_exception)
}

/// Counts the requests sent, including the SDK's own retries, which nothing else reports.
#[derive(Debug, Clone, Default)]
struct Sends(Arc<AtomicU64>);

/// The number of items in the current call.
#[derive(Debug)]
struct Items(u64);

impl Storable for Items {
    type Storer = StoreReplace<Self>;
}

impl Sends {
    fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Intercept for Sends {
    fn name(&self) -> &'static str {
        "Sends"
    }

    fn read_before_execution(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let input = context.input().downcast_ref::<BatchWriteItemInput>();
        let items = input.and_then(BatchWriteItemInput::request_items);
        let count: usize = items.into_iter().flatten().map(|(_, requests)| requests.len()).sum();
        config.interceptor_state().store_put(Items(count as u64));
        Ok(())
    }

    fn read_before_attempt(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let items = config.load::<Items>().map_or(0, |items| items.0);
        self.0.fetch_add(items, Ordering::Relaxed);
        Ok(())
    }
}
