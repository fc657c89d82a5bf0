//! The endpoint. It counts batches of entries and refuses what exceeds capacity, and it generates
//! followers; the embedded tables answer everything else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::response::Response;
use nagare_local::engine::Engine;
use nagare_local::schema;
use nagare_local::tables_http::{MAX_REQUEST_BYTES, operation, response};
use tokio::time::Instant;

use super::batch;
use super::capacity::{Capacity, Schedule};
use super::count::{Count, Summary};
use super::followers::FollowersPartition;

const ALL_DONE: &str = r#"{"UnprocessedItems":{}}"#;
const REFUSED: &str = concat!(
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","#,
    r#""message":"The level of configured provisioned throughput for the table was exceeded."}"#
);

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Endpoint(Arc<Inside>);

struct Inside {
    engine: Engine,
    followers: FollowersPartition,
    timelines: String,
    latency: Duration,
    throttle: Mutex<Throttle>,
}

/// Limits and counts the batches.
struct Throttle {
    schedule: Option<Schedule>,
    /// None before the first write, and where there is no schedule.
    capacity: Option<Capacity>,
    count: Count,
}

impl Endpoint {
    pub(super) fn new(
        engine: Engine,
        followers: FollowersPartition,
        schedule: Option<Schedule>,
        count: Count,
        latency: Duration,
    ) -> Self {
        let throttle = Mutex::new(Throttle { schedule, capacity: None, count });
        let timelines = schema::names().timelines;
        Self(Arc::new(Inside { engine, followers, timelines, latency, throttle }))
    }

    /// Serves the protocol at the root.
    pub(super) fn router(&self) -> Router {
        let limit = DefaultBodyLimit::max(MAX_REQUEST_BYTES);
        Router::new().fallback(answer).layer(limit).with_state(self.clone())
    }

    /// The counts so far.
    pub(super) fn summary(&self, cpu_seconds: f64) -> Summary {
        self.0.with_throttle(|throttle| throttle.count.summary(cpu_seconds))
    }
}

async fn answer(State(endpoint): State<Endpoint>, headers: HeaderMap, body: Bytes) -> Response {
    let Endpoint(inside) = endpoint;
    let operation = operation(&headers);
    let short = match operation {
        "BatchWriteItem" => inside.write(&body),
        "Query" => inside.followers.answer(&body).map(|answer| (200, answer)),
        _ => None,
    };
    let (status, answer) = short.unwrap_or_else(|| inside.engine.call(operation, &body));
    if !inside.latency.is_zero() {
        tokio::time::sleep(inside.latency).await;
    }
    response(status, answer)
}

impl Inside {
    /// Accepts what there is capacity for. None if the call is not a valid batch of entries.
    fn write(&self, body: &[u8]) -> Option<(u16, String)> {
        let keys = batch::keys(body, &self.timelines)?;
        let granted = self.with_throttle(|throttle| throttle.admit(&keys, Instant::now()));
        Some(match granted {
            0 => (400, REFUSED.to_owned()),
            all if all == keys.len() => (200, ALL_DONE.to_owned()),
            some => (200, batch::answer(body, &self.timelines, some)?),
        })
    }

    fn with_throttle<T>(&self, work: impl FnOnce(&mut Throttle) -> T) -> T {
        work(&mut self.throttle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Throttle {
    fn admit(&mut self, keys: &[batch::Key<'_>], now: Instant) -> usize {
        if let Some(schedule) = self.schedule.take() {
            self.capacity = Some(Capacity::new(schedule, now));
        }
        let capacity = self.capacity.as_mut();
        let granted = capacity.map_or(keys.len(), |capacity| capacity.take(keys.len(), now));
        self.count.add(keys, granted, now);
        granted
    }
}
