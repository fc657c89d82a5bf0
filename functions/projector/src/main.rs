//! The Lambda function: wires [`projector`] to its environment.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use projector::env;
use projector::{DeadLetterQueue, Projector, StreamEvent};
use shared::command::InternalSeal;
use shared::dead_letters::LetterSeal;
use shared::dynamo::{Dynamo, sdk_config};
use shared::events::EventTables;
use shared::facts::Facts;
use shared::ledger::Ledger;
use shared::outbound::Bus;
use shared::projection::Views;
use shared::queue::Sender;
use shared::refusals::Refusals;
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::function::Function;
use shared::runtime::metrics::Metrics;
use shared::tenants::Rules;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let function = Function::start()?;
    let config = sdk_config().await;
    let dynamo = Dynamo::new(aws_sdk_dynamodb::Client::new(&config));
    let secrets = env::secrets(env::INTERNAL_SECRETS)?;
    let bus = Bus::of_environment(&config, env::EVENT_BUS_NAME);
    let ledger = Ledger::new(dynamo.table(&env::required(env::LEDGER_TABLE)?));
    let views = Views::new(dynamo.table(&env::required(env::VIEWS_TABLE)?));
    let projector = Projector {
        facts: Facts::new(dynamo.table(&env::required(env::FACTS_TABLE)?)),
        dead_letters: DeadLetterQueue::new(
            Sender::new(
                aws_sdk_sqs::Client::new(&config),
                env::required(env::DEAD_LETTER_QUEUE_URL)?,
            ),
            InternalSeal::new(&secrets),
            LetterSeal::new(&secrets),
        ),
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        clock: Clock::system(),
        read_notifications: env::days(env::READ_NOTIFICATION_DAYS)?,
        tables: EventTables::new(&dynamo, &env::required(env::EVENTS_TABLE_PREFIX)?),
        rules: Rules::new(&ledger, &views).with_bus(&bus),
        refusals: Refusals::new(&ledger),
        views,
        bus,
    };
    let only_shard = env::optional(env::ONLY_SHARD);
    run(service_fn(async |event: LambdaEvent<StreamEvent>| {
        let LambdaEvent { payload: mut event, context } = event;
        let deadline = Deadline::of_invocation(context.deadline, projector.clock.now());
        let trace = context.xray_trace_id.as_deref();
        event.shard_id = event.shard_id.or_else(|| only_shard.clone());
        function
            .invoke(&context.request_id, trace, projector.handle(event, deadline))
            .await
            .map_err(Error::from)
    }))
    .await
}
