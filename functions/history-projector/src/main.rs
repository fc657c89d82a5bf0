//! The Lambda function: wires [`history_projector`] to its environment.

use function_stream::{DeadLetterQueue, Projection, StreamEvent};
use history_projector::Projector;
use history_projector::env;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::command::InternalSeal;
use shared::history::events::EventTables;
use shared::history::refusals::Refusals;
use shared::history::tenants::Rules;
use shared::platform::dead_letters::LetterSeal;
use shared::platform::dynamo::{Dynamo, sdk_config};
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::outbound::Bus;
use shared::platform::projection::Views;
use shared::platform::queue::Sender;
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
    let secrets = env::secrets(env::INTERNAL_SECRETS)?;
    let projection = Projection {
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
        views: Views::new(dynamo.table(&env::required(env::VIEWS_TABLE)?)),
        bus: Bus::of_environment(&config, env::EVENT_BUS_NAME),
    };
    let ledger = Ledger::new(dynamo.table(&env::required(env::LEDGER_TABLE)?));
    let projector = Projector {
        tables: EventTables::new(&dynamo, &env::required(env::EVENTS_TABLE_PREFIX)?),
        rules: Rules::new(&ledger, &projection.views).with_bus(&projection.bus),
        refusals: Refusals::new(&ledger),
        projection,
    };
    let only_shard = env::optional(env::ONLY_SHARD);
    run(service_fn(async |event: LambdaEvent<StreamEvent>| {
        let LambdaEvent { payload: mut event, context } = event;
        let deadline = Deadline::of_invocation(context.deadline, projector.projection.clock.now());
        let trace = context.xray_trace_id.as_deref();
        event.shard_id = event.shard_id.or_else(|| only_shard.clone());
        Invocation::new(&context.request_id, trace)
            .scope(projector.handle(event, deadline))
            .await
            .map_err(Error::from)
    }))
    .await
}
