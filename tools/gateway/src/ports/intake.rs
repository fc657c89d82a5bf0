//! Reading bodies, within limits of space and time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of bodies that a port holds at once.
const ROOM: usize = 64 * 1024 * 1024;
/// How long one body may take: a program on this machine needs much less.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bodies of one port. Clones share its bound.
#[derive(Debug, Clone)]
pub struct Intake {
    room: Arc<Semaphore>,
    largest: usize,
    patience: Duration,
}

/// The bytes of a body, with the room that they hold until this is dropped.
#[derive(Debug)]
pub struct Taken {
    pub bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

/// Why a body was refused. Sending it again helps only if there was no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("The request's body ended early.")]
    Cut,
    #[error("The request's body did not arrive in time.")]
    TooSlow,
    #[error("The request's body is too large.")]
    TooLarge,
    #[error("The bodies of other requests take all the room there is.")]
    NoRoom,
}

impl Intake {
    /// Takes bodies of at most `largest` bytes.
    pub fn up_to(largest: usize) -> Self {
        Self::bounded(largest, ROOM, PATIENCE)
    }

    pub(super) fn bounded(largest: usize, room: usize, patience: Duration) -> Self {
        Self { room: Arc::new(Semaphore::new(room)), largest, patience }
    }

    /// Whether a body of this length may be taken.
    pub fn takes(&self, length: usize) -> bool {
        length <= self.largest
    }

    /// Reads a body to its end.
    pub async fn read(&self, body: Body) -> Result<Taken, Refused> {
        let read = tokio::time::timeout(self.patience, self.collect(body)).await;
        read.unwrap_or(Err(Refused::TooSlow))
    }

    async fn collect(&self, body: Body) -> Result<Taken, Refused> {
        let mut taken = Taken { bytes: Vec::new(), room: None };
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_cut| Refused::Cut)?;
            if taken.bytes.len() + chunk.len() > self.largest {
                return Err(Refused::TooLarge);
            }
            taken.hold(self.room_for(chunk.len())?);
            taken.bytes.extend_from_slice(&chunk);
        }
        Ok(taken)
    }

    /// Takes room for a body. If there is none, the body does not wait: those that hold some of it might wait for the same.
    fn room_for(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refused> {
        let bytes = u32::try_from(bytes).map_err(|_| Refused::TooLarge)?;
        Arc::clone(&self.room).try_acquire_many_owned(bytes).map_err(|_| Refused::NoRoom)
    }
}

impl Taken {
    fn hold(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
    }
}

impl IntoResponse for Refused {
    /// The response, in the form of AWS's JSON protocols. SDKs retry 503.
    fn into_response(self) -> Response {
        let (status, name) = match self {
            Self::Cut => (StatusCode::BAD_REQUEST, "IncompleteBody"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "RequestTimeout"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge"),
            Self::NoRoom => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
        };
        let body = json!({"__type": name, "message": self.to_string()}).to_string();
        let headers = [(CONTENT_TYPE, "application/x-amz-json-1.0"), (RETRY_AFTER, "1")];
        (status, headers, body).into_response()
    }
}
