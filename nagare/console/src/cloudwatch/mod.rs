//! What the functions of a stack on AWS say and count, as CloudWatch keeps it.
//!
//! ```text
//! service   one signed call, made again while a service is busy
//! lines     what functions said: the newest lines of their log groups
//! pattern   which of them CloudWatch can leave out before it answers
//! minutes   what was counted: an hour of each metric, minute by minute
//! ```
//!
//! Both services speak JSON over HTTP, and one call of each is all that is needed. Their SDKs take two minutes of the
//! processor to compile, so the calls are made here: `aws-sigv4` signs them, and [`nagare_client::signer`] has the credentials
//! that every other call uses.
//!
//! Nothing is called while no page is open, and what is read is read with the caller's own permissions. What a page of lines
//! looks through is bounded by calls, and what it did not come to it says. Metrics are paid for by the call, so all that is
//! asked for is kept for a minute, however many pages are open.

mod lines;
mod minutes;
mod pattern;
mod service;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use reqwest::Url;
use shared::runtime::clock::Clock;
use shared::runtime::env;
use tokio::sync::Mutex;

use super::Account;

pub(super) use lines::Lines;
pub(super) use minutes::{Minutes, Statistic, Wanted};
pub(super) use service::CallError;
use service::{AwsJsonService, Service};

/// How long a page waits for CloudWatch.
const PATIENCE: Duration = Duration::from_secs(10);

/// CloudWatch, where a stack is on AWS. It answers for one stage.
pub(super) struct CloudWatch {
    logs: Service,
    metrics: Service,
    stage: String,
    clock: Clock,
    /// The metrics that were read last.
    kept: Mutex<Option<Arc<Minutes>>>,
}

impl CloudWatch {
    /// That of the account that a stack is in.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the environment does not name the stage, or has no credentials.
    pub(super) fn of(remote: &Remote, account: &Account) -> Result<Self, Failure> {
        let stage = remote.target().required(env::STAGE)?;
        let config = remote.config();
        let config =
            config.ok_or_else(|| Failure::No("the environment names no account".into()))?;
        Self::new(config, &account.domain, stage, Clock::system())
    }

    /// For a stage, below a domain such as `eu-west-1.amazonaws.com`, unless the environment names another endpoint.
    fn new(config: &SdkConfig, domain: &str, stage: String, clock: Clock) -> Result<Self, Failure> {
        let service = |api: AwsJsonService| -> Result<Service, Failure> {
            let address = match config.endpoint_url() {
                Some(endpoint) => endpoint.to_owned(),
                None => format!("https://{}.{domain}", api.signed_as),
            };
            let url = Url::parse(&address);
            let url = url.map_err(|e| Failure::Usage(format!("the endpoint {address}: {e}")))?;
            Service::new(config, api, url, clock.clone())
        };
        let (logs, metrics) = (service(service::LOGS)?, service(service::METRICS)?);
        Ok(Self { logs, metrics, stage, clock, kept: Mutex::default() })
    }

    /// What it is now where it is read.
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }
}
