//! What is logged of a request: a line each for those with trouble, and for a sample of those that went well.
//!
//! Lines of pages that were served all say the same, and there are as many as there are requests. So of those that
//! were served without any trouble one in [`LogSampling`] is logged. The request's id decides which, so that nothing
//! has to be remembered, and so that every line about a request is written or none. All others have their line:
//! problems, pages for which calls were made again, and slow ones.
//!
//! `sampled` says for how many requests a line stands, so sums of it are numbers of requests.

use std::time::Duration;

use api::LogSampling;
use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use shared::dynamo::Usage;
use shared::values::ViewerId;
use tracing::{error, info};

use crate::http::path::Path;
use crate::http::problem::Problem;

/// How a request was answered.
pub(crate) struct Outcome<'a> {
    /// Items in the answer, or why there is none.
    pub(crate) items: Result<usize, &'a Problem>,
    pub(crate) usage: Usage,
    pub(crate) took: Duration,
}

impl Outcome<'_> {
    /// Whether all went as it should.
    pub(crate) fn is_smooth(&self) -> bool {
        self.items.is_ok() && self.usage.retries == 0 && self.usage.unprocessed == 0
    }

    /// Logs the line, if there is to be one. Of what the caller sent it has the viewer, if it is one, and the name of the
    /// parameter that is wrong; no cursor, no token, and no text of theirs.
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
