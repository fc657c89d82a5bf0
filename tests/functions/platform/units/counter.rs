//! What the tables of a world consume.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tests::{World, event, soon, unfinished};
use tokio::time::Instant;

type Wrap = Box<dyn FnOnce(SharedHttpConnector) -> SharedHttpConnector>;

/// Has the tables report what each call consumes, and adds it up.
#[derive(Debug)]
struct Counting {
    inside: SharedHttpConnector,
    used: Arc<Mutex<Units>>,
    on: Arc<AtomicBool>,
    delay: Duration,
    begun: Arc<Mutex<BTreeSet<Instant>>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Units {
    pub(crate) writes: f64,
    pub(crate) reads: f64,
    pub(crate) calls: usize,
    /// Calls that did not report what they consumed: those that were refused.
    pub(crate) silent: usize,
}

impl HttpConnector for Counting {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let operation = target.strip_prefix("DynamoDB_20120810.");
        let Some(operation) = operation.filter(|_| self.on.load(Relaxed)) else {
            return self.inside.call(request);
        };
        let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        body["ReturnConsumedCapacity"] = json!("TOTAL");
        let body = body.to_string();
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
        let reads =
            ["GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"].contains(&operation);
        let (call, used) = (self.inside.call(request), Arc::clone(&self.used));
        let (delay, begun) = (self.delay, Arc::clone(&self.begun));
        HttpConnectorFuture::new(async move {
            begun.lock().unwrap().insert(Instant::now());
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let answer = call.await?;
            let body: Value = serde_json::from_slice(answer.body().bytes().unwrap()).unwrap();
            used.lock().unwrap().add(&body["ConsumedCapacity"], !reads);
            Ok(answer)
        })
    }
}

impl Units {
    fn add(&mut self, consumed: &Value, writes: bool) {
        let tables = consumed.as_array().cloned().unwrap_or_else(|| vec![consumed.clone()]);
        let units: f64 = tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum();
        self.calls += 1;
        self.silent += usize::from(units == 0.0);
        *(if writes { &mut self.writes } else { &mut self.reads }) += units;
    }
}

/// A world that counts the units its tables consume.
pub(crate) struct UnitCounter {
    pub(crate) world: World,
    used: Arc<Mutex<Units>>,
    on: Arc<AtomicBool>,
    begun: Arc<Mutex<BTreeSet<Instant>>>,
}

impl UnitCounter {
    /// The duration of a call to a table that is far away.
    pub(crate) const FAR: Duration = Duration::from_millis(40);

    pub(crate) fn new() -> Self {
        Self::behind(Duration::ZERO)
    }

    /// Over empty tables that are far away: calls that begin at one instant are one round. Needs a paused clock.
    pub(crate) fn far() -> Self {
        Self::behind(Self::FAR)
    }

    fn behind(delay: Duration) -> Self {
        Self::of(delay, World::behind)
    }

    /// Over tables that are reached through what `wrap` makes of them, with functions that tell a bus.
    pub(crate) fn with_bus(wrap: impl FnOnce(SharedHttpConnector) -> SharedHttpConnector) -> Self {
        Self::of(Duration::ZERO, |counted| World::with_bus(|inside| wrap(counted(inside))))
    }

    fn of(delay: Duration, make: impl FnOnce(Wrap) -> World) -> Self {
        let (used, on) = (Arc::<Mutex<Units>>::default(), Arc::new(AtomicBool::new(true)));
        let begun = Arc::<Mutex<_>>::default();
        let (counted, switch, started) = (Arc::clone(&used), Arc::clone(&on), Arc::clone(&begun));
        let world = make(Box::new(move |inside| {
            SharedHttpConnector::new(Counting {
                inside,
                used: counted,
                on: switch,
                delay,
                begun: started,
            })
        }));
        Self { world, used, on, begun }
    }

    /// The units consumed since the last time, which may be none, and in how many rounds of calls.
    pub(crate) fn take_with_rounds(&self) -> (Units, usize) {
        let rounds = std::mem::take(&mut *self.begun.lock().unwrap()).len();
        (std::mem::take(&mut *self.used.lock().unwrap()), rounds)
    }

    /// The units consumed since the last call of this.
    pub(crate) fn take(&self) -> Units {
        let units = std::mem::take(&mut *self.used.lock().unwrap());
        assert!(units.calls > 0 && units.silent == 0, "{units:?}");
        units
    }

    /// Applies commands, and the segments that they are cut into.
    pub(crate) async fn apply(&self, commands: &[Value]) {
        self.world.done(commands).await;
        loop {
            let segments = self.world.take_commands().await;
            if segments.is_empty() {
                return;
            }
            let answer = self.world.writer.handle(event(segments), soon()).await.unwrap();
            assert_eq!(unfinished(&answer), [0_usize; 0]);
        }
    }

    /// Does something without counting.
    pub(crate) async fn uncounted<T>(&self, work: impl AsyncFnOnce(&World) -> T) -> T {
        self.on.store(false, Relaxed);
        let done = work(&self.world).await;
        self.on.store(true, Relaxed);
        done
    }
}
