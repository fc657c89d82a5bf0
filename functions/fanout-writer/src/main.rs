//! The Lambda function: wires [`fanout_writer`] to its environment.

use aws_lambda_events::event::sqs::SqsEvent;
use fanout_writer::{CommandQueue, DeadLetterQueue, Sizes, Writer};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::queue::Sender;
use shared::store::{Store, sdk_config};
use shared::{Clock, Deadline, Metrics, env, panics, telemetry};

/// A fan-out allocates in every step of every call; this allocator is the cheaper one at that
/// (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    panics::end_the_process();
    telemetry::init_json();
    let tables = env::tables(&[env::TIMELINES_TABLE, env::LEDGER_TABLE])?;
    let config = sdk_config().await;
    let (sqs, clock) = (aws_sdk_sqs::Client::new(&config), Clock::system());
    let writer = Writer {
        store: Store::new(aws_sdk_dynamodb::Client::new(&config), tables),
        commands: CommandQueue::new(
            Sender::new(sqs.clone(), env::required(env::QUEUE_URL)?),
            env::internal_seal()?,
        ),
        dead_letters: DeadLetterQueue(Sender::new(sqs, env::required(env::DEAD_LETTER_QUEUE_URL)?)),
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
