//! Traces for OpenTelemetry: off unless the environment names a collector.
//!
//! An invocation is a span. Each log line in it with `duration_ms` is a child span with the fields of the line as its attributes, and any
//! other line is an event of the invocation's span: so a trace has the content of the log, and no more. It is sent to the collector in one
//! request, as OTLP's JSON over HTTP, before the invocation returns. If the collector does not accept it within [`PATIENCE`], that is only
//! logged.
//!
//! OpenTelemetry's own crates do the same with 29 crates and 1.3 MB more in each function, which every cold start pays for
//! whether traces are on or off (docs/OPERATIONS.md, "Traces"). One request of a fixed form needs none of them.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tokio::task_local;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::platform::runtime::clock::Clock;
use crate::platform::runtime::env::{self, EnvError};
use crate::platform::runtime::invocation::Invocation;
use crate::platform::values::Timestamp;

/// The timeout of a collector.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// Lines of one invocation that are part of its trace, at most.
const MOST_LINES: usize = 128;
/// The path of traces, below the address of a collector.
const PATH: &str = "/v1/traces";
const DURATION: &str = "duration_ms";

/// Kinds and states, by the numbers that OTLP gives them.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const FAILED: u8 = 2;

task_local! {
    static LINES: RefCell<Vec<Line>>;
}

/// A line that was logged.
struct Line {
    at: Timestamp,
    is_failure: bool,
    message: String,
    duration_ms: Option<f64>,
    attributes: Vec<Value>,
}

/// The share of invocations with a trace, from 0 to 1. It decides by the id of the trace, so that all parts of a trace are kept or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TracedShare(f64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a number from 0 to 1")]
pub struct ShareError;

/// Where traces go, if they go anywhere. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Traces(Option<Arc<Collector>>);

#[derive(Debug)]
struct Collector {
    connector: SharedHttpConnector,
    url: String,
    service: String,
    share: TracedShare,
    clock: Clock,
}

impl Traces {
    /// As the environment says, under the names that OpenTelemetry gives its variables.
    ///
    /// # Errors
    /// [`EnvError`] if the share is none.
    pub fn of_environment() -> Result<Self, EnvError> {
        let Some(endpoint) = env::optional(env::OTLP_ENDPOINT) else { return Ok(Self(None)) };
        let share = env::parsed_or(env::TRACED_SHARE, TracedShare::ALL)?;
        let service = env::optional(env::FUNCTION_NAME).unwrap_or_else(|| "nagare".to_owned());
        let settings = HttpConnectorSettings::builder();
        let settings = settings.connect_timeout(PATIENCE).read_timeout(PATIENCE).build();
        let connector = Connector::builder()
            .connector_settings(settings)
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build();
        let connector = SharedHttpConnector::new(connector);
        Ok(Self::to(connector, &endpoint, service, share, Clock::system()))
    }

    /// To a collector at this address, over this connector.
    #[must_use]
    pub fn to(
        connector: SharedHttpConnector,
        endpoint: &str,
        service: String,
        share: TracedShare,
        clock: Clock,
    ) -> Self {
        let url = format!("{}{PATH}", endpoint.trim_end_matches('/'));
        Self(Some(Arc::new(Collector { connector, url, service, share, clock })))
    }

    /// Runs work in an invocation, and sends its trace if it is sampled.
    pub async fn within<T>(&self, invocation: Invocation, work: impl Future<Output = T>) -> T {
        let Some(collector) = &self.0 else { return invocation.scope(work).await };
        let trace = Trace::of(&invocation);
        if !collector.share.takes(&trace.id) {
            return invocation.scope(work).await;
        }
        let begun = collector.clock.now();
        let traced = async {
            let answer = invocation.clone().scope(work).await;
            (answer, LINES.with(RefCell::take))
        };
        let (answer, lines) = LINES.scope(RefCell::default(), traced).await;
        let body = collector.spans(&trace, &invocation, begun, lines).to_string();
        if let Err(problem) = collector.send(body).await {
            invocation.scope(async { tracing::warn!("a trace was not taken: {problem}") }).await;
        }
        answer
    }
}

/// The ids that the spans of an invocation have.
struct Trace {
    id: String,
    parent: Option<String>,
    span: String,
}

impl Trace {
    fn of(invocation: &Invocation) -> Self {
        let (id, parent) = invocation.trace();
        let id = id.unwrap_or_else(|| format!("{:032x}", fastrand::u128(1..)));
        Self { id, parent, span: span_id() }
    }
}

impl Collector {
    /// The spans of an invocation, as OTLP writes them.
    fn spans(
        &self,
        trace: &Trace,
        invocation: &Invocation,
        begun: Timestamp,
        lines: Vec<Line>,
    ) -> Value {
        let (spans, events): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| line.duration_ms.is_some());
        let failed = spans.iter().chain(&events).any(|line| line.is_failure);
        let mut attributes = Vec::new();
        if let Some(id) = invocation.request_id() {
            attributes.push(attribute("faas.invocation_id", json!({"stringValue": id})));
        }
        let mut root = json!({
            "traceId": trace.id, "spanId": trace.span, "name": self.service, "kind": SERVER,
            "startTimeUnixNano": nanos(begun, 0.0), "endTimeUnixNano": nanos(self.clock.now(), 0.0),
            "attributes": attributes, "events": events.into_iter().map(event).collect::<Vec<_>>(),
            "status": status(failed),
        });
        if let Some(parent) = &trace.parent {
            root["parentSpanId"] = parent.as_str().into();
        }
        let mut all = vec![root];
        all.extend(spans.into_iter().map(|line| span(trace, line)));
        let service = attribute("service.name", json!({"stringValue": self.service}));
        json!({"resourceSpans": [{
            "resource": {"attributes": [service]},
            "scopeSpans": [{"scope": {"name": "nagare"}, "spans": all}],
        }]})
    }

    async fn send(&self, body: String) -> Result<(), String> {
        let request = http::Request::post(&self.url).header("content-type", "application/json");
        let request = request.body(SdkBody::from(body)).map_err(|e| e.to_string())?;
        let request = HttpRequest::try_from(request).map_err(|e| e.to_string())?;
        let answered = tokio::time::timeout(PATIENCE, self.connector.call(request)).await;
        let answer = answered.map_err(|_| "no answer in time".to_owned())?;
        match answer.map_err(|e| e.to_string())?.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("status {status}")),
        }
    }
}

fn span(trace: &Trace, line: Line) -> Value {
    json!({
        "traceId": trace.id, "spanId": span_id(), "parentSpanId": trace.span,
        "name": line.message, "kind": INTERNAL,
        "startTimeUnixNano": nanos(line.at, -line.duration_ms.unwrap_or(0.0)),
        "endTimeUnixNano": nanos(line.at, 0.0),
        "attributes": line.attributes, "status": status(line.is_failure),
    })
}

fn event(line: Line) -> Value {
    json!({"name": line.message, "timeUnixNano": nanos(line.at, 0.0), "attributes": line.attributes})
}

fn status(failed: bool) -> Value {
    if failed { json!({"code": FAILED}) } else { json!({}) }
}

fn span_id() -> String {
    format!("{:016x}", fastrand::u64(1..))
}

/// Some milliseconds after an instant, in nanoseconds since 1970: as text, since a number of JSON does not hold them.
fn nanos(at: Timestamp, plus_millis: f64) -> String {
    let nanos = i128::from(at.unix_millis()) * 1_000_000 + (plus_millis * 1e6) as i128;
    nanos.max(0).to_string()
}

fn attribute(key: &str, value: Value) -> Value {
    json!({"key": key, "value": value})
}

impl TracedShare {
    /// Every invocation has a trace.
    pub const ALL: Self = Self(1.0);

    /// Whether a trace with this id is kept: by its last 56 bits, as OpenTelemetry's samplers decide.
    fn takes(self, trace_id: &str) -> bool {
        const BITS: f64 = (1_u64 << 56) as f64;
        let last = trace_id.get(trace_id.len().saturating_sub(14)..);
        let last = last.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        last.is_some_and(|last| (last as f64) < self.0 * BITS)
    }
}

impl FromStr for TracedShare {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        share.map(Self).ok_or(ShareError)
    }
}

/// Keeps the lines of an invocation for its trace.
#[derive(Debug, Clone, Copy, Default)]
pub struct TracedLines;

impl<S: Subscriber> Layer<S> for TracedLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let _ = LINES.try_with(|lines| {
            let mut lines = lines.borrow_mut();
            if lines.len() < MOST_LINES {
                lines.push(Line::of(event));
            }
        });
    }
}

impl Line {
    fn of(event: &Event<'_>) -> Self {
        let is_failure = *event.metadata().level() <= Level::WARN;
        let (at, message) = (Clock::system().now(), String::new());
        let mut line = Self { at, is_failure, message, duration_ms: None, attributes: Vec::new() };
        event.record(&mut line);
        line
    }

    fn add(&mut self, field: &Field, value: Value) {
        self.attributes.push(attribute(field.name(), value));
    }
}

impl Visit for Line {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == DURATION {
            self.duration_ms = Some(value);
        } else {
            self.add(field, json!({"doubleValue": value}));
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, json!({"intValue": value.to_string()}));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, json!({"intValue": value.to_string()}));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, json!({"boolValue": value}));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, json!({"stringValue": value}));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.add(field, json!({"stringValue": format!("{value:?}")}));
        }
    }
}

#[cfg(test)]
mod tests;
