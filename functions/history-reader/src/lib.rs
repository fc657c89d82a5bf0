//! The history reader: the routes of tenants of the HTTP API (docs/openapi.yaml).
//!
//! ```text
//! handle        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   router      which path is read, by which feature
//!   events      what a customer of a tenant did
//!   archives    the archives of a tenant's events
//!   customers/  the customers of a tenant, and what they did
//!   names/      the names of events, and how often they happened
//!   alerts      the alerts of a tenant
//!   refusals    the events of a tenant that were refused
//!   log         the log lines of requests
//! ```
//!
//! The library `function-http` has the part that it shares with the timeline reader, from callers to pages.
//!
//! # One page, one moment
//!
//! A row that is in the list throughout is on the walk once.
//!
//! | list | protocol |
//! |---|---|
//! | events | *fixed rows*: a row never changes or moves. One query for each key of a period |
//! | customers, names, alerts, refusals | *fixed keys*: a row never moves. A count is a view of its own; alerts are judged by the rules read before them |
//! | archives | *fixed keys*: the row of a period says that its objects are complete, and is read before them |

mod alerts;
mod archives;
mod customers;
pub mod env;
mod events;
mod log;
mod names;
mod refusals;
mod router;

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use function_http::reader::{self, Answering, RequestLine, Requests, Routes};
use function_http::{EVENTS_ROUTE, Route};
use futures::future::BoxFuture;
use shared::history::events::{EventSettings, EventTables, Events};
use shared::platform::dynamo::Dynamo;
use shared::platform::environment::Environment;
use shared::platform::ledger::Ledger;
use shared::platform::objects::Objects;
use shared::platform::projection::Views;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;

pub use function_http::reader::PATIENCE;
pub use router::ROUTES;

/// The reader. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Reader {
    pub ledger: Ledger,
    pub views: Views,
    pub events: Events,
    /// The archives of events, if there are any.
    pub objects: Option<Objects>,
    pub requests: Requests,
}

/// One request to an existing path.
pub(crate) type Context<'a> = reader::Context<'a, Reader>;

impl Reader {
    /// As its environment says.
    ///
    /// # Errors
    /// [`EnvError`] names the variable.
    pub fn of(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, dynamo, .. } = environment;
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let tables = EventTables::new(dynamo, &variables.required(env::EVENTS_TABLE_PREFIX)?);
        let settings = EventSettings::among(variables, &env::EVENT_SETTINGS)?;
        Ok(Self {
            events: Events::new(settings, &tables, &ledger),
            ledger,
            views: Views::new(environment.table(env::VIEWS_TABLE)?),
            objects: Some(environment.objects(env::ARCHIVE_BUCKET)?),
            requests: Requests::of(environment)?,
        })
    }

    /// Answers one request. Every problem is an answer.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    pub fn handle<'a>(
        &'a self,
        event: &'a ApiGatewayV2httpRequest,
        deadline: Deadline,
    ) -> BoxFuture<'a, ApiGatewayV2httpResponse> {
        Box::pin(reader::handle(self, event, deadline))
    }
}

impl Routes for Reader {
    const ROUTES: &'static [&'static str] = ROUTES;
    const POSTS: &'static [&'static str] = &[EVENTS_ROUTE];

    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn over(&self, dynamo: &Dynamo) -> Self {
        Self {
            ledger: self.ledger.over(dynamo),
            views: self.views.over(dynamo),
            events: self.events.over(dynamo),
            ..self.clone()
        }
    }

    fn answer<'a>(route: Route, cx: &'a Context<'a>) -> Answering<'a> {
        router::answer(route, cx)
    }

    fn log(line: &RequestLine<'_>) {
        log::log(line);
    }
}
