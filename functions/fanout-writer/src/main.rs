//! The Lambda function: wires [`fanout_writer`] to its environment.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsEvent;
use fanout_writer::{DeadLetterQueue, Writer};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::store::{Store, sdk_config};
use shared::{Clock, Deadline, Timestamp, env, telemetry};

/// Time to answer in, after work has stopped.
const MARGIN: Duration = Duration::from_secs(2);

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
        let end = Timestamp::from_unix_millis(event.context.deadline.try_into()?);
        let deadline = Deadline::at(end, clock.now()).earlier_by(MARGIN);
        writer.handle(event.payload, deadline).await.map_err(Error::from)
    }))
    .await
}
