//! The local HTTP API: Amazon API Gateway, as far as the functions behind it can tell.
//!
//! `nagare up` runs the same handlers that the Lambdas run. In an AWS account an API Gateway HTTP API stands between a browser and
//! those handlers. In the local stack this module does, in one process and on one listener.
//!
//! ```text
//! request ─ head size ─ authorizer ─ (body) ─ admission ─ event (payload 2.0) ─ handler ─ response
//!             431          401       413        429                             500/503
//! ```
//!
//! # What is emulated
//!
//! - **Routes**: those that are read with `GET`, those that are [sent to](Gateway::taking) with `POST`, one for every other request about
//!   tenants, and `$default`. All reach the handler. It passes them to the function [behind the route](Answerer), which answers 404 and
//!   405 itself.
//! - **Payload format 2.0** of events and responses. An event is built as the JSON that AWS documents and read by the parser that the
//!   Lambda runtime uses, so that the handler sees what it would see there.
//! - **The JWT authorizer**, on every route: a bearer token, its signature, `exp`, `nbf`, `iat`. Like the real one it never compares
//!   the caller with the path: the handler does.
//! - **Quotas**: 10,240 bytes of request line and headers, 30 seconds, and a body as large as an event of Lambda can hold.
//! - **Throttling** as a concurrency limit: a number of requests in flight, a short queue behind them, and 429 for the rest.
//! - **CORS**, where it is [asked for](Gateway::with_cors): [`cors`].
//! - **A failing function**: its error, its panic and its invalid answer are a 500 without internals.
//!
//! # What is not, or differs
//!
//! - Tokens are HS256 with a key of this process. The real authorizer takes RSA keys from an issuer and checks `iss`, `aud` and the
//!   route's scopes (`scopes` is absent here, as it is there for a route without any), and takes a token without the word `Bearer`,
//!   too.
//! - Refusals are problem documents (RFC 9457), as in the rest of Nagare's API; the real gateway says `{"message":"…"}`.
//! - `rawPath` is the path as it was sent. A real HTTP API decodes it, so a handler that has to work on both reads `pathParameters`.
//! - `GET /openapi.yaml` is answered with the API's description.
//! - With CORS, refusals carry its headers too; AWS promises them for answers of an integration only.
//! - Throttling counts requests in flight, not requests a second.
//! - Bodies are discarded unread, except those of requests that are sent to a route with `POST`. Such a body is read before a permit
//!   is taken, so nobody holds a permit by not sending it.
//! - A body of 6 MiB is taken as it is. In an event of Lambda it is part of a JSON document, which is to hold no more than that:
//!   there a quotation mark counts twice, and base64 a third more.
//! - There are no TLS, custom domains, stages, access logs, `x-forwarded-*` or `x-amzn-*` headers, and no response is inferred from
//!   something that is not a response.
//! - A caller who hangs up cancels the handler; a Lambda would run to its end.

mod admission;
mod authorizer;
mod body;
pub mod cors;
mod event;
mod hs256;
mod limits;
mod openapi;
pub mod ports;
mod problem;
mod response;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::sync::Arc;

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use axum::Router;
use axum::extract::Request;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderName, HeaderValue};
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;
use time::OffsetDateTime;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::cors::Cors;
use crate::ports::intake::Intake;

pub use self::authorizer::{Authorization, JwtAuthorizer, MintError};
pub use self::event::Answerer;
pub use self::limits::Limits;
pub use self::openapi::OPEN_PATHS;

use self::admission::Admission;
use self::event::{Arrival, Route};
use self::problem::Problem;

/// The header in which API Gateway returns the request's id.
const REQUEST_ID: HeaderName = HeaderName::from_static("apigw-requestid");

/// A random secret of 32 characters, for one run of a stack.
pub fn random_secret() -> String {
    Uuid::new_v4().simple().to_string()
}

/// An HTTP API in front of one handler; see the [module](self).
pub struct Gateway<H> {
    handler: H,
    authorization: Authorization,
    limits: Limits,
    admission: Admission,
    clock: Clock,
    cors: Cors,
    /// Routes that are sent to with `POST`.
    posts: &'static [&'static str],
    bodies: Intake,
}

impl<H, F, E> Gateway<H>
where
    H: Fn(ApiGatewayV2httpRequest) -> F + Send + Sync + 'static,
    F: Future<Output = Result<ApiGatewayV2httpResponse, E>> + Send + 'static,
    E: Display + Send + 'static,
{
    /// Puts an API with the routes of the readers in front of `handler`.
    pub fn new(handler: H, authorization: Authorization, limits: Limits) -> Self {
        Self {
            handler,
            authorization,
            admission: Admission::new(&limits),
            limits,
            clock: Clock::system(),
            cors: Cors::default(),
            posts: &[],
            bodies: Intake::up_to(event_intake::MOST_BYTES),
        }
    }

    /// Adds routes that are sent to with `POST`. The handler gets their bodies.
    #[must_use]
    pub fn taking(self, posts: &'static [&'static str]) -> Self {
        Self { posts, ..self }
    }

    /// Takes the time for tokens and events from `clock` instead of the system.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Lets web pages call the API.
    #[must_use]
    pub fn with_cors(self, cors: Cors) -> Self {
        Self { cors, ..self }
    }

    /// The API as a router.
    ///
    /// If it is served by `into_make_service_with_connect_info::<SocketAddr>()`, events carry the caller's address; otherwise they
    /// carry 127.0.0.1.
    pub fn router(self) -> Router {
        let (cors, document) = (self.cors.clone(), openapi::document(&self.authorization));
        let gateway = Arc::new(self);
        let serve = move |request| serve(Arc::clone(&gateway), request);
        let description = get(move || async { document }).fallback(serve.clone());
        let router = Router::new().route(openapi::PATH, description).fallback(serve);
        match cors.is_on() {
            true => router.layer(middleware::from_fn_with_state(cors, cors::apply)),
            false => router,
        }
    }

    async fn answer(self: Arc<Self>, request: Request, id: Uuid) -> Result<Response, Problem> {
        let (head, body) = request.into_parts();
        let route = Route::of(&head, self.posts);
        let mut body = body::Unread::new(body, &head.headers);
        let now = time_of(self.clock.now());

        self.limits.check_head(&head)?;
        let claims = self.authorization.claims(&head.headers, now.unix_timestamp())?;
        let sent = match route.has_body() {
            true => Some(body.read(&self.bodies).await?),
            false => None,
        };
        drop(body);
        let _permit = self.admission.enter().await?;

        let sent = sent.as_ref().map(|taken| taken.bytes.as_slice());
        let event = Arrival { id, now, claims, head: &head, body: sent }.into_event(&route);
        let answer = self.invoke(event.map_err(|error| fault(id, &error))?, id).await?;
        response::from_answer(answer).map_err(|error| fault(id, &error))
    }

    /// Runs the handler in a task of its own, so that a panic ends the invocation and not the
    /// connection. Dropping the set aborts the task: nothing outlives its request.
    async fn invoke(
        self: &Arc<Self>,
        event: ApiGatewayV2httpRequest,
        id: Uuid,
    ) -> Result<ApiGatewayV2httpResponse, Problem> {
        let gateway = Arc::clone(self);
        let mut invocation = JoinSet::new();
        invocation.spawn(async move { (gateway.handler)(event).await });

        match tokio::time::timeout(self.limits.integration_timeout, invocation.join_next()).await {
            Ok(Some(Ok(Ok(answer)))) => Ok(answer),
            Ok(Some(Ok(Err(error)))) => Err(fault(id, &error)),
            Ok(Some(Err(panic))) => Err(fault(id, &panic)),
            Ok(None) => Err(fault(id, &"the handler was never run")),
            Err(_elapsed) => {
                tracing::error!(request_id = %id, "the handler did not answer in time");
                Err(Problem::integration_timed_out())
            }
        }
    }
}

async fn serve<H, F, E>(gateway: Arc<Gateway<H>>, request: Request) -> Response
where
    H: Fn(ApiGatewayV2httpRequest) -> F + Send + Sync + 'static,
    F: Future<Output = Result<ApiGatewayV2httpResponse, E>> + Send + 'static,
    E: Display + Send + 'static,
{
    let id = Uuid::new_v4();
    let mut response =
        gateway.answer(request, id).await.unwrap_or_else(IntoResponse::into_response);
    if let Ok(value) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

fn time_of(now: Timestamp) -> OffsetDateTime {
    let nanos = i128::from(now.unix_millis()) * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// Logs what went wrong; the answer says only that something did.
fn fault(id: Uuid, error: &dyn Display) -> Problem {
    tracing::error!(request_id = %id, %error, "the request could not be answered");
    Problem::internal()
}
