//! Bodies of requests: read where they are wanted, and otherwise discarded.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use futures::StreamExt;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};

use super::problem::Problem;
use crate::ports::intake::{Intake, Refused, Taken};

/// A caller who is cut off while sending may never get to see the answer, so this much is taken from it,
const MOST: usize = 16 * 1024 * 1024;
/// for this long.
const LONGEST: Duration = Duration::from_secs(2);

/// A body. What is not read of it until it is dropped is discarded, and nobody waits for that.
pub(super) struct Unread {
    body: Option<Body>,
    length: Option<usize>,
    /// The caller asks before sending a body, and gets the answer instead.
    asks: bool,
}

impl Unread {
    pub(super) fn new(body: Body, headers: &HeaderMap) -> Self {
        let length =
            headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let asks = headers.contains_key(EXPECT);
        Self { body: (!body.is_end_stream()).then_some(body), length, asks }
    }

    /// Reads it to its end. What says that it is too large is not begun.
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
