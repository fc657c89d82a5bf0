//! The event intake: what tenants send about their customers (`POST /v1/tenants/{tenant_id}/events`), checked, and put on the
//! queue of commands.
//!
//! ```text
//! handle        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   body        the bytes of a request, within their bounds
//!   events      what the bytes say: events of one tenant, or what is wrong with each of them
//!   batches     events, cut into commands
//!   rate        how much a tenant may send
//!   log         a line for a request
//!   metrics     what is counted of requests
//! ```
//!
//! # All or nothing, and again
//!
//! A request is checked to its end before anything of it is sent, so a request with a mistake in it leaves nothing behind. It is
//! answered with 202 once SQS has accepted every message that was made of it. If that cannot be said within
//! [`PATIENCE`], some messages may be on the queue: the answer is 503, and the sender sends the whole again. An event that is
//! recorded twice is recorded once ([`shared::events`]), so that changes nothing.
//!
//! Whether an event is too late, or in conflict with another, is found out where it is recorded, and
//! becomes a dead letter there: this function reads no table.

mod batches;
mod body;
pub mod env;
mod events;
mod log;
mod metrics;
mod rate;

use std::time::Duration;

use api::auth::Caller;
use api::{Authorization, EVENTS_ROUTE, LogSampling, Path, Problem, Route, TenantClaim, response};
use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use futures::future::BoxFuture;
use shared::queue::Sender;
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::metrics::Metrics;
use shared::values::{TenantId, Timestamp};
use tokio::time::Instant;

pub use batches::MESSAGE_BYTES;
pub use body::MOST_BYTES;
pub use events::MOST_EVENTS;
pub use metrics::metric_names;
pub use rate::TenantRates;

use log::Outcome;

/// The path that is taken, with `POST`.
pub const ROUTES: &[&str] = &[EVENTS_ROUTE];

/// How long a sender is kept waiting. The queue answers within milliseconds; who has waited this long is better told to come
/// back.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What the intake works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Intake {
    /// Where events are sent.
    pub commands: Sender,
    /// Who may send.
    pub authorization: Authorization,
    /// Which claim of a token says for which tenant its owner speaks.
    pub tenant_claim: TenantClaim,
    /// How much each tenant may send.
    pub rates: TenantRates,
    /// Events from this instant on are taken.
    pub earliest: Timestamp,
    /// Where requests are counted.
    pub metrics: Metrics,
    /// Which requests have a log line.
    pub log_sampling: LogSampling,
    /// What time it is.
    pub clock: Clock,
}

impl Intake {
    /// Takes the events of one request. Whatever goes wrong is an answer too.
    ///
    /// In a box, so that all of it is compiled here and not again in every program that awaits it.
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
                    response::json(202, "application/json", body)
                }
                Err(problem) => problem.into_response(),
            }
        })
    }

    /// How many events are on the queue now. Notes whose they are, once the caller may send for them.
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
        let caller: Caller<'_> = self.authorization.caller(request, &self.tenant_claim)?;
        let tenant_id = path.parameter("tenant_id", TenantId::new)?;
        caller.may_write_tenant(&tenant_id)?;
        let tenant_id = tenant.insert(tenant_id);

        let now = self.clock.now();
        self.rates.admit(tenant_id, now)?;
        let body = body::read(request)?;
        let events = events::parse(&body, tenant_id, self.earliest, now)?;
        let accepted = events.len();
        self.rates.count(tenant_id, accepted, now);
        commands.send(&batches::messages(tenant_id, events), deadline).await?;
        Ok(accepted)
    }
}
