//! Reading a request's body, within bounds of space and time.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, Bytes, HttpBody};

use super::limits::Limits;
use super::problem::Problem;

pub(super) async fn read(mut body: Body, limits: &Limits) -> Result<Vec<u8>, Problem> {
    let bytes = read_or_discard(&mut body, limits.body_bytes);
    let bytes = tokio::time::timeout(limits.integration_timeout, bytes).await;
    bytes.unwrap_or_else(|_elapsed| Err(Problem::body_too_slow()))
}

/// A body over the limit is read on for as much again, and thrown away: a caller who is cut off
/// while sending may never get to see the answer.
async fn read_or_discard(body: &mut Body, limit: usize) -> Result<Vec<u8>, Problem> {
    let patience = limit.saturating_mul(2);
    if body.size_hint().lower() > patience as u64 {
        return Err(Problem::body_too_large());
    }

    let mut kept = Vec::new();
    let mut received = 0;
    while let Some(chunk) = next_chunk(body).await? {
        received += chunk.len();
        match received {
            _ if received > patience => break,
            _ if received > limit => kept = Vec::new(),
            _ => kept.extend_from_slice(&chunk),
        }
    }
    if received > limit { Err(Problem::body_too_large()) } else { Ok(kept) }
}

/// The next data of the body, passing over trailers.
async fn next_chunk(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return Ok(None),
            Some(Err(_cut)) => return Err(Problem::body_cut()),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
