//! Bodies of requests: read where they are wanted, and otherwise discarded.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use futures::StreamExt;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};

use super::problem::Problem;
use crate::ports::intake::{Intake, Refused, Taken};

/// How much of a body is discarded, in bytes: a caller who is cut off while sending may never see the answer.
const MOST: usize = 16 * 1024 * 1024;
/// How long a body is discarded.
const LONGEST: Duration = Duration::from_secs(2);

/// The body of a request. What is unread when it is dropped is discarded in the background.
pub(super) struct Unread {
    body: Option<Body>,
    length: Option<usize>,
    /// True if the caller waits for permission to send the body (`Expect`). It gets the answer instead.
    asks: bool,
}

impl Unread {
    pub(super) fn new(body: Body, headers: &HeaderMap) -> Self {
        let length =
            headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let asks = headers.contains_key(EXPECT);
        Self { body: (!body.is_end_stream()).then_some(body), length, asks }
    }

    /// Reads the body to its end. Refuses it at once if its length is said to be too large.
    pub(super) async fn read(&mut self, bodies: &Intake) -> Result<Taken, Problem> {
        if self.length.is_some_and(|length| !bodies.takes(length)) {
            return Err(Problem::body_refused(Refused::TooLarge));
        }
        let body = self.body.take().unwrap_or_default();
        bodies.read(body).await.map_err(Problem::body_refused)
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|_| !self.asks) {
            tokio::spawn(tokio::time::timeout(LONGEST, discard(body)));
        }
    }
}

/// Reads a body piece by piece.
async fn discard(body: Body) {
    let (mut pieces, mut seen) = (body.into_data_stream(), 0);
    while let (true, Some(Ok(piece))) = (seen < MOST, pieces.next().await) {
        seen += piece.len();
    }
}
