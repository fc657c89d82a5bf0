//! Reading as a viewer reads, and what it cost.
//!
//! The console does not ask the stack's HTTP API: an operator has no tokens of other people, and an answer of the
//! API does not say what it cost. It runs the reader's own code on the stack's tables, with the permissions of
//! whoever runs the console, and counts the calls at the SDK's edge. So a page here is the page that the viewer
//! gets, on an account too, whatever its API demands of callers. Each answer is read anew, with nothing kept from
//! the answer before: the cost is that of a reader that has just started.
//!
//! Units are what the tables report. A call that is signed cannot be changed below the signature, so on an account
//! nobody asks for them, and only calls and milliseconds are known.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector,
    http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use axum::body::{Body, to_bytes};
use form_urlencoded::Serializer;
use http::{Request, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use shared::crypto::seal::Secrets;
use shared::paging::CursorSeal;
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::hold::Hold;
use shared::runtime::metrics::Metrics;
use timeline_reader::{LogSampling, ROUTES, Reader, RequestMetrics};
use tower::ServiceExt;

use crate::client::remote::Remote;
use crate::failure::Failure;
use crate::local::consumed;
use crate::local::data_dir::random_secret;
use crate::local::gateway::{Authorization, Gateway, Limits};

/// What is escaped in a segment of a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// One in so many requests has a log line.
const RARELY: &str = "4294967295";
/// No answer of the API is longer.
const LONGEST: usize = 8 << 20;

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// Calls of the tables.
    pub(super) calls: u32,
    /// Read units, where the tables were asked for them.
    pub(super) units: Option<f64>,
    /// From the question to the answer, inside this process.
    pub(super) took: Duration,
}

/// An answer of the API.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Read {
    pub(super) body: Value,
    pub(super) cost: Cost,
}

/// Reads the API's paths.
pub(super) struct Reads {
    /// The client of the tables without the counting.
    client: aws_sdk_dynamodb::Client,
    seal: CursorSeal,
    silence: LogSampling,
}

/// What was counted so far.
#[derive(Debug, Clone, Default)]
struct Meter(Arc<Mutex<(u32, f64)>>);

impl Reads {
    /// Over the tables of a stack.
    ///
    /// # Errors
    /// [`Failure::No`] if no secret for cursors can be made.
    pub(super) fn of(client: &aws_sdk_dynamodb::Client) -> Result<Self, Failure> {
        // Cursors of the console are its own: nobody gives it the stack's secret.
        let secret = random_secret();
        let secrets = Secrets::new(secret.as_bytes()).map_err(|e| Failure::No(e.to_string()))?;
        let silence = RARELY.parse().map_err(|e| Failure::No(format!("{RARELY}: {e}")))?;
        Ok(Self { client: client.clone(), seal: CursorSeal::new(&secrets), silence })
    }

    /// What the API answers for a path, given by its segments: nothing for what is not there.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what the API calls bad input, [`Failure::Unreachable`] if the tables do not answer.
    pub(super) async fn find(
        &self,
        remote: &Remote,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Option<Read>, Failure> {
        let (begun, meter) = (Instant::now(), Meter::default());
        let path: String = path.iter().map(|segment| format!("/{}", escaped(segment))).collect();
        let query = Serializer::new(String::new()).extend_pairs(query).finish();
        let request = Request::get(format!("{path}?{query}")).body(Body::empty());
        let request = request.map_err(|e| Failure::Usage(e.to_string()))?;
        let router = self.gateway(remote, &meter)?.router();
        let Ok(response) = router.oneshot(request).await;
        let status = response.status();
        let body = to_bytes(response.into_body(), LONGEST).await;
        let body = body.map_err(|e| Failure::Unreachable(e.to_string()))?;
        let body: Value = serde_json::from_slice(&body)
            .map_err(|e| Failure::Unreachable(format!("the answer is no JSON: {e}")))?;
        match status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            status => return Err(refusal(status, &body)),
        }
        let (calls, units) = meter.read();
        let units = remote.is_local().then_some(units);
        Ok(Some(Read { body, cost: Cost { calls, units, took: begun.elapsed() } }))
    }

    /// The same for what is always there.
    ///
    /// # Errors
    /// As those of [`Reads::find`].
    pub(super) async fn get(
        &self,
        remote: &Remote,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Read, Failure> {
        let read = self.find(remote, path, query).await?;
        read.ok_or_else(|| Failure::No("the API has no such path".to_owned()))
    }

    fn gateway(
        &self,
        remote: &Remote,
        meter: &Meter,
    ) -> Result<Gateway<impl Fn(ApiGatewayV2httpRequest) -> Answering + use<>>, Failure> {
        let config = self.client.config();
        let inside = config.http_client();
        let inside = inside.ok_or_else(|| Failure::No("there is no HTTP client".to_owned()))?;
        let metered = meter.around(inside, remote.is_local());
        let config = config.to_builder().http_client(metered).build();
        let tables = remote.tables(aws_sdk_dynamodb::Client::from_conf(config))?;
        let reader = Reader {
            ledger: tables.ledger,
            facts: tables.facts,
            views: tables.views,
            timelines: tables.timelines,
            kept: Arc::default(),
            hold: Hold::default(),
            seal: self.seal.clone(),
            authorization: timeline_reader::Authorization::Open,
            retention: remote.retention()?,
            metrics: RequestMetrics::new(Metrics::off()),
            // What the console reads is none of the stack's requests.
            log_sampling: self.silence,
            clock: Clock::system(),
        };
        let handler = move |event: ApiGatewayV2httpRequest| -> Answering {
            let reader = reader.clone();
            Box::pin(async move {
                let deadline = Deadline::after(timeline_reader::PATIENCE);
                Ok::<_, Infallible>(reader.handle(&event, deadline).await)
            })
        };
        Ok(Gateway::new(handler, ROUTES, Authorization::Open, Limits::default()))
    }
}

/// What the reader is about to answer.
type Answering = futures::future::BoxFuture<
    'static,
    Result<aws_lambda_events::apigw::ApiGatewayV2httpResponse, Infallible>,
>;

impl Meter {
    fn read(&self) -> (u32, f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, units: f64) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.0 += 1;
        counted.1 += units;
    }

    /// A client that counts what another does, and asks the tables for units if it may.
    fn around(&self, inside: SharedHttpClient, asks: bool) -> SharedHttpClient {
        let meter = self.clone();
        http_client_fn(move |settings, components| {
            let inside = inside.http_connector(settings, components);
            SharedHttpConnector::new(Metered { inside, asks, meter: meter.clone() })
        })
    }
}

/// A connector whose calls are counted.
#[derive(Debug)]
struct Metered {
    inside: SharedHttpConnector,
    asks: bool,
    meter: Meter,
}

impl HttpConnector for Metered {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let asking = request.body().bytes().filter(|_| self.asks).and_then(consumed::asking);
        if let Some(body) = asking {
            request.headers_mut().insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body);
        }
        let (call, meter) = (self.inside.call(request), self.meter.clone());
        let asks = self.asks;
        HttpConnectorFuture::new(async move {
            let mut answer = call.await?;
            if !asks {
                meter.add(0.0);
                return Ok(answer);
            }
            // The body comes over a connection: it is read here, and handed on whole.
            let body = std::mem::replace(answer.body_mut(), SdkBody::empty());
            let body = consumed::whole(body).await?;
            meter.add(consumed::consumed(&body).into_iter().map(|(_, units)| units).sum());
            *answer.body_mut() = SdkBody::from(body);
            Ok(answer)
        })
    }
}

fn escaped(segment: &str) -> String {
    utf8_percent_encode(segment, ESCAPED).to_string()
}

/// The failure for a problem that the reader answered.
fn refusal(status: StatusCode, body: &Value) -> Failure {
    let detail = body["detail"].as_str().unwrap_or("no reason given");
    let sentence = format!("{status}: {detail}");
    match status {
        StatusCode::BAD_REQUEST => Failure::Usage(sentence),
        StatusCode::FORBIDDEN => Failure::No(sentence),
        _ => Failure::Unreachable(sentence),
    }
}
