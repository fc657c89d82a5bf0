//! What the functions of a stack on AWS say and count, as CloudWatch keeps it.
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
use nagare_client::proxy;
use nagare_client::remote::Remote;
use nagare_client::signer::Signer;
use reqwest::Url;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;
use tokio::sync::Mutex;

use super::Account;

pub(super) use lines::Lines;
pub(super) use minutes::{HOUR, Minutes, Source, Statistic, Wanted};
pub(super) use service::CallError;
use service::{AwsJsonService, Service};

const PATIENCE: Duration = Duration::from_secs(10);

/// CloudWatch, where a stack is on AWS. It answers for one stage.
pub(super) struct CloudWatch {
    logs: Service,
    metrics: Service,
    stage: String,
    /// What it is now where it is read.
    pub(super) clock: Clock,
    /// The metrics that were read last.
    kept: Mutex<Option<Arc<Minutes>>>,
}

impl CloudWatch {
    pub(super) fn of(remote: &Remote, account: &Account) -> Result<Self, Failure> {
        let stage = remote.target().required(env::STAGE)?;
        let none = || Failure::No("the environment names no account".into());
        let config = remote.config().ok_or_else(none)?;
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
            let client = proxy::http_client()?;
            let signer = Signer::of(config, api.signed_as);
            let signer = signer.map_err(|e| Failure::Usage(e.to_string()))?;
            Ok(Service { api, url, signer, client, clock: clock.clone() })
        };
        let (logs, metrics) = (service(service::LOGS)?, service(service::METRICS)?);
        Ok(Self { logs, metrics, stage, clock, kept: Mutex::default() })
    }
}
