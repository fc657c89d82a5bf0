//! The Lambda function: wires [`period_keeper`] to its environment.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use period_keeper::env;
use period_keeper::{CloudWatch, Keeper, KeeperLimits, Mappings};
use serde_json::Value;
use shared::history::events::capacity::Billing;
use shared::history::events::{Archives, EventSettings, EventTables, Keepers, Periods};
use shared::history::summaries::Summaries;
use shared::history::tenants::Daily;
use shared::platform::dynamo::{Dynamo, sdk_config};
use shared::platform::ledger::Ledger;
use shared::platform::objects::Objects;
use shared::platform::outbound::Bus;
use shared::platform::projection::Views;
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
    let ledger = Ledger::new(dynamo.table(&env::required(env::LEDGER_TABLE)?));
    let bus = Bus::of_environment(&config, env::EVENT_BUS_NAME);
    let cloud_watch = match env::parsed_or(env::EVENT_CAPACITY, Billing::OnDemand)? {
        Billing::OnDemand => None,
        Billing::Provisioned => Some(CloudWatch::new(&config, &env::required(env::QUEUE_ARN)?)),
    };
    let keeper = Keeper {
        periods: Periods::new(&ledger),
        archives: Archives::new(&ledger),
        keepers: Keepers::new(&ledger),
        tables: EventTables::new(&dynamo, &env::required(env::EVENTS_TABLE_PREFIX)?),
        objects: Objects::new(&config, &env::required(env::ARCHIVE_BUCKET)?),
        cloud_watch,
        daily: Daily::new(&ledger).with_bus(&bus),
        bus,
        summaries: Summaries::new(&Views::new(dynamo.table(&env::required(env::VIEWS_TABLE)?))),
        settings: EventSettings::of_environment(&env::EVENT_SETTINGS)?,
        mappings: Mappings::new(&config, env::required_parsed(env::STREAM_MAPPING)?),
        limits: KeeperLimits::default(),
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        clock: Clock::system(),
    };
    run(service_fn(async |event: LambdaEvent<Value>| {
        let context = event.context;
        let deadline = Deadline::of_invocation(context.deadline, keeper.clock.now());
        let trace = context.xray_trace_id.as_deref();
        Invocation::new(&context.request_id, trace)
            .scope(keeper.tick(deadline))
            .await
            .map(|_| ())
            .map_err(Error::from)
    }))
    .await
}
