//! The Lambda function: wires [`history_reader`] to its environment.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use function_http::reader::{RequestMetrics, Requests};
use function_http::{Authorization, Claims, LogSampling};
use history_reader::env;
use history_reader::{PATIENCE, Reader};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::history::events::{EventSettings, EventTables, Events};
use shared::platform::dynamo::{Dynamo, sdk_config};
use shared::platform::ledger::Ledger;
use shared::platform::objects::Objects;
use shared::platform::paging::CursorSeal;
use shared::platform::projection::Views;
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
    let config = sdk_config().await;
    let dynamo = Dynamo::new(aws_sdk_dynamodb::Client::new(&config));
    let ledger = Ledger::new(dynamo.table(&env::required(env::LEDGER_TABLE)?));
    let tables = EventTables::new(&dynamo, &env::required(env::EVENTS_TABLE_PREFIX)?);
    let settings = EventSettings::of_environment(&env::EVENT_SETTINGS)?;
    let reader = Reader {
        events: Events::new(settings, &tables, &ledger),
        ledger,
        views: Views::new(dynamo.table(&env::required(env::VIEWS_TABLE)?)),
        objects: Some(Objects::new(&config, &env::required(env::ARCHIVE_BUCKET)?)),
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
