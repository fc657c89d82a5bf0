//! The event intake: checks what tenants send about their customers (`POST /v1/tenants/{tenant_id}/events`), and puts it on the queue
//! of commands.
//!
//! ```text
//! handle        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   body        the bytes of a request, within their bounds
//!   events      parses the events of one tenant, or says what is wrong with each of them
//!   batches     cuts events into commands
//!   rate        the rate limit of a tenant
//!   log         the log line of a request
//!   metrics     the metrics of requests
//! ```
//!
//! # All or nothing, and retries
//!
//! A request is checked completely before anything of it is sent, so a request with a mistake leaves nothing behind. It is answered
//! with 202 once SQS has accepted all of its messages. If that is unknown after [`PATIENCE`], some messages may be on the queue: the
//! answer is 503, and the sender sends the whole request again. Recording an event is idempotent ([`shared::history::events`]), so that is
//! harmless.
//!
//! An event whose period is closed by the clock of this function is a mistake of the request. The writer finds out whether another event
//! is too late by then or in conflict, and refuses it ([`shared::history::refusals`]): this function reads no table.
//!
//! # Malformed requests
//!
//! A malformed request is charged to its tenant's rate like any other: by its events, or, if these
//! cannot be counted, by its size. Reading stops at the first event that is too many. So the work
//! for a tenant is bounded by its rate, whatever it sends.

mod batches;
mod body;
pub mod env;
mod events;
mod log;
mod metrics;
mod rate;

use std::time::Duration;

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use function_http::auth::Caller;
use function_http::response::{self, Caching};
use function_http::{Authorization, Claims, EVENTS_ROUTE, LogSampling, Path, Problem, Route};
use futures::future::BoxFuture;
use shared::history::events::EventSettings;
use shared::platform::environment::Environment;
use shared::platform::queue::Sender;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::TenantId;
use tokio::time::Instant;

pub use batches::MESSAGE_BYTES;
pub use body::MOST_BYTES;
pub use events::MOST_EVENTS;
pub use metrics::metric_names;
pub use rate::TenantRates;

use log::Outcome;

/// The path of `POST` requests.
pub const ROUTES: &[&str] = &[EVENTS_ROUTE];

/// How long a sender waits at most. The queue answers within milliseconds; a sender that has waited this long should retry.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The intake. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Intake {
    pub commands: Sender,
    pub authorization: Authorization,
    pub claims: Claims,
    pub rates: TenantRates,
    /// The instants of events that are accepted.
    pub events: EventSettings,
    /// Where requests are counted.
    pub metrics: Metrics,
    pub log_sampling: LogSampling,
    pub clock: Clock,
}

impl Intake {
    /// As its environment says.
    ///
    /// # Errors
    /// [`EnvError`] names the variable.
    pub fn of(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, metrics, clock, .. } = environment;
        let instants = [env::EVENT_PERIOD, env::EVENT_LATENESS_DAYS];
        Ok(Self {
            commands: environment.sender(env::QUEUE_URL)?,
            authorization: variables.parsed_or(env::AUTHORIZATION, Authorization::default())?,
            claims: Claims::among(variables, env::CLAIMS)?,
            rates: variables.parsed_or(env::TENANT_EVENTS_PER_SECOND, TenantRates::default())?,
            events: EventSettings::among(variables, &instants)?,
            metrics: metrics.clone(),
            log_sampling: variables.parsed_or(env::LOG_ONE_IN, LogSampling::ALL)?,
            clock: clock.clone(),
        })
    }

    /// Handles the events of one request. Every problem is an answer.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    pub fn handle<'a>(
        &'a self,
        request: &'a ApiGatewayV2httpRequest,
        deadline: Deadline,
    ) -> BoxFuture<'a, ApiGatewayV2httpResponse> {
        Box::pin(async move {
            let (begun, commands) = (Instant::now(), self.commands.metered());
            let mut tenant = None;
            let result = self.take(request, &commands, &mut tenant, deadline).await;
            let accepted = result.as_ref().copied();
            let (took, retries) = (begun.elapsed(), commands.retries());
            let outcome = Outcome { tenant: tenant.as_ref(), accepted, retries, took };
            outcome.log(request, self.log_sampling);
            metrics::count(&self.metrics, &outcome, self.clock.now());
            match result {
                Ok(accepted) => {
                    let body = format!("{{\"accepted\":{accepted}}}");
                    response::json(202, "application/json", Caching::Private, body)
                }
                Err(problem) => problem.into_response(),
            }
        })
    }

    /// Returns the number of events put on the queue. Notes the tenant once the caller is authorised for it.
    async fn take(
        &self,
        request: &ApiGatewayV2httpRequest,
        commands: &Sender,
        tenant: &mut Option<TenantId>,
        deadline: Deadline,
    ) -> Result<usize, Problem> {
        let path = Path::of(request, Route(EVENTS_ROUTE)).ok_or(Problem::NotFound(ROUTES))?;
        if request.request_context.http.method != "POST" {
            return Err(Problem::MethodNotAllowed("POST"));
        }
        let caller: Caller<'_> = self.authorization.caller(request, &self.claims)?;
        let tenant_id = path.parameter("tenant_id", TenantId::new)?;
        caller.may_write_tenant(&tenant_id)?;
        let tenant_id = tenant.insert(tenant_id);

        let now = self.clock.now();
        self.rates.admit(tenant_id, now)?;
        let charge = |events| self.rates.count(tenant_id, events, now);
        let body = body::read(request).inspect_err(|_| charge(body::charge_unread(request)))?;
        let sent = events::sent(&body, now).inspect_err(|_| charge(body::charge(body.len())))?;
        charge(sent.len());
        let events = events::parse(&sent, tenant_id, &self.events, now)?;
        let accepted = events.len();
        commands.send(&batches::messages(tenant_id, events), deadline).await?;
        Ok(accepted)
    }
}
