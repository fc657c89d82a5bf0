//! The Lambda function: wires [`dlq_alerter`] to its environment.

use aws_lambda_events::event::sqs::SqsEvent;
use dlq_alerter::Alerter;
use dlq_alerter::env;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::platform::dead_letters::{DeadLetters, LetterSeal};
use shared::platform::dynamo::{Dynamo, sdk_config};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::function;
use shared::platform::runtime::invocation::Invocation;
use shared::platform::runtime::metrics::Metrics;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    function::start();
    let config = sdk_config().await;
    let dynamo = Dynamo::new(aws_sdk_dynamodb::Client::new(&config));
    let alerter = Alerter {
        letters: DeadLetters::new(dynamo.table(&env::required(env::DEAD_LETTERS_TABLE)?)),
        seal: LetterSeal::new(&env::secrets(env::INTERNAL_SECRETS)?),
        command_queue_arn: env::required(env::QUEUE_ARN)?,
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        clock: Clock::system(),
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let LambdaEvent { payload, context } = event;
        let deadline = Deadline::of_invocation(context.deadline, alerter.clock.now());
        let trace = context.xray_trace_id.as_deref();
        Invocation::new(&context.request_id, trace)
            .scope(alerter.handle(payload, deadline))
            .await
            .map_err(Error::from)
    }))
    .await
}
