//! How a stack is started, and why it cannot be.

use std::path::PathBuf;
use std::time::Duration;

use function_http::Claims;
use nagare_client::failure::Failure;
use nagare_gateway::cors::Cors;
use nagare_gateway::ports::PortError;
use nagare_telemetry::LocalTelemetry;
use shared::history::events::{EventSettings, PeriodLength};
use shared::history::switch::HistorySwitch;
use shared::platform::dead_letters::MAX_RECEIVES;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env::EnvError;
use shared::platform::values::Timestamp;
use shared::social::follows::IdleViewers;

use super::data_dir::{DataDir, DataDirError};
use super::engine::EngineError;
use super::s3::store::StoreError;
use super::sqs::{QueueConfig, QueueError, Redrive};

/// The queue of commands.
pub const COMMANDS: &str = "nagare-commands";
/// The queue of dead letters.
pub const DEAD_LETTERS: &str = "nagare-dead-letters";
/// How long a received message stays hidden, as the template sets it: six times the function's timeout,
/// because the poller may be throttled there.
pub const TEMPLATE_VISIBILITY: Duration = Duration::from_secs(360);
/// The same where nobody throttles the poller.
const VISIBILITY: Duration = Duration::from_secs(90);
/// Dead letters are kept longer than commands: expiry counts from the first send.
pub const DEAD_LETTER_RETENTION: Duration = Duration::from_secs(14 * 86_400);

/// How a stack is started.
#[derive(Debug, Clone, Default)]
pub struct StackConfig {
    /// The port of the HTTP API; the tables, the queue and the archive take the three that follow. 0: any four.
    pub port: u16,
    /// Where to keep tables and queues; in memory if it is not given.
    pub data_dir: Option<PathBuf>,
    /// Demand tokens.
    pub auth: bool,
    /// The claims of tokens that say for whom they are.
    pub claims: Claims,
    /// The web pages of other origins that may call the API.
    pub cors: Cors,
    /// The seconds for which caches may keep public answers; 0: not at all.
    pub public_cache_seconds: u8,
    /// Leave a message that was not acknowledged hidden for as long as on AWS.
    pub template_visibility: bool,
    /// Where it tells what goes on in it, and what goes wrong there on purpose.
    pub telemetry: LocalTelemetry,
    /// What time it is: the system's, unless a test says otherwise.
    pub clock: Clock,
    /// What time it is when it starts, in place of that: its own clock goes on from there.
    pub start_at: Option<Timestamp>,
    /// Whether it has the event history.
    pub history: HistorySwitch,
    /// How time is cut into tables of events, if that is said: as the data directory has it, or into months.
    pub event_period: Option<PeriodLength>,
    /// How else events are kept. Where the clock was set, they are taken from 2000-01-01 on.
    pub events: EventSettings,
    /// When a viewer is idle.
    pub idle_viewers: IdleViewers,
}

impl StackConfig {
    /// The same with this clock, and with the periods of the data directory.
    pub(super) fn at(mut self, clock: &Clock, dir: Option<&DataDir>) -> Result<Self, StackError> {
        self.clock = clock.clone();
        if clock.is_set() {
            self.events.earliest = EventSettings::EARLIEST_BY_HAND;
        }
        let kept = dir.and_then(DataDir::event_period);
        let asked = self.event_period.unwrap_or(kept.unwrap_or(self.events.length));
        match (kept, dir) {
            (Some(kept), _) if kept != asked => {
                return Err(StackError::OtherPeriod { asked, kept });
            }
            (None, Some(dir)) => dir.note_event_period(asked)?,
            _ => {}
        }
        self.events.length = asked;
        Ok(self)
    }

    pub(super) fn queues(&self) -> Vec<QueueConfig> {
        let visibility_timeout =
            if self.template_visibility { TEMPLATE_VISIBILITY } else { VISIBILITY };
        let dead_letter_queue = DEAD_LETTERS.to_owned();
        let redrive = Some(Redrive { max_receives: MAX_RECEIVES, dead_letter_queue });
        let (commands, letters) = (QueueConfig::new(COMMANDS), QueueConfig::new(DEAD_LETTERS));
        vec![
            QueueConfig { visibility_timeout, redrive, ..commands },
            QueueConfig { visibility_timeout, retention: DEAD_LETTER_RETENTION, ..letters },
        ]
    }
}

/// The stack cannot be started. Somebody has to change how it is called.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// A port is taken.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A function does not take its settings.
    #[error(transparent)]
    Environment(#[from] EnvError),
    /// The tables cannot be opened.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The tables of the data directory cannot be opened.
    #[error("{}: {source}; see that its disk has room, or name another directory with --data-dir", .path.display())]
    Tables {
        /// Their file.
        path: PathBuf,
        /// The cause.
        source: EngineError,
    },
    /// There are no threads for the functions.
    #[error("the threads of the functions could not be started: {0}")]
    Threads(#[source] std::io::Error),
    /// The queues cannot be opened.
    #[error("the queues could not be opened: {}", .0.unredacted())]
    Queues(#[from] QueueError),
    /// The time that was asked for has passed.
    #[error(
        "--clock {asked} is in the past of this data directory, whose clock has come to {reached}: time never goes back \
         there, since what was decided by it stays. Leave --clock away to go on from there, or name another directory"
    )]
    ClockBehind {
        /// The time.
        asked: Timestamp,
        /// How far the directory has come.
        reached: Timestamp,
    },
    /// The data directory has periods of another length.
    #[error(
        "this data directory keeps events by the {kept}, and --event-period {asked} would cut time anew; leave \
         it away, or name another directory"
    )]
    OtherPeriod {
        asked: PeriodLength,
        /// The length there.
        kept: PeriodLength,
    },
    /// The objects of the archive cannot be opened.
    #[error("{0}; see that its disk has room, or name another directory with --data-dir")]
    Objects(#[from] StoreError),
}

impl From<StackError> for Failure {
    fn from(error: StackError) -> Self {
        Self::Usage(error.to_string())
    }
}
