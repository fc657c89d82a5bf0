//! The timeline reader: the social routes of the HTTP API (docs/openapi.yaml).
//!
//! ```text
//! handle        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   router      which path is read, by which feature
//!   page/       pages of activities
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
//!   log         the log lines of requests
//! ```
//!
//! The library `function-http` has the part that it shares with the reader of history, from callers to pages.
//!
//! The cost of a page does not grow with the number of follows: an ordinary page is one Query for the entries, a parallel
//! BatchGetItem for who is hidden and what has changed, and at most one for the activities that are not cached.

mod activity;
mod actor;
mod battle;
pub mod env;
mod follows;
mod likes;
mod log;
mod notifications;
mod page;
mod poll;
mod profile;
mod room;
mod router;
mod tagged;
mod tags;
mod timeline;

use std::sync::Arc;

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use function_http::Route;
use function_http::reader::{self, Answering, RequestLine, Requests, Routes};
use futures::future::BoxFuture;
use shared::platform::dynamo::{Dynamo, PacedTable};
use shared::platform::environment::Environment;
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::projection::Views;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::Retention;
use shared::social::activities::RecordCache;
use shared::social::follows::Parking;
use shared::social::likes::LikeCountCache;
use shared::social::timelines::Timelines;

pub use function_http::reader::PATIENCE;
pub use router::ROUTES;

/// The reader. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Reader {
    /// What must not be lost.
    pub ledger: Ledger,
    pub facts: Facts,
    pub views: Views,
    pub timelines: Timelines,
    /// The cache of records. Readers that share it are one process.
    pub records: Arc<RecordCache>,
    /// The cache of counts of likes, likewise.
    pub counts: Arc<LikeCountCache>,
    /// The time within which the reads of a page are of one moment. The same as the writers' hold.
    pub hold: Hold,
    /// The seconds for which caches may keep answers that are the same for everybody; 0: not at all.
    pub public_cache_seconds: u8,
    pub retention: Retention,
    /// Whether viewers are parked.
    pub parking: Parking,
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
        let variables = &environment.variables;
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let timelines = PacedTable::new(environment.table(env::TIMELINES_TABLE)?);
        Ok(Self {
            timelines: Timelines::new(timelines, &ledger),
            ledger,
            facts: Facts::new(environment.table(env::FACTS_TABLE)?),
            views: Views::new(environment.table(env::VIEWS_TABLE)?),
            records: Arc::default(),
            counts: Arc::default(),
            hold: Hold::default(),
            public_cache_seconds: variables.parsed_or(env::PUBLIC_CACHE_SECONDS, 0)?,
            retention: variables.days(env::RETENTION_DAYS)?,
            parking: variables.parsed_or(env::IDLE_DAYS, Parking::off())?,
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

    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn public_cache_seconds(&self) -> u8 {
        self.public_cache_seconds
    }

    fn over(&self, dynamo: &Dynamo) -> Self {
        Self {
            ledger: self.ledger.over(dynamo),
            facts: self.facts.over(dynamo),
            views: self.views.over(dynamo),
            timelines: self.timelines.over(dynamo),
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
