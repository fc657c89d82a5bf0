//! How DynamoDB is called: one client configuration, one way to attempt a call.

use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::StalledStreamProtectionConfig;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use super::item::{Row, ledger_key};
use super::{Deadline, Store, StoreError};
use crate::keys::LedgerKey;
use crate::retry::{self, Backoff, LONGEST_ATTEMPT};

/// A connection that takes longer is not coming.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The configuration that every AWS client of the project is made from: hyper with rustls on ring,
/// timeouts on every attempt, and no retries of its own, because [`crate::retry`] is the one retry
/// policy.
pub async fn sdk_config() -> SdkConfig {
    let https = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(LONGEST_ATTEMPT)
        .build();
    aws_config::defaults(BehaviorVersion::v2026_01_12())
        .http_client(https)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        // Watches the throughput of long bodies. Ours are short, and bounded by the attempt's timeout.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .load()
        .await
}

/// Calls once, for as long as [one attempt](retry::attempt) may take.
pub(super) async fn once<T, E>(
    deadline: Deadline,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, StoreError>
where
    StoreError: From<E>,
{
    // In a box: an SDK call's state is kilobytes, and would be copied at every layer it goes through.
    match retry::attempt(deadline).bound(Box::pin(call)).await {
        Ok(answer) => Ok(answer?),
        Err(exceeded) if deadline.remaining().is_zero() => Err(exceeded.into()),
        Err(_) => Err(StoreError::Unavailable("no answer in time".to_owned())),
    }
}

impl Store {
    /// Calls until it succeeds, fails for good, or the deadline passes. Returns the last failure, which
    /// says more than that time ran out.
    pub(super) async fn attempt<T, E, F>(
        &self,
        deadline: Deadline,
        mut call: impl FnMut() -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, E>>,
        StoreError: From<E>,
    {
        let mut backoff = Backoff::default();
        loop {
            let error = match once(deadline, call()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            self.meter.failed(&error);
            if !error.is_retryable() || backoff.wait(deadline).await.is_err() {
                return Err(error);
            }
        }
    }

    /// What stands at a key of the ledger now, if anything does.
    pub(super) async fn ledger_row(
        &self,
        key: LedgerKey,
        deadline: Deadline,
    ) -> Result<Option<Row<'_>>, StoreError> {
        let key = ledger_key(key);
        let answer = self.attempt(deadline, || {
            let get = self.client.get_item().table_name(&self.tables.ledger);
            get.set_key(Some(key.clone())).consistent_read(true).send()
        });
        Ok(answer.await?.item.map(|item| Row { table: &self.tables.ledger, item }))
    }
}
