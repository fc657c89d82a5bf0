//! The Lambda function: wires [`dlq_alerter`] to its environment.

use aws_lambda_events::event::sqs::SqsEvent;
use dlq_alerter::Alerter;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::store::{Store, sdk_config};
use shared::{Clock, Deadline, Metrics, env, panics, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    panics::end_the_process();
    telemetry::init_json();
    let tables = env::tables(&[env::DEAD_LETTERS_TABLE])?;
    let config = sdk_config().await;
    let alerter = Alerter {
        store: Store::new(aws_sdk_dynamodb::Client::new(&config), tables),
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        clock: Clock::system(),
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let deadline = Deadline::of_invocation(event.context.deadline, alerter.clock.now());
        alerter.handle(event.payload, deadline).await.map_err(Error::from)
    }))
    .await
}
