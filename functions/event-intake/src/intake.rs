//! The state of the intake, and the answer to a request.

use std::time::Duration;

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use function_http::auth::Caller;
use function_http::response::Caching;
use function_http::{
    Authorization, Claims, EVENTS_ROUTE, LogSampling, Path, Problem, Route, response,
};
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

use crate::log::Outcome;
use crate::rate::TenantRates;
use crate::{batches, body, env, events, metrics};

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
    /// Builds an intake from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
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
        let path = Path::matched(request, Route(EVENTS_ROUTE)).ok_or(Problem::NotFound(ROUTES))?;
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
