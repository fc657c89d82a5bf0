//! The log lines of requests: one for each with a problem, and for a sample of the others.
//!
//! Lines of served pages are all alike, and as many as requests. So one in [`LogSampling`] of those without any problem is logged. The
//! id of the request decides, so no state is needed, and all lines about a request are written or none. All others are logged:
//! problems, pages with retried calls, and slow ones.
//!
//! `sampled` is the number of requests that a line stands for, so its sum is the number of requests.

use std::time::Duration;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use function_http::LogSampling;
use shared::platform::dynamo::Usage;
use shared::platform::values::ViewerId;
use tracing::{error, info};

use crate::http::path::Path;
use crate::http::problem::Problem;

/// How a request was answered.
pub(crate) struct Outcome<'a> {
    /// The number of items in the answer, or why there is none.
    pub(crate) items: Result<usize, &'a Problem>,
    pub(crate) usage: Usage,
    pub(crate) took: Duration,
}

impl Outcome<'_> {
    /// True if there was no problem.
    pub(crate) fn is_smooth(&self) -> bool {
        self.items.is_ok() && self.usage.retries == 0 && self.usage.unprocessed == 0
    }

    /// Logs the line, unless it is left out by sampling. Of what the caller sent it has the viewer, if valid, and the name of a wrong
    /// parameter, but no cursor, no token and no text.
    pub(crate) fn log(
        &self,
        event: &ApiGatewayV2httpRequest,
        path: Option<&Path<'_>>,
        sampling: LogSampling,
    ) {
        let request_id = event.request_context.request_id.as_deref();
        let Some(sampled) = sampling.of(self.is_smooth(), self.took, request_id) else { return };
        let viewer = path.and_then(|path| path.parameter("viewer_id", ViewerId::new).ok());
        let viewer_id = viewer.as_ref().map(|viewer| viewer.as_str());
        let duration_ms = self.took.as_secs_f64() * 1e3;
        let Usage { retries, unprocessed, .. } = self.usage;
        match self.items {
            Ok(items) => info!(
                request_id,
                viewer_id,
                status = 200,
                items,
                retries,
                unprocessed,
                duration_ms,
                sampled,
                "served"
            ),
            Err(problem @ Problem::Unread(failure)) => error!(
                request_id,
                viewer_id,
                status = problem.status(),
                reason = failure.reason(),
                retries,
                unprocessed,
                duration_ms,
                sampled,
                "not read: {failure}"
            ),
            Err(problem @ Problem::Unwritten(defect)) => error!(
                request_id,
                viewer_id,
                status = problem.status(),
                duration_ms,
                sampled,
                "read, and cannot be written: {defect}"
            ),
            Err(problem) => info!(
                request_id,
                viewer_id,
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
