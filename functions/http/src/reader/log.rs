//! The log lines of requests: one for each with a problem, and for a sample of the others.
//!
//! Lines of served pages are all alike, and as many as requests. So one in [`LogSampling`] of those without any problem is logged. The
//! id of the request decides, so no state is needed, and all lines about a request are written or none. All others are logged:
//! problems, pages with retried calls, and slow ones.
//!
//! `sampled` is the number of requests that a line stands for, so its sum is the number of requests.

use std::borrow::Cow;
use std::time::Duration;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use shared::platform::dynamo::Usage;

use crate::path::Path;
use crate::problem::Problem;
use crate::sampling::LogSampling;

/// A request, and how it was answered.
#[derive(Debug)]
pub struct Answered<'a> {
    pub event: &'a ApiGatewayV2httpRequest,
    /// `None` if there is no such path.
    pub path: Option<&'a Path<'a>>,
    /// The number of items in the answer, or why there is none.
    pub items: Result<usize, &'a Problem>,
    pub usage: Usage,
    pub took: Duration,
}

impl Answered<'_> {
    /// True if there was no problem.
    pub fn is_smooth(&self) -> bool {
        self.items.is_ok() && self.usage.retries == 0 && self.usage.unprocessed == 0
    }

    /// Its line; `None` if sampling leaves it out.
    pub(super) fn line(&self, sampling: LogSampling) -> Option<RequestLine<'_>> {
        let request_id = self.event.request_context.request_id.as_deref();
        let sampled = sampling.requests_per_line(self.is_smooth(), self.took, request_id)?;
        let line = RequestLine {
            request_id,
            path: self.path,
            is_failure: false,
            status: self.items.as_ref().map_or_else(|problem| problem.status(), |_| 200),
            reason: None,
            parameter: None,
            items: self.items.ok(),
            usage: Some(self.usage),
            took: self.took,
            sampled,
            text: Cow::Borrowed("served"),
        };
        Some(match self.items {
            Ok(_) => line,
            Err(Problem::Unread(failure)) => RequestLine {
                is_failure: true,
                reason: Some(failure.reason()),
                text: format!("not read: {failure}").into(),
                ..line
            },
            Err(Problem::Unwritten(defect)) => RequestLine {
                is_failure: true,
                usage: None,
                text: format!("read, and cannot be written: {defect}").into(),
                ..line
            },
            Err(problem) => RequestLine {
                usage: None,
                parameter: problem.parameter(),
                text: problem.name().into(),
                ..line
            },
        })
    }
}

/// The line of a request. It has the name of a wrong parameter, but no cursor, token or text that the caller sent.
#[derive(Debug)]
pub struct RequestLine<'a> {
    pub request_id: Option<&'a str>,
    /// `None` if there is no such path.
    pub path: Option<&'a Path<'a>>,
    /// True if an operator has to look at it.
    pub is_failure: bool,
    pub status: u16,
    pub reason: Option<&'static str>,
    pub parameter: Option<&'static str>,
    pub items: Option<usize>,
    pub usage: Option<Usage>,
    pub took: Duration,
    /// The number of requests that it stands for.
    pub sampled: u32,
    pub text: Cow<'a, str>,
}

/// Logs a [`RequestLine`] as one of the function that calls this, with a field that says whose data was requested.
#[macro_export]
macro_rules! log_request {
    ($line:expr, $id:ident) => {
        $crate::log_request!($line, $id, info, error)
    };
    ($line:expr, $id:ident, $($level:ident),*) => {{
        let line: &$crate::reader::RequestLine<'_> = $line;
        $(
            if line.is_failure == (stringify!($level) == "error") {
                $crate::tracing::$level!(
                    request_id = line.request_id,
                    $id,
                    status = line.status,
                    reason = line.reason,
                    parameter = line.parameter,
                    items = line.items,
                    retries = line.usage.map(|usage| usage.retries),
                    unprocessed = line.usage.map(|usage| usage.unprocessed),
                    duration_ms = line.took.as_secs_f64() * 1e3,
                    sampled = line.sampled,
                    "{}",
                    line.text
                );
            }
        )*
    }};
}
