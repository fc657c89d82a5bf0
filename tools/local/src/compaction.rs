//! `POST /local/compact`, for `nagare forget`: takes what was erased out of the files of a data
//! directory.
//!
//! It is served on the queue's port, and refuses web pages, as [the clock](crate::control) does.
//! Streams carry what was erased until they are worked off, so that is waited for; records that
//! come meanwhile do not. A request is answered after [`PATIENCE`] at the latest: 200 once all is
//! done, or 202, after which the caller asks again.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use http::header::{CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, StatusCode};
use nagare_client::local_stack::COMPACT_PATH;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::engine::Engine;
use crate::sqs::Queues;

/// How long a request waits. Below the deadline of a call.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often to look whether streams have been worked off.
const INTERVAL: Duration = Duration::from_millis(20);

type Work = JoinHandle<Result<(), String>>;

#[derive(Clone)]
struct Compaction {
    engine: Engine,
    queues: Queues,
    running: Arc<Mutex<Option<Work>>>,
}

pub(super) fn router(engine: Engine, queues: Queues) -> Router {
    let state = Compaction { engine, queues, running: Arc::default() };
    Router::new().route(COMPACT_PATH, post(compact)).with_state(state)
}

async fn compact(State(it): State<Compaction>, headers: HeaderMap) -> StatusCode {
    let is_json = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if headers.contains_key(ORIGIN) || !is_json {
        return StatusCode::FORBIDDEN;
    }
    if !it.engine.is_on_disk() {
        return StatusCode::OK;
    }
    let mut running = it.running.lock().await;
    let work = running.get_or_insert_with(|| tokio::spawn(it.clone().work()));
    let Ok(done) = tokio::time::timeout(PATIENCE, work).await else { return StatusCode::ACCEPTED };
    *running = None;
    match done.unwrap_or_else(|panic| Err(panic.to_string())) {
        Ok(()) => StatusCode::OK,
        Err(failure) => {
            tracing::error!("what was erased is still in the files: {failure}");
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

impl Compaction {
    async fn work(self) -> Result<(), String> {
        let text = |failure: crate::engine::EngineError| failure.to_string();
        let ends = self.engine.stream_ends().map_err(text)?;
        while !self.engine.has_worked_off(&ends).map_err(text)? {
            tokio::time::sleep(INTERVAL).await;
        }
        let work = move || {
            self.engine.compact().map_err(text)?;
            self.queues.compact().map_err(|failure| failure.unredacted())
        };
        tokio::task::spawn_blocking(work).await.map_err(|panic| panic.to_string())?
    }
}
