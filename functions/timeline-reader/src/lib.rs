//! The timeline reader: the read side of the HTTP API (docs/openapi.yaml).
//!
//! ```text
//! handle        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   router      which path is read, by which feature
//!   http/       what all features have in common: callers, paths, problems (the crate `function-http`), and
//!     query     query parameters
//!   page/       pages of lists in the order of time
//!   timeline/   a page of one viewer's timeline
//!   activity/   one activity
//!   actor/      a page of what an actor published
//!   likes/      what a viewer likes; how many like an activity
//!   follows/    whom a viewer follows; who follows an actor
//!   poll/       a poll
//!   battle/     a battle; a hit
//!   profile/    a profile
//!   tags/       who is tagged in an activity
//!   tagged/     what somebody is tagged in
//!   room/       the messages of a room
//!   events/     what a customer of a tenant did
//!   archives/   the archives of a tenant's events
//!   customers/  the customers of a tenant, and what they did
//!   names/      the names of events, and how often they happened
//!   refusals/   the events of a tenant that were refused
//!   log         the log lines of requests
//!   metrics     the metrics of requests
//! ```
//!
//! The cost of a page does not grow with the number of follows: an ordinary page is one Query for the entries, a parallel
//! BatchGetItem for who is hidden and what has changed, and at most one for the activities that are not cached.

mod activity;
mod actor;
mod alerts;
mod archives;
mod battle;
mod customers;
pub mod env;
mod events;
mod follows;
mod http;
mod likes;
mod log;
mod metrics;
mod names;
mod notifications;
mod page;
mod poll;
mod profile;
mod refusals;
mod room;
mod router;
mod tagged;
mod tags;
mod timeline;

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use futures::future::BoxFuture;
use shared::history::events::Events;
use shared::platform::dynamo::Dynamo;
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::objects::Objects;
use shared::platform::paging::CursorSeal;
use shared::platform::projection::Views;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{Retention, Timestamp, ViewerId};
use shared::social::activities::RecordCache;
use shared::social::follows::Parking;
use shared::social::likes::LikeCountCache;
use shared::social::timelines::Timelines;
use tokio::time::Instant;

pub use function_http::encoding::COMPRESSED_FROM;
pub use function_http::{Authorization, AuthorizationError, ClaimName, Claims, LogSampling};
use http::auth::Caller;
use http::path::{EVENTS_ROUTE, Path, Route};
use http::preflight;
use http::problem::Problem;
use http::query::Parameters;
use http::response::Shareable;
use log::Outcome;
pub use metrics::{METRICS_PAGES, METRICS_WINDOW, RequestMetrics, metric_names};
pub use router::ROUTES;

/// How long a caller waits at most. A page takes milliseconds; a caller that has waited this long should retry.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The reader. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Reader {
    /// What must not be lost.
    pub ledger: Ledger,
    pub facts: Facts,
    pub views: Views,
    pub timelines: Timelines,
    pub events: Events,
    /// The archives of events, if there are any.
    pub objects: Option<Objects>,
    /// The cache of records. Readers that share it are one process.
    pub records: Arc<RecordCache>,
    /// The cache of counts of likes, likewise.
    pub counts: Arc<LikeCountCache>,
    /// The time within which the reads of a page are of one moment. The same as the writers' hold.
    pub hold: Hold,
    pub seal: CursorSeal,
    pub authorization: Authorization,
    /// The seconds for which caches may keep answers that are the same for everybody; 0: not at all.
    pub public_cache_seconds: u8,
    pub claims: Claims,
    pub retention: Retention,
    /// Whether viewers are parked.
    pub parking: Parking,
    /// Where requests are counted.
    pub metrics: RequestMetrics,
    pub log_sampling: LogSampling,
    pub clock: Clock,
}

/// One request to an existing path.
pub(crate) struct Context<'a> {
    pub(crate) event: &'a ApiGatewayV2httpRequest,
    pub(crate) path: &'a Path<'a>,
    pub(crate) caller: Caller<'a>,
    /// The viewer as whom the caller asks: the one whom the parameter `viewer` names, or the caller.
    pub(crate) own: Option<ViewerId>,
    /// True if the parameter `viewer` is given.
    pub(crate) is_viewer_named: bool,
    /// The reader, for this request alone: its tables know the deadline and count the usage.
    pub(crate) reader: &'a Reader,
    pub(crate) now: Timestamp,
}

impl Context<'_> {
    /// The viewer whose own part is in an answer that is otherwise the same for everybody: the caller. If caches may keep such
    /// answers, it is only a viewer who is named in the address.
    pub(crate) fn own_part(&self) -> Option<&ViewerId> {
        let is_shown = self.is_viewer_named || self.reader.public_cache_seconds == 0;
        self.own.as_ref().filter(|_| is_shown)
    }
}

impl Reader {
    /// Answers one request. Every problem is an answer.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    pub fn handle<'a>(
        &'a self,
        event: &'a ApiGatewayV2httpRequest,
        deadline: Deadline,
    ) -> BoxFuture<'a, ApiGatewayV2httpResponse> {
        Box::pin(async move {
            if let Some(answer) = preflight::answer(event) {
                return answer;
            }
            let begun = Instant::now();
            let dynamo = self.ledger.table().dynamo().for_work(deadline);
            let matched = router::matched(event);
            let result = match &matched {
                Some((route, path)) => self.over(&dynamo).read(*route, path, event).await,
                // Only `POST` of this path goes to the intake; everything else comes here.
                None if Path::of(event, Route(EVENTS_ROUTE)).is_some() => {
                    Err(Problem::MethodNotAllowed("POST"))
                }
                None => Err(Problem::NotFound(ROUTES)),
            };
            let items = result.as_ref().map(|found| found.answer.items);
            let outcome = Outcome { items, usage: dynamo.usage(), took: begun.elapsed() };
            outcome.log(event, matched.as_ref().map(|(_, path)| path), self.log_sampling);
            self.metrics.count(&outcome, self.clock.now());
            match result {
                Ok(found) => found.into_response(&event.headers, self.public_cache_seconds),
                Err(problem) => problem.into_response(),
            }
        })
    }

    /// The same reader, with the client of one request.
    fn over(&self, dynamo: &Dynamo) -> Self {
        Self {
            ledger: self.ledger.over(dynamo),
            facts: self.facts.over(dynamo),
            views: self.views.over(dynamo),
            timelines: self.timelines.over(dynamo),
            events: self.events.over(dynamo),
            ..self.clone()
        }
    }

    async fn read(
        &self,
        route: Route,
        path: &Path<'_>,
        event: &ApiGatewayV2httpRequest,
    ) -> Result<Shareable, Problem> {
        if event.request_context.http.method != "GET" {
            return Err(Problem::MethodNotAllowed("GET"));
        }
        let caller = self.authorization.caller(event, &self.claims)?;
        // Every route takes it, also where the answer is the same for everybody.
        let parameters = Parameters::of(event, &["viewer"])?;
        let named = parameters.get("viewer");
        let cx = Context {
            event,
            path,
            own: caller.own(named)?,
            is_viewer_named: named.is_some(),
            caller,
            reader: self,
            now: self.clock.now(),
        };
        router::answer(route, &cx).await
    }
}
