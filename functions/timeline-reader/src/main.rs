//! The Lambda function: wires [`timeline_reader`] to its environment.

use std::sync::Arc;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use function_http::reader::{RequestMetrics, Requests};
use function_http::{Authorization, Claims, LogSampling};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::platform::dynamo::{Dynamo, PacedTable, sdk_config};
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::paging::CursorSeal;
use shared::platform::projection::Views;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::function;
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::invocation::Invocation;
use shared::platform::runtime::metrics::Metrics;
use shared::social::follows::Parking;
use shared::social::timelines::Timelines;
use timeline_reader::env;
use timeline_reader::{PATIENCE, Reader};

/// The allocator of the writer too (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    function::start();
    let config = sdk_config().await;
    let dynamo = Dynamo::new(aws_sdk_dynamodb::Client::new(&config));
    let ledger = Ledger::new(dynamo.table(&env::required(env::LEDGER_TABLE)?));
    let timelines = PacedTable::new(dynamo.table(&env::required(env::TIMELINES_TABLE)?));
    let reader = Reader {
        timelines: Timelines::new(timelines, &ledger),
        ledger,
        facts: Facts::new(dynamo.table(&env::required(env::FACTS_TABLE)?)),
        views: Views::new(dynamo.table(&env::required(env::VIEWS_TABLE)?)),
        records: Arc::default(),
        counts: Arc::default(),
        hold: Hold::default(),
        public_cache_seconds: env::parsed_or(env::PUBLIC_CACHE_SECONDS, 0)?,
        retention: env::days(env::RETENTION_DAYS)?,
        parking: env::parsed_or(env::IDLE_DAYS, Parking::off())?,
        requests: Requests {
            authorization: env::parsed_or(env::AUTHORIZATION, Authorization::default())?,
            claims: Claims::of_environment(env::CLAIMS)?,
            seal: CursorSeal::new(&env::secrets(env::CURSOR_SECRETS)?),
            metrics: RequestMetrics::new(Metrics::to(std::io::stdout(), &env::stage())),
            log_sampling: env::parsed_or(env::LOG_ONE_IN, LogSampling::ALL)?,
            clock: Clock::system(),
        },
    };
    run(service_fn(async |event: LambdaEvent<ApiGatewayV2httpRequest>| {
        let LambdaEvent { payload, context } = event;
        let deadline = Deadline::after(PATIENCE);
        let trace = context.xray_trace_id.as_deref();
        Ok::<_, Error>(
            Invocation::new(&context.request_id, trace)
                .scope(reader.handle(&payload, deadline))
                .await,
        )
    }))
    .await
}
