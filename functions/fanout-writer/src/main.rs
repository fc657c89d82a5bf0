//! The Lambda function: wires [`fanout_writer`] to its environment.

use aws_lambda_events::event::sqs::SqsEvent;
use fanout_writer::env;
use fanout_writer::{CommandQueue, DeadLetterQueue, FanOutLimits, Shares, Writer};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use shared::activities::ChangeLog;
use shared::activities::changes::Copies;
use shared::command::InternalSeal;
use shared::dead_letters::LetterSeal;
use shared::dynamo::{Dynamo, PacedTable, sdk_config};
use shared::events::{EventSettings, EventTables, Events};
use shared::facts::Facts;
use shared::follows::Parking;
use shared::ledger::Ledger;
use shared::outbound::Bus;
use shared::projection::Views;
use shared::queue::Sender;
use shared::rooms::RoomQueues;
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::function::Function;
use shared::runtime::hold::Hold;
use shared::runtime::metrics::Metrics;
use shared::timelines::Timelines;

/// A fan-out allocates in every step of every call, which is cheaper with this allocator (docs/PERFORMANCE.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let function = Function::start()?;
    let config = sdk_config().await;
    let dynamo = Dynamo::new(aws_sdk_dynamodb::Client::new(&config));
    let ledger = Ledger::new(dynamo.table(&env::required(env::LEDGER_TABLE)?));
    let timelines = PacedTable::new(dynamo.table(&env::required(env::TIMELINES_TABLE)?));
    let (sqs, clock) = (aws_sdk_sqs::Client::new(&config), Clock::system());
    let secrets = env::secrets(env::INTERNAL_SECRETS)?;
    let events = EventTables::new(&dynamo, &env::required(env::EVENTS_TABLE_PREFIX)?);
    let events =
        Events::new(EventSettings::of_environment(&env::EVENT_SETTINGS)?, &events, &ledger);
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
        room_queues: RoomQueues::default(),
        events,
        hold: Hold::default(),
        bus: Bus::of_environment(&config, env::EVENT_BUS_NAME),
        shares: Shares::default(),
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let LambdaEvent { payload, context } = event;
        let deadline = Deadline::of_invocation(context.deadline, clock.now());
        let trace = context.xray_trace_id.as_deref();
        function
            .invoke(&context.request_id, trace, writer.handle(payload, deadline))
            .await
            .map_err(Error::from)
    }))
    .await
}
