//! The Lambda function: wires [`event_intake`] to its environment.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use event_intake::env;
use event_intake::{Intake, PATIENCE, TenantRates};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::history::events::EventSettings;
use shared::platform::dynamo::sdk_config;
use shared::platform::queue::Sender;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::function;
use shared::platform::runtime::invocation::Invocation;
use shared::platform::runtime::metrics::Metrics;

/// The allocator of the writer too (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    function::start();
    let sqs = aws_sdk_sqs::Client::new(&sdk_config().await);
    let intake = Intake {
        commands: Sender::new(sqs, env::required(env::QUEUE_URL)?),
        authorization: env::parsed_or(env::AUTHORIZATION, function_http::Authorization::default())?,
        claims: function_http::Claims::of_environment(env::CLAIMS)?,
        rates: env::parsed_or(env::TENANT_EVENTS_PER_SECOND, TenantRates::default())?,
        events: EventSettings::of_environment(&[env::EVENT_PERIOD, env::EVENT_LATENESS_DAYS])?,
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        log_sampling: env::parsed_or(env::LOG_ONE_IN, function_http::LogSampling::ALL)?,
        clock: Clock::system(),
    };
    run(service_fn(async |event: LambdaEvent<ApiGatewayV2httpRequest>| {
        let LambdaEvent { payload, context } = event;
        let deadline = Deadline::after(PATIENCE);
        let trace = context.xray_trace_id.as_deref();
        Ok::<_, Error>(
            Invocation::new(&context.request_id, trace)
                .scope(intake.handle(&payload, deadline))
                .await,
        )
    }))
    .await
}
