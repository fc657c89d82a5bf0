//! The Lambda function: wires [`fanout_writer`] to its environment.

use aws_lambda_events::event::sqs::SqsEvent;
use fanout_writer::{CommandQueue, DeadLetterQueue, Sizes, Writer};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::store::{Store, sdk_config};
use shared::{Clock, Deadline, Metrics, env, telemetry};

/// A fan-out allocates in every step of every call; this allocator is the cheaper one at that
/// (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init_json();
    let config = sdk_config().await;
    let (sqs, clock) = (aws_sdk_sqs::Client::new(&config), Clock::system());
    let writer = Writer {
        store: Store::new(aws_sdk_dynamodb::Client::new(&config), env::tables()),
        commands: CommandQueue { client: sqs.clone(), url: env::required(env::QUEUE_URL)? },
        dead_letters: DeadLetterQueue {
            client: sqs,
            url: env::required(env::DEAD_LETTER_QUEUE_URL)?,
        },
        sizes: Sizes::default(),
        retention: env::retention()?,
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        clock: clock.clone(),
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let deadline = Deadline::of_invocation(event.context.deadline, clock.now());
        writer.handle(event.payload, deadline).await.map_err(Error::from)
    }))
    .await
}
