//! The Lambda function: wires [`timeline_reader`] to its environment.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::store::{Store, sdk_config};
use shared::{Clock, Deadline, Metrics, env, panics, telemetry};
use timeline_reader::{Authorization, PATIENCE, Reader};

/// The allocator of the writer too (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    panics::end_the_process();
    telemetry::init_json();
    let tables = env::tables(&[env::TIMELINES_TABLE, env::LEDGER_TABLE])?;
    let config = sdk_config().await;
    let reader = Reader {
        store: Store::new(aws_sdk_dynamodb::Client::new(&config), tables),
        seal: env::cursor_seal()?,
        authorization: env::parsed_or(env::AUTHORIZATION, Authorization::default())?,
        retention: env::retention()?,
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        clock: Clock::system(),
    };
    run(service_fn(async |event: LambdaEvent<ApiGatewayV2httpRequest>| {
        let deadline = Deadline::after(PATIENCE);
        // Boxed: the compiler measures nested futures, and the runtime nests this one deeply.
        Ok::<_, Error>(Box::pin(reader.handle(&event.payload, deadline)).await)
    }))
    .await
}
