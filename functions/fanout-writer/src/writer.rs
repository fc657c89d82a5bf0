//! The state of the writer, and how it is built from the environment.

use shared::command::InternalSeal;
use shared::history::events::{EventSettings, EventTables, Events};
use shared::history::switch::HistorySwitch;
use shared::platform::dead_letters::LetterSeal;
use shared::platform::dynamo::PacedTable;
use shared::platform::environment::Environment;
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::outbound::Bus;
use shared::platform::projection::Views;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env::EnvError;
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::Retention;
use shared::social::WriteQueues;
use shared::social::activities::ChangeLog;
use shared::social::activities::changes::Copies;
use shared::social::follows::IdleViewers;
use shared::social::timelines::Timelines;

use crate::command_queue::CommandQueue;
use crate::dead_letters::DeadLetterQueue;
use crate::env;
use crate::fanout::Turns;
use crate::fanout::limits::FanOutLimits;
use crate::shares::Shares;

/// The writer. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Writer {
    /// The source of truth.
    pub ledger: Ledger,
    /// The facts that views are folded from.
    pub facts: Facts,
    /// The views, which say what viewers were notified of when they mark it as read.
    pub views: Views,
    pub timelines: Timelines,
    /// Where segments of large fan-outs go.
    pub commands: CommandQueue,
    /// The queue for commands that cannot be applied.
    pub dead_letters: DeadLetterQueue,
    pub limits: FanOutLimits,
    pub retention: Retention,
    /// When a viewer is idle. Clones share the memory of viewers who are not.
    pub idle_viewers: IdleViewers,
    pub metrics: Metrics,
    pub clock: Clock,
    /// The change log that tells readers of edits. Shared by all deliveries of a process.
    pub change_log: ChangeLog,
    /// The work that waits for a group commit. Shared by all deliveries of a process, too.
    pub queues: WriteQueues,
    /// The fan-outs that run. Shared by all deliveries of a process, too.
    pub turns: Turns,
    /// Where events are recorded; `None` if the event history is off.
    pub events: Option<Events>,
    /// How long a batch waits before it is acknowledged; the same as the readers' hold.
    pub hold: Hold,
    pub bus: Bus,
    /// How much of the time of this process one person has.
    pub shares: Shares,
}

impl Writer {
    /// Builds a writer from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, dynamo, metrics, clock, .. } = environment;
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let timelines = PacedTable::new(environment.table(env::TIMELINES_TABLE)?);
        let events = match variables.parsed_or(env::HISTORY, HistorySwitch::On)? {
            HistorySwitch::On => {
                let prefix = variables.required(env::EVENTS_TABLE_PREFIX)?;
                let settings = EventSettings::among(variables, &env::EVENT_SETTINGS)?;
                Some(Events::new(settings, &EventTables::new(dynamo, &prefix), &ledger))
            }
            HistorySwitch::Off => None,
        };
        let secrets = variables.secrets(env::INTERNAL_SECRETS)?;
        let letters = environment.sender(env::DEAD_LETTER_QUEUE_URL)?;
        Ok(Self {
            timelines: Timelines::new(timelines, &ledger),
            facts: Facts::new(environment.table(env::FACTS_TABLE)?),
            views: Views::new(environment.table(env::VIEWS_TABLE)?),
            commands: CommandQueue::new(
                environment.sender(env::QUEUE_URL)?,
                InternalSeal::new(&secrets),
            ),
            dead_letters: DeadLetterQueue::new(letters, LetterSeal::new(&secrets)),
            limits: FanOutLimits::default(),
            retention: variables.days(env::RETENTION_DAYS)?,
            idle_viewers: variables.parsed_or(env::IDLE_DAYS, IdleViewers::off())?,
            metrics: metrics.clone(),
            clock: clock.clone(),
            change_log: ChangeLog::new(
                variables.parsed_or(env::CHANGE_LOG_COPIES, Copies::default())?,
            ),
            queues: WriteQueues::default(),
            turns: Turns::default(),
            events,
            hold: Hold::default(),
            bus: environment.bus(env::EVENT_BUS_NAME),
            shares: Shares::default(),
            ledger,
        })
    }
}
