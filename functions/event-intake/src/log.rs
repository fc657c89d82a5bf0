//! The log lines of requests: one for each with a problem, and for a sample of the others.
//!
//! A line has the tenant once the sender is authorised for it, but no event, no token and no text of the sender.

use std::time::Duration;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use function_http::{LogSampling, Problem};
use shared::platform::values::TenantId;
use tracing::{error, info};

/// How a request was answered.
pub(crate) struct Outcome<'a> {
    pub(crate) tenant: Option<&'a TenantId>,
    /// The number of events on the queue, or why there are none.
    pub(crate) accepted: Result<usize, &'a Problem>,
    /// Retried calls of the queue.
    pub(crate) retries: u64,
    pub(crate) took: Duration,
}

impl Outcome<'_> {
    /// Logs the line, unless it is left out by sampling.
    pub(crate) fn log(&self, request: &ApiGatewayV2httpRequest, sampling: LogSampling) {
        let request_id = request.request_context.request_id.as_deref();
        let is_smooth = self.accepted.is_ok() && self.retries == 0;
        let Some(sampled) = sampling.requests_per_line(is_smooth, self.took, request_id) else {
            return;
        };
        let tenant_id = self.tenant.map(TenantId::as_str);
        let (retries, duration_ms) = (self.retries, self.took.as_secs_f64() * 1e3);
        match self.accepted {
            Ok(events) => info!(
                request_id,
                tenant_id,
                status = 202,
                events,
                retries,
                duration_ms,
                sampled,
                "accepted"
            ),
            Err(problem @ Problem::Unsent(failure)) => error!(
                request_id,
                tenant_id,
                status = problem.status(),
                reason = failure.reason(),
                retries,
                duration_ms,
                sampled,
                "not sent: {failure}"
            ),
            Err(problem) => info!(
                request_id,
                tenant_id,
                status = problem.status(),
                parameter = problem.parameter(),
                duration_ms,
                sampled,
                "{}",
                problem.name()
            ),
        }
    }
}
