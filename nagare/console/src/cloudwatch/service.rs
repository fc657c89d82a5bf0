//! One signed call of a service that speaks JSON, made again while the service is busy.

use aws_config::SdkConfig;
use nagare_client::failure::Failure;
use nagare_client::proxy;
use nagare_client::signer::{Signer, Unsigned};
use reqwest::{StatusCode, Url};
use serde_json::Value;
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::retry::{self, Backoff};

/// How a service is spoken to: the AWS JSON protocol, as its models name these.
#[derive(Debug, Clone, Copy)]
pub(super) struct AwsJsonService {
    /// Its name in signatures, and in its address.
    pub(super) signed_as: &'static str,
    /// What precedes the names of its operations.
    target: &'static str,
    content: &'static str,
    /// Its name for people.
    name: &'static str,
}

/// CloudWatch Logs.
pub(super) const LOGS: AwsJsonService = AwsJsonService {
    signed_as: "logs",
    target: "Logs_20140328",
    content: "application/x-amz-json-1.1",
    name: "CloudWatch Logs",
};
/// CloudWatch, for its metrics.
pub(super) const METRICS: AwsJsonService = AwsJsonService {
    signed_as: "monitoring",
    target: "GraniteServiceVersion20100801",
    content: "application/x-amz-json-1.0",
    name: "CloudWatch",
};

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// It is not permitted. Nothing helps but a permission.
    #[error("not permitted: {0}")]
    NotPermitted(String),
    /// It is answered in the wrong order. Asking for less may help.
    #[error(
        "the oldest lines are answered first here, and there are too many: ask for a shorter time"
    )]
    OldestFirst,
    /// There are no credentials to sign it with.
    #[error(transparent)]
    Unsigned(#[from] Unsigned),
    /// It is refused. The same will be refused again.
    #[error("{service} refuses: {reason}")]
    Refused {
        /// Who does.
        service: &'static str,
        /// Its code and message.
        reason: String,
    },
    /// The service is busy, or cannot be reached. A retry may help.
    #[error("{service} does not answer: {reason}")]
    Unavailable {
        /// Which.
        service: &'static str,
        /// The last that was heard of it.
        reason: String,
    },
}

/// A service of AWS.
#[derive(Debug)]
pub(super) struct Service {
    api: AwsJsonService,
    url: Url,
    signer: Signer,
    client: reqwest::Client,
    clock: Clock,
}

impl Service {
    pub(super) fn new(
        config: &SdkConfig,
        api: AwsJsonService,
        url: Url,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let client = proxy::http_client()?;
        let signer = Signer::of(config, api.signed_as);
        let signer = signer.map_err(|e| Failure::Usage(e.to_string()))?;
        Ok(Self { api, url, signer, client, clock })
    }

    /// Calls until it answers, refuses, or the deadline passes.
    pub(super) async fn call(
        &self,
        operation: &str,
        input: &Value,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let mut backoff = Backoff::default();
        loop {
            let error = match self.once(operation, input, deadline).await {
                Err(error @ CallError::Unavailable { .. }) => error,
                settled => return settled,
            };
            if backoff.wait(deadline).await.is_err() {
                return Err(error);
            }
        }
    }

    async fn once(
        &self,
        operation: &str,
        input: &Value,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let body = input.to_string().into_bytes();
        let target = format!("{}.{operation}", self.api.target);
        let named = [("content-type", self.api.content), ("x-amz-target", &*target)];
        let now = self.clock.now();
        let signature = self.signer.headers("POST", &self.url, &named, &body, now).await?;
        let request =
            self.client.post(self.url.clone()).timeout(retry::attempt(deadline).remaining());
        let request =
            named.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        let silent = |error: reqwest::Error| self.unavailable(&error.without_url().to_string());
        let answer = request.headers(signature).body(body).send().await.map_err(silent)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(silent)?;
        let body: Value = serde_json::from_slice(&body)
            .map_err(|e| self.unavailable(&format!("{status}, and the answer is no JSON: {e}")))?;
        if status.is_success() { Ok(body) } else { Err(self.error(status, &body)) }
    }

    fn error(&self, status: StatusCode, body: &Value) -> CallError {
        let text = |name: &str| body[name].as_str();
        let code = text("__type").unwrap_or_default().rsplit('#').next().unwrap_or_default();
        let message = text("message").or(text("Message")).unwrap_or("no reason given");
        let reason = format!("{status}: {code}: {message}");
        let is_busy = status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || code.starts_with("Throttling")
            || code == "LimitExceededException";
        match code {
            _ if is_busy => self.unavailable(&reason),
            "AccessDenied" | "AccessDeniedException" => CallError::NotPermitted(message.to_owned()),
            _ => self.refused(reason),
        }
    }

    /// For an answer that cannot be understood.
    pub(super) fn unexpected(&self, reason: &dyn std::fmt::Display) -> CallError {
        self.refused(format!("its answer is unexpected: {reason}"))
    }

    fn refused(&self, reason: String) -> CallError {
        CallError::Refused { service: self.api.name, reason }
    }

    fn unavailable(&self, reason: &str) -> CallError {
        CallError::Unavailable { service: self.api.name, reason: reason.to_owned() }
    }
}
