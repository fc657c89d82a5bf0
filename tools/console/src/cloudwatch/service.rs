//! One signed call of a service that speaks JSON, made again while the service is busy.

use nagare_client::signer::{Signer, Unsigned};
use reqwest::{StatusCode, Url};
use serde_json::Value;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry::{self, Backoff};

/// How a service is spoken to: the AWS JSON protocol, as its models name these.
#[derive(Debug, Clone, Copy)]
pub(super) struct AwsJsonService {
    /// And called in its address.
    pub(super) signed_as: &'static str,
    /// What precedes the names of its operations.
    target: &'static str,
    content: &'static str,
    name: &'static str,
}

pub(super) const LOGS: AwsJsonService = AwsJsonService {
    signed_as: "logs",
    target: "Logs_20140328",
    content: "application/x-amz-json-1.1",
    name: "CloudWatch Logs",
};
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
    /// A service refuses it. The same will be refused again.
    #[error("{0} refuses: {1}")]
    Refused(&'static str, String),
    /// A service is busy, or cannot be reached. A retry may help.
    #[error("{0} does not answer: {1}")]
    Unavailable(&'static str, String),
}

#[derive(Debug)]
pub(super) struct Service {
    pub(super) api: AwsJsonService,
    pub(super) url: Url,
    pub(super) signer: Signer,
    pub(super) client: reqwest::Client,
    pub(super) clock: Clock,
}

impl Service {
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
                Err(error @ CallError::Unavailable(..)) => error,
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
            _ => CallError::Refused(self.api.name, reason),
        }
    }

    /// For an answer that cannot be understood.
    pub(super) fn unexpected(&self, reason: &dyn std::fmt::Display) -> CallError {
        CallError::Refused(self.api.name, format!("its answer is unexpected: {reason}"))
    }

    fn unavailable(&self, reason: &str) -> CallError {
        CallError::Unavailable(self.api.name, reason.to_owned())
    }
}
