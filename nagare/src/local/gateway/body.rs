//! Discards bodies that nobody reads.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use futures::StreamExt;
use http::HeaderMap;
use http::header::EXPECT;

/// A caller who is cut off while sending may never get to see the answer, so this much is taken from it,
const MOST: usize = 16 * 1024 * 1024;
/// for this long.
const LONGEST: Duration = Duration::from_secs(2);

/// Reads a body piece by piece and discards it. Nobody waits for that.
pub(super) fn discard(body: Body, headers: &HeaderMap) {
    // A caller that asks before sending a body gets the answer instead.
    if body.is_end_stream() || headers.contains_key(EXPECT) {
        return;
    }
    tokio::spawn(tokio::time::timeout(LONGEST, async move {
        let (mut pieces, mut seen) = (body.into_data_stream(), 0);
        while let (true, Some(Ok(piece))) = (seen < MOST, pieces.next().await) {
            seen += piece.len();
        }
    }));
}
