//! Everything that two readers share: a request to one of their routes in, an answer out.
//!
//! ```text
//! query     query parameters
//! list      lists that are paged by `limit` and `cursor` alone
//! log       the log lines of requests
//! metrics   the metrics of requests
//! ```
//!
//! A reader is a function with [`Routes`]. It declares its routes with [`routes!`](crate::routes), one line for each, and its
//! features answer them.

pub mod list;
mod log;
mod metrics;
pub mod query;

use std::time::Duration;

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use futures::future::BoxFuture;
use shared::platform::dynamo::Dynamo;
use shared::platform::environment::Environment;
use shared::platform::ledger::Ledger;
use shared::platform::paging::CursorSeal;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::{self, EnvError};
use shared::platform::values::{Timestamp, ViewerId};
use tokio::time::Instant;

use crate::auth::{Authorization, Caller, Claims};
use crate::path::{Path, Route};
use crate::preflight;
use crate::problem::Problem;
use crate::response::Shareable;
use crate::sampling::LogSampling;

pub use log::{Answered, RequestLine};
pub use metrics::{METRICS_PAGES, METRICS_WINDOW, RequestMetrics, metric_names};
use query::Parameters;

/// How long a caller waits at most. A page takes milliseconds; a caller that has waited this long should retry.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How a reader treats its requests, whatever their routes are.
#[derive(Debug, Clone)]
pub struct Requests {
    pub authorization: Authorization,
    pub claims: Claims,
    pub seal: CursorSeal,
    /// Where requests are counted.
    pub metrics: RequestMetrics,
    pub log_sampling: LogSampling,
    pub clock: Clock,
}

impl Requests {
    /// Builds the treatment of requests from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, metrics, clock, .. } = environment;
        Ok(Self {
            authorization: variables.parsed_or(env::AUTHORIZATION, Authorization::default())?,
            claims: Claims::among(variables, env::CLAIMS)?,
            seal: CursorSeal::new(&variables.secrets(env::CURSOR_SECRETS)?),
            metrics: RequestMetrics::new(metrics.clone()),
            log_sampling: variables.parsed_or(env::LOG_ONE_IN, LogSampling::ALL)?,
            clock: clock.clone(),
        })
    }
}

/// A reader, by its routes.
pub trait Routes: Clone + Send + Sync {
    /// The paths of `GET` requests, with the names of their parameters in braces.
    const ROUTES: &'static [&'static str];
    /// Paths that come here with every method except `POST`, which another function takes.
    const POSTS: &'static [&'static str] = &[];

    fn requests(&self) -> &Requests;

    fn ledger(&self) -> &Ledger;

    /// The seconds for which caches may keep answers that are the same for everybody; 0: not at all.
    fn public_cache_seconds(&self) -> u8 {
        0
    }

    /// The same reader, with the client of one request.
    fn over(&self, dynamo: &Dynamo) -> Self;

    /// Answers a request to one of the paths.
    fn answer<'a>(
        route: Route,
        cx: &'a Context<'a, Self>,
    ) -> BoxFuture<'a, Result<Shareable, Problem>>;

    fn log(line: &RequestLine<'_>);
}

/// Declares the routes of a reader, and which module answers which of them with its function `get`.
#[macro_export]
macro_rules! routes {
    ($reader:ty: $($template:literal => $feature:ident,)*) => {
        /// The paths of `GET` requests, with the names of their parameters in braces.
        pub const ROUTES: &[&str] = &[$($template,)*];

        /// Answers a request to one of the paths.
        pub(crate) fn answer<'a>(
            route: $crate::path::Route,
            cx: &'a $crate::reader::Context<'a, $reader>,
        ) -> $crate::reader::Answering<'a> {
            $(
                if route == $crate::path::Route($template) {
                    return Box::pin(async move { $feature::get(cx).await.map(Into::into) });
                }
            )*
            Box::pin(async { Err($crate::problem::Problem::NotFound(ROUTES)) })
        }

        impl $reader {
            /// Answers one request. Every problem is an answer.
            ///
            /// Boxed, so that it is compiled here once and not in every program that awaits it.
            pub fn handle<'a>(
                &'a self,
                event: &'a aws_lambda_events::event::apigw::ApiGatewayV2httpRequest,
                deadline: shared::platform::runtime::deadline::Deadline,
            ) -> futures::future::BoxFuture<'a, aws_lambda_events::event::apigw::ApiGatewayV2httpResponse> {
                Box::pin($crate::reader::handle(self, event, deadline))
            }
        }
    };
}

/// The answer to a request, boxed, so that the largest future does not determine the size of all.
pub type Answering<'a> = BoxFuture<'a, Result<Shareable, Problem>>;

/// One request to an existing path.
#[derive(Debug)]
pub struct Context<'a, R> {
    pub event: &'a ApiGatewayV2httpRequest,
    pub path: &'a Path<'a>,
    pub caller: Caller<'a>,
    /// The viewer as whom the caller asks: the one whom the parameter `viewer` names, or the caller.
    pub own: Option<ViewerId>,
    /// True if the parameter `viewer` is given.
    pub is_viewer_named: bool,
    /// The reader, for this request alone: its tables know the deadline and count the usage.
    pub reader: &'a R,
    pub now: Timestamp,
}

impl<R: Routes> Context<'_, R> {
    /// How requests are treated.
    pub fn requests(&self) -> &Requests {
        self.reader.requests()
    }

    /// The viewer whose own part is in an answer that is otherwise the same for everybody: the caller. If caches may keep such
    /// answers, it is only a viewer who is named in the address.
    pub fn own_part(&self) -> Option<&ViewerId> {
        let is_shown = self.is_viewer_named || self.reader.public_cache_seconds() == 0;
        self.own.as_ref().filter(|_| is_shown)
    }
}

/// Answers one request. Every problem is an answer.
pub async fn handle<R: Routes>(
    reader: &R,
    event: &ApiGatewayV2httpRequest,
    deadline: Deadline,
) -> ApiGatewayV2httpResponse {
    if let Some(answer) = preflight::answer(event) {
        return answer;
    }
    let (begun, requests) = (Instant::now(), reader.requests());
    let dynamo = reader.ledger().table().dynamo().for_work(deadline);
    let matched = matched(event, R::ROUTES);
    let result = match &matched {
        Some((route, path)) => read(&reader.over(&dynamo), *route, path, event).await,
        None if self::matched(event, R::POSTS).is_some() => Err(Problem::MethodNotAllowed("POST")),
        None => Err(Problem::NotFound(R::ROUTES)),
    };
    let answered = Answered {
        event,
        path: matched.as_ref().map(|(_, path)| path),
        items: result.as_ref().map(|found| found.answer.items),
        usage: dynamo.usage(),
        took: begun.elapsed(),
    };
    if let Some(line) = answered.line(requests.log_sampling) {
        R::log(&line);
    }
    requests.metrics.count(&answered, requests.clock.now());
    match result {
        Ok(found) => found.into_response(&event.headers, reader.public_cache_seconds()),
        Err(problem) => problem.into_response(),
    }
}

/// The path that an event asks for, if it is one of these.
fn matched<'a>(
    event: &'a ApiGatewayV2httpRequest,
    routes: &'static [&'static str],
) -> Option<(Route, Path<'a>)> {
    routes.iter().find_map(|template| {
        let route = Route(template);
        Some((route, Path::matched(event, route)?))
    })
}

async fn read<R: Routes>(
    reader: &R,
    route: Route,
    path: &Path<'_>,
    event: &ApiGatewayV2httpRequest,
) -> Result<Shareable, Problem> {
    if event.request_context.http.method != "GET" {
        return Err(Problem::MethodNotAllowed("GET"));
    }
    let Requests { authorization, claims, clock, .. } = reader.requests();
    let caller = authorization.caller(event, claims)?;
    // Every route takes it, also where the answer is the same for everybody.
    let parameters = Parameters::parse(event, &["viewer"])?;
    let named = parameters.get("viewer");
    let cx = Context {
        event,
        path,
        own: caller.own(named)?,
        is_viewer_named: named.is_some(),
        caller,
        reader,
        now: clock.now(),
    };
    R::answer(route, &cx).await
}
