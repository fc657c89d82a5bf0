//! How much one request, and all requests together, may take.

use std::time::Duration;

use http::request::Parts;

use super::problem::Problem;

/// The API's limits. The defaults are API Gateway's quotas for HTTP APIs, and a concurrency that a
/// laptop can take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of request line and headers.
    pub head_bytes: usize,
    /// How long the handler may take.
    pub integration_timeout: Duration,
    /// Requests in flight at once.
    pub in_flight: usize,
    /// Requests that wait for one of those to end.
    pub queued: usize,
    /// How long they wait before they are refused.
    pub queue_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 10_240,
            integration_timeout: Duration::from_secs(30),
            in_flight: 256,
            queued: 64,
            queue_timeout: Duration::from_secs(1),
        }
    }
}

impl Limits {
    pub(super) fn check_head(&self, head: &Parts) -> Result<(), Problem> {
        if head_bytes(head) > self.head_bytes {
            return Err(Problem::head_too_large());
        }
        Ok(())
    }
}

/// The bytes of request line and headers on the wire, give or take optional white space.
fn head_bytes(head: &Parts) -> usize {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let request_line = head.method.as_str().len() + target + "  HTTP/1.1\r\n".len();
    let header = |name: &str, value: &[u8]| name.len() + value.len() + ": \r\n".len();
    let headers = head.headers.iter().map(|(name, value)| header(name.as_str(), value.as_bytes()));
    request_line + headers.sum::<usize>()
}
