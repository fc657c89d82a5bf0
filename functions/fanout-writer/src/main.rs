//! The Lambda function: wires [`fanout_writer`] to its environment.

use aws_lambda_events::event::sqs::SqsEvent;
use fanout_writer::{DeadLetterQueue, Writer};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::store::{Store, sdk_config};
use shared::{Clock, Deadline, env, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init_json();
    let config = sdk_config().await;
    let clock = Clock::system();
    let writer = Writer {
        store: Store::new(aws_sdk_dynamodb::Client::new(&config), env::tables()),
        dead_letters: DeadLetterQueue {
            client: aws_sdk_sqs::Client::new(&config),
            url: env::required(env::DEAD_LETTER_QUEUE_URL)?,
        },
        retention: env::retention()?,
        clock: clock.clone(),
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let deadline = Deadline::of_invocation(event.context.deadline, clock.now());
        writer.handle(event.payload, deadline).await.map_err(Error::from)
    }))
    .await
}
