//! What is logged and counted of a request: one line and one record.

use std::time::Duration;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use metrique::writer::Entry;
use shared::dynamo::Usage;
use shared::runtime::metrics::{Count, Metrics, Record};
use shared::values::{Timestamp, ViewerId};
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

/// A page that was served.
#[derive(Entry)]
#[entry(rename_all = "PascalCase")]
struct Served {
    pages_served: Count,
    items_served: Count,
    /// Inside the function.
    page_latency: Duration,
    /// Calls to the tables that failed and were made again.
    reads_retried: Count,
    /// Keys that the tables gave back unread.
    keys_unprocessed: Count,
}

impl Record for Served {
    const BY: Option<&'static str> = None;
}

/// A problem that was answered instead.
#[derive(Entry)]
#[entry(rename_all = "PascalCase")]
struct Answered {
    problem: &'static str,
    problems: Count,
    reads_retried: Count,
    keys_unprocessed: Count,
}

impl Record for Answered {
    const BY: Option<&'static str> = Some("Problem");
}

impl Outcome<'_> {
    pub(crate) fn count(&self, metrics: &Metrics, now: Timestamp) {
        let (reads_retried, keys_unprocessed) =
            (self.usage.retries.into(), self.usage.unprocessed.into());
        match self.items {
            Ok(items) => metrics.record(
                &Served {
                    pages_served: 1.into(),
                    items_served: (items as u64).into(),
                    page_latency: self.took,
                    reads_retried,
                    keys_unprocessed,
                },
                now,
            ),
            Err(problem) => metrics.record(
                &Answered {
                    problem: problem.name(),
                    problems: 1.into(),
                    reads_retried,
                    keys_unprocessed,
                },
                now,
            ),
        }
    }

    /// Logs the line. Of what the caller sent it has the viewer, if it is one, and the name of the
    /// parameter that is wrong; no cursor, no token, and no text of theirs.
    pub(crate) fn log(&self, event: &ApiGatewayV2httpRequest, path: Option<&Path<'_>>) {
        let request_id = event.request_context.request_id.as_deref();
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
                "not read: {failure}"
            ),
            Err(problem @ Problem::Unwritten(defect)) => error!(
                request_id,
                viewer_id,
                status = problem.status(),
                duration_ms,
                "read, and cannot be written: {defect}"
            ),
            Err(problem) => info!(
                request_id,
                viewer_id,
                status = problem.status(),
                parameter = problem.parameter(),
                duration_ms,
                "{}",
                problem.name()
            ),
        }
    }
}
