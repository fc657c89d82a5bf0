//! Reading as a viewer reads, and what it cost.
//!
//! The console does not ask the stack's HTTP API: an operator has no tokens of other people, and an answer of the
//! API does not say what it cost. It runs the reader's own code on the stack's tables, with the permissions of
//! whoever runs the console, and counts the calls at the SDK's edge. So a page here is the page that the viewer
//! gets, on an account too, whatever its API demands of callers. Each answer is read anew, with nothing kept from
//! the answer before: the cost is that of a reader that has just started.
//!
//! The reader remembers with the ledger what a client was shown that its cursor has no room for. Of the console it does
//! not: a console that only looks writes nothing at all, and one that writes shows the same pages. So after more than a
//! cursor holds, what arrives late, behind what is shown already, comes with the next loading of the page.
//!
//! Units are what the tables report, which they do only where a call asks for it. What is asked for is part of what is
//! signed, so a call to an account is signed again.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector,
    http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use axum::body::{Body, to_bytes};
use form_urlencoded::Serializer;
use function_http::LogSampling;
use function_http::reader::{RequestMetrics, Requests};
use http::{Request, StatusCode};
use nagare_client::clock;
use nagare_client::consumed;
use nagare_client::failure::Failure;
use nagare_client::read_only::{is_reading, operation};
use nagare_client::remote::Remote;
use nagare_client::signer::Signer;
use nagare_gateway::random_secret;
use nagare_gateway::{Answerer, Authorization, Gateway, Limits};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use serde_json::Value;
use shared::platform::crypto::seal::Secrets;
use shared::platform::paging::CursorSeal;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::metrics::Metrics;
use shared::social::follows::IdleViewers;
use timeline_reader::Reader;
use tower::ServiceExt;

/// What is escaped in a segment of a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// One in so many requests has a log line.
const RARELY: &str = "4294967295";
/// No answer of the API is longer.
const LONGEST: usize = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ReadCost {
    pub(super) calls: u32,
    pub(super) units: f64,
    /// From the question to the answer, inside this process.
    pub(super) took: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Read {
    pub(super) body: Value,
    pub(super) cost: ReadCost,
}

pub(super) struct Reads {
    remote: Remote,
    /// The client of the tables without the counting.
    client: aws_sdk_dynamodb::Client,
    /// Signs what is changed on its way to an account.
    signer: Option<Arc<Signer>>,
    seal: CursorSeal,
    silence: LogSampling,
}

/// What was counted so far.
type Meter = Arc<Mutex<Counted>>;

#[derive(Debug, Default)]
struct Counted {
    calls: u32,
    units: f64,
    /// What the tables say if the caller may not read them. A viewer is told no such thing by the API.
    denied: Option<String>,
}

impl Reads {
    /// Over the tables of a stack.
    pub(super) fn new(remote: &Remote) -> Result<Self, Failure> {
        let signer = remote.config().map(|config| Signer::new(config, "dynamodb")).transpose();
        let signer = signer.map_err(|e| Failure::Usage(e.to_string()))?.map(Arc::new);
        // Cursors of the console are its own: nobody gives it the stack's secret.
        let secret = random_secret();
        let secrets = Secrets::new(secret.as_bytes()).map_err(|e| Failure::No(e.to_string()))?;
        let silence = RARELY.parse().map_err(|e| Failure::No(format!("{RARELY}: {e}")))?;
        let (client, seal) = (remote.dynamodb().clone(), CursorSeal::new(&secrets));
        Ok(Self { remote: remote.clone(), client, signer, seal, silence })
    }

    /// What the API answers for a path, given by its segments: nothing for what is not there.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what the API calls bad input, [`Failure::No`] for what is not permitted,
    /// [`Failure::Unreachable`] if the tables do not answer.
    pub(super) async fn find(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Option<Read>, Failure> {
        let (begun, meter) = (Instant::now(), Meter::default());
        let escaped = path.iter().map(|segment| utf8_percent_encode(segment, ESCAPED));
        let path: String = escaped.map(|segment| format!("/{segment}")).collect();
        let query = Serializer::new(String::new()).extend_pairs(query).finish();
        let request = Request::get(format!("{path}?{query}")).body(Body::empty());
        let request = request.map_err(|e| Failure::Usage(e.to_string()))?;
        let router = self.gateway(&meter)?.router();
        let Ok(response) = router.oneshot(request).await;
        let status = response.status();
        let body = to_bytes(response.into_body(), LONGEST).await;
        let body = body.map_err(|e| Failure::Unreachable(e.to_string()))?;
        let body: Value = serde_json::from_slice(&body)
            .map_err(|e| Failure::Unreachable(format!("the answer is no JSON: {e}")))?;
        match status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            status => {
                let denied = counted(&meter).denied.take();
                return Err(denied.map_or_else(|| refusal(status, &body), Failure::No));
            }
        }
        let Counted { calls, units, .. } = *counted(&meter);
        Ok(Some(Read { body, cost: ReadCost { calls, units, took: begun.elapsed() } }))
    }

    /// The same for what is always there.
    pub(super) async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Read, Failure> {
        let read = self.find(path, query).await?;
        read.ok_or_else(|| Failure::No("the API has no such path".to_owned()))
    }

    fn gateway(
        &self,
        meter: &Meter,
    ) -> Result<Gateway<impl Fn(ApiGatewayV2httpRequest) -> Answering + use<>>, Failure> {
        let config = self.client.config();
        let inside = config.http_client();
        let inside = inside.ok_or_else(|| Failure::No("there is no HTTP client".to_owned()))?;
        let metered = metered(inside, Arc::clone(meter), self.signer.clone());
        let config = config.to_builder().http_client(metered).build();
        let tables = self.remote.tables(aws_sdk_dynamodb::Client::from_conf(config))?;
        let requests = Requests {
            authorization: function_http::Authorization::Open,
            claims: function_http::Claims::default(),
            seal: self.seal.clone(),
            metrics: RequestMetrics::new(Metrics::off()),
            // What the console reads is none of the stack's requests.
            log_sampling: self.silence,
            clock: clock::clock(),
        };
        let history = history_reader::Reader {
            ledger: tables.ledger.clone(),
            views: tables.views.clone(),
            events: tables.events,
            objects: None,
            requests: requests.clone(),
        };
        let reader = Reader {
            ledger: tables.ledger,
            facts: tables.facts,
            views: tables.views,
            timelines: tables.timelines,
            records: Arc::default(),
            counts: Arc::default(),
            hold: Hold::default(),
            public_cache_seconds: 0,
            retention: self.remote.retention()?,
            idle_viewers: IdleViewers::off(),
            requests,
        };
        let handler = move |event: ApiGatewayV2httpRequest| -> Answering {
            let (reader, history) = (reader.clone(), history.clone());
            Box::pin(async move {
                Ok::<_, Infallible>(match Answerer::of(&event) {
                    Answerer::HistoryReader => {
                        let deadline = Deadline::after(history_reader::PATIENCE);
                        history.handle(&event, deadline).await
                    }
                    Answerer::TimelineReader | Answerer::EventIntake => {
                        let deadline = Deadline::after(timeline_reader::PATIENCE);
                        reader.handle(&event, deadline).await
                    }
                })
            })
        };
        Ok(Gateway::new(handler, Authorization::Open, Limits::default()))
    }
}

/// What the reader is about to answer.
type Answering = futures::future::BoxFuture<
    'static,
    Result<aws_lambda_events::apigw::ApiGatewayV2httpResponse, Infallible>,
>;

fn counted(meter: &Meter) -> MutexGuard<'_, Counted> {
    meter.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counted {
    /// Counts a call by its answer.
    fn add(&mut self, answer: &[u8]) {
        self.calls += 1;
        self.units += consumed::consumed(answer).into_iter().map(|(_, units)| units).sum::<f64>();
        if let Some(denied) = denied(answer) {
            self.denied = Some(denied);
        }
    }
}

/// A client that counts what another does, and asks the tables for units.
fn metered(
    inside: SharedHttpClient,
    meter: Meter,
    signer: Option<Arc<Signer>>,
) -> SharedHttpClient {
    http_client_fn(move |settings, components| {
        let inside = inside.http_connector(settings, components);
        let (signer, meter) = (signer.clone(), Arc::clone(&meter));
        SharedHttpConnector::new(Metered { inside, signer, meter })
    })
}

#[derive(Debug)]
struct Metered {
    inside: SharedHttpConnector,
    signer: Option<Arc<Signer>>,
    meter: Meter,
}

impl HttpConnector for Metered {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let (inside, signer) = (self.inside.clone(), self.signer.clone());
        let meter = Arc::clone(&self.meter);
        if !is_reading(operation(&request)) {
            // What would be remembered. A reader that finds nothing remembered goes on without it.
            let nothing = HttpResponse::new(StatusCode::OK.into(), SdkBody::from("{}"));
            return HttpConnectorFuture::ready(Ok(nothing));
        }
        HttpConnectorFuture::new(async move {
            if let Some(body) = request.body().bytes().and_then(consumed::asking) {
                if let Some(signer) = signer {
                    signed_again(&mut request, &body, &signer).await?;
                }
                request.headers_mut().insert("content-length", body.len().to_string());
                *request.body_mut() = SdkBody::from(body);
            }
            let mut answer = inside.call(request).await?;
            // The body comes over a connection: it is read here, and handed on whole.
            let body = std::mem::replace(answer.body_mut(), SdkBody::empty());
            let body = consumed::whole(body).await?;
            counted(&meter).add(&body);
            *answer.body_mut() = SdkBody::from(body);
            Ok(answer)
        })
    }
}

/// Puts the signature for another body in the place of the one that a request has.
async fn signed_again(
    request: &mut HttpRequest,
    body: &[u8],
    signer: &Signer,
) -> Result<(), ConnectorError> {
    let url = Url::parse(request.uri()).map_err(|e| ConnectorError::user(e.into()))?;
    for name in ["authorization", "x-amz-date", "x-amz-security-token"] {
        request.headers_mut().remove(name);
    }
    let is_signed = |name: &str| name == "content-type" || name.starts_with("x-amz-");
    let named: Vec<_> = request.headers().iter().filter(|(name, _)| is_signed(name)).collect();
    let signature = signer.headers("POST", &url, &named, body, Clock::system().now()).await;
    for (name, value) in &signature.map_err(|e| ConnectorError::user(e.into()))? {
        let value = value.to_str().map_err(|e| ConnectorError::user(e.into()))?.to_owned();
        request.headers_mut().insert(name.as_str().to_owned(), value);
    }
    Ok(())
}

/// What an answer says is not permitted.
fn denied(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let code = answer["__type"].as_str()?.rsplit('#').next()?;
    let message = answer["message"].as_str().or(answer["Message"].as_str());
    (code == "AccessDeniedException")
        .then(|| format!("not permitted: {}", message.unwrap_or("no reason given")))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use nagare_client::running::Note;
    use nagare_client::target::Target;
    use nagare_local::{Stack, StackConfig};

    /// Tables that nobody may read.
    #[derive(Debug)]
    struct Denying;

    impl HttpConnector for Denying {
        fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
            let body = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"eve is not authorized to perform: dynamodb:Query"}"#;
            let status = StatusCode::BAD_REQUEST.into();
            HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
        }
    }

    #[tokio::test]
    async fn what_is_not_permitted_says_so() {
        let stack = Stack::start(StackConfig::default()).await.unwrap();
        let note = Note::new(stack.port(), stack.environment());
        let remote = Remote::connect(Target::Local(note)).await.unwrap();
        let reads = Reads::new(&remote).unwrap();
        let denying = http_client_fn(|_, _| SharedHttpConnector::new(Denying));
        let config = remote.dynamodb().config().to_builder().http_client(denying).build();
        let client = aws_sdk_dynamodb::Client::from_conf(config);
        let reads = Reads { client, ..reads };
        for path in [["v1", "timelines", "bob"], ["v1", "polls", "mvp"]] {
            let failure = reads.get(&path, &[]).await.unwrap_err();
            let said = "not permitted: eve is not authorized to perform: dynamodb:Query";
            assert_eq!(failure.to_string(), said, "{path:?}");
        }
        stack.shut_down().await;
    }
}
