//! The client: one configuration, one way to attempt a call.

use std::sync::Arc;
use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::StalledStreamProtectionConfig;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use super::transport::RequestTemplate;
use super::usage::UsageCounter;
use super::{DynamoError, Limits, Table, Usage};
use crate::platform::runtime::deadline::Deadline;
use crate::platform::runtime::lease::Leases;
use crate::platform::runtime::retry::{self, Backoff, CONNECT_TIMEOUT, LONGEST_ATTEMPT};

/// The configuration that every AWS client of the project is made from: hyper with rustls on ring,
/// timeouts on every attempt, and no retries of its own, because [`crate::platform::runtime::retry`] is the one
/// retry policy.
pub fn sdk_config() -> BoxFuture<'static, SdkConfig> {
    let https = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    sdk_config_over(https)
}

/// Like [`sdk_config`], with another HTTP client, which credential providers use too.
pub fn sdk_config_over(https: SharedHttpClient) -> BoxFuture<'static, SdkConfig> {
    Box::pin(async {
        aws_config::defaults(BehaviorVersion::v2026_01_12())
            .http_client(https)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts())
            // It watches the throughput of long bodies. Ours are short, and bounded by the timeout of the attempt.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .load()
            .await
    })
}

/// The timeouts of every attempt of such a client.
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(LONGEST_ATTEMPT)
        .build()
}

/// How long a call is tried for that belongs to no [work](Dynamo::for_work), unless [said
/// otherwise](Dynamo::with_patience).
const PATIENCE: Duration = Duration::from_secs(8);

/// A client of DynamoDB. Cheap to clone; clones share its usage.
#[derive(Debug, Clone)]
pub struct Dynamo {
    pub(super) client: Client,
    /// For calls that are made by the thousand. Captured when it is first needed.
    template: Arc<OnceCell<RequestTemplate>>,
    pub(super) usage: UsageCounter,
    limits: Limits,
    leases: Leases,
    /// How long a call is tried for without a deadline.
    patience: Duration,
    /// The deadline of the work whose calls these are.
    deadline: Option<Deadline>,
}

impl Dynamo {
    /// Over a client made from [`sdk_config`] (or a test's).
    pub fn new(client: Client) -> Self {
        let (template, usage) = (Arc::default(), UsageCounter::default());
        let (limits, leases, patience) = (Limits::DYNAMODB, Leases::default(), PATIENCE);
        Self { client, template, usage, limits, leases, patience, deadline: None }
    }

    /// The same client, for a store with smaller limits than DynamoDB.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same client, for work whose leases have another clock than the system's.
    #[must_use]
    pub fn with_leases(self, leases: Leases) -> Self {
        Self { leases, ..self }
    }

    /// This client with another bound on how long a call is tried.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The limits of items and requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The leases of work that uses this client.
    pub fn leases(&self) -> &Leases {
        &self.leases
    }

    pub fn table(&self, name: &str) -> Table {
        Table::new(self.clone(), name)
    }

    /// The same client, for the calls of one piece of work: they end at its deadline, and their usage is counted from zero.
    #[must_use]
    pub fn for_work(&self, deadline: Deadline) -> Self {
        Self { usage: UsageCounter::default(), ..self.until(deadline) }
    }

    /// The same client with the same usage, for calls with another deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// The deadline of a call that begins now.
    pub fn deadline(&self) -> Deadline {
        self.deadline.unwrap_or_else(|| Deadline::after(self.patience))
    }

    /// The usage of this client and its clones since it was made [for its work](Self::for_work).
    pub fn usage(&self) -> Usage {
        self.usage.read()
    }

    pub(super) async fn template(&self, table: &str) -> Result<&RequestTemplate, DynamoError> {
        self.template.get_or_try_init(|| RequestTemplate::capture(&self.client, table)).await
    }

    /// Calls until it succeeds, fails permanently, or the deadline passes. Returns the last failure rather than a timeout.
    pub(super) async fn attempt<T, E, F>(
        &self,
        mut call: impl FnMut() -> F,
    ) -> Result<T, DynamoError>
    where
        F: Future<Output = Result<T, E>>,
        DynamoError: From<E>,
    {
        let (deadline, mut backoff) = (self.deadline(), Backoff::default());
        loop {
            let error = match once(deadline, call()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            self.usage.failed(&error);
            if !error.is_retryable() || backoff.wait(deadline).await.is_err() {
                return Err(error);
            }
        }
    }
}

/// Calls once, for as long as [one attempt](retry::attempt) may take.
pub(super) async fn once<T, E>(
    deadline: Deadline,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, DynamoError>
where
    DynamoError: From<E>,
{
    // Boxed: the state of an SDK call is kilobytes, and would be copied at every layer.
    match retry::attempt(deadline).bound(Box::pin(call)).await {
        Ok(answer) => Ok(answer?),
        Err(exceeded) if deadline.remaining().is_zero() => Err(exceeded.into()),
        Err(_) => Err(DynamoError::Unavailable("no answer in time".to_owned())),
    }
}
