//! The Lambda function: wires [`fanout_writer`] to its environment.

use aws_lambda_events::event::sqs::SqsEvent;
use fanout_writer::env;
use fanout_writer::{CommandQueue, DeadLetterQueue, FanOutLimits, Shares, Writer};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::command::InternalSeal;
use shared::history::events::{EventSettings, EventTables, Events};
use shared::history::switch::HistorySwitch;
use shared::platform::dead_letters::LetterSeal;
use shared::platform::dynamo::{Dynamo, PacedTable, sdk_config};
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::outbound::Bus;
use shared::platform::projection::Views;
use shared::platform::queue::Sender;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::function;
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::invocation::Invocation;
use shared::platform::runtime::metrics::Metrics;
use shared::social::WriteQueues;
use shared::social::activities::ChangeLog;
use shared::social::activities::changes::Copies;
use shared::social::follows::Parking;
use shared::social::timelines::Timelines;

/// A fan-out allocates in every step of every call, which is cheaper with this allocator (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    function::start();
    let config = sdk_config().await;
    let dynamo = Dynamo::new(aws_sdk_dynamodb::Client::new(&config));
    let ledger = Ledger::new(dynamo.table(&env::required(env::LEDGER_TABLE)?));
    let timelines = PacedTable::new(dynamo.table(&env::required(env::TIMELINES_TABLE)?));
    let (sqs, clock) = (aws_sdk_sqs::Client::new(&config), Clock::system());
    let secrets = env::secrets(env::INTERNAL_SECRETS)?;
    let events = match env::parsed_or(env::HISTORY, HistorySwitch::On)? {
        HistorySwitch::On => {
            let tables = EventTables::new(&dynamo, &env::required(env::EVENTS_TABLE_PREFIX)?);
            let settings = EventSettings::of_environment(&env::EVENT_SETTINGS)?;
            Some(Events::new(settings, &tables, &ledger))
        }
        HistorySwitch::Off => None,
    };
    let writer = Writer {
        timelines: Timelines::new(timelines, &ledger),
        ledger,
        facts: Facts::new(dynamo.table(&env::required(env::FACTS_TABLE)?)),
        views: Views::new(dynamo.table(&env::required(env::VIEWS_TABLE)?)),
        commands: CommandQueue::new(
            Sender::new(sqs.clone(), env::required(env::QUEUE_URL)?),
            InternalSeal::new(&secrets),
        ),
        dead_letters: DeadLetterQueue::new(
            Sender::new(sqs, env::required(env::DEAD_LETTER_QUEUE_URL)?),
            LetterSeal::new(&secrets),
        ),
        limits: FanOutLimits::default(),
        retention: env::days(env::RETENTION_DAYS)?,
        parking: env::parsed_or(env::IDLE_DAYS, Parking::off())?,
        metrics: Metrics::to(std::io::stdout(), &env::stage()),
        clock: clock.clone(),
        change_log: ChangeLog::new(env::parsed_or(env::CHANGE_LOG_COPIES, Copies::default())?),
        queues: WriteQueues::default(),
        events,
        hold: Hold::default(),
        bus: Bus::of_environment(&config, env::EVENT_BUS_NAME),
        shares: Shares::default(),
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let LambdaEvent { payload, context } = event;
        let deadline = Deadline::of_invocation(context.deadline, clock.now());
        let trace = context.xray_trace_id.as_deref();
        Invocation::new(&context.request_id, trace)
            .scope(writer.handle(payload, deadline))
            .await
            .map_err(Error::from)
    }))
    .await
}
