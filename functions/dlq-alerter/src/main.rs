//! The Lambda function: wires [`dlq_alerter`] to its environment.

use aws_lambda_events::event::sqs::SqsEvent;
use dlq_alerter::Alerter;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::dead_letters::DeadLetters;
use shared::dynamo::{Dynamo, sdk_config};
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::metrics::Metrics;
use shared::runtime::{env, panics, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    panics::end_the_process();
    telemetry::init_json();
    let config = sdk_config().await;
    let dynamo = Dynamo::new(aws_sdk_dynamodb::Client::new(&config));
    let alerter = Alerter {
        letters: DeadLetters::new(dynamo.table(&env::required(env::DEAD_LETTERS_TABLE)?)),
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        clock: Clock::system(),
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let deadline = Deadline::of_invocation(event.context.deadline, alerter.clock.now());
        alerter.handle(event.payload, deadline).await.map_err(Error::from)
    }))
    .await
}
