//! The functions, built as their own programs build them.

use fanout_writer::{CommandQueue, DeadLetterQueue, FanOutLimits, Shares, Writer};
use function_stream::Projection;
use nagare::Failure;
use nagare_local::{COMMANDS, DEAD_LETTERS};
use projector::Projector;
use shared::command::InternalSeal;
use shared::platform::crypto::seal::{MIN_SECRET_LENGTH, Secrets};
use shared::platform::dead_letters::LetterSeal;
use shared::platform::outbound::Bus;
use shared::platform::queue::Sender;
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::Retention;
use shared::social::WriteQueues;
use shared::social::activities::ChangeLog;
use shared::social::follows::Parking;

use super::stage::{Stage, broken};

/// The writer, otherwise as the function builds it.
pub(super) fn writer(stage: &Stage) -> Result<Writer, Failure> {
    let secrets = secrets()?;
    Ok(Writer {
        ledger: stage.tables.ledger.clone(),
        facts: stage.tables.facts.clone(),
        views: stage.tables.views.clone(),
        timelines: stage.tables.timelines.clone(),
        commands: CommandQueue::new(sender(stage, COMMANDS), InternalSeal::new(&secrets)),
        dead_letters: DeadLetterQueue::new(sender(stage, DEAD_LETTERS), LetterSeal::new(&secrets)),
        limits: FanOutLimits::default(),
        retention: Retention::default(),
        parking: Parking::off(),
        metrics: Metrics::off(),
        clock: stage.clock.clone(),
        change_log: ChangeLog::default(),
        queues: WriteQueues::default(),
        events: Some(stage.tables.events.clone()),
        hold: Hold::default(),
        bus: Bus::off(),
        shares: Shares::default(),
    })
}

/// The projector, otherwise as the function builds it.
pub(super) fn projector(stage: &Stage) -> Result<Projector, Failure> {
    let secrets = secrets()?;
    let projection = Projection {
        facts: stage.tables.facts.clone(),
        views: stage.tables.views.clone(),
        metrics: Metrics::off(),
        clock: stage.clock.clone(),
        dead_letters: function_stream::DeadLetterQueue::new(
            sender(stage, DEAD_LETTERS),
            InternalSeal::new(&secrets),
            LetterSeal::new(&secrets),
        ),
        bus: Bus::off(),
    };
    Ok(Projector { projection, read_notifications: Retention::default() })
}

/// What sends to one of the queues.
pub(super) fn sender(stage: &Stage, queue: &str) -> Sender {
    Sender::new(stage.sqs.clone(), stage.wire.queue_url(queue))
}

fn secrets() -> Result<Secrets, Failure> {
    Secrets::new(&[0; MIN_SECRET_LENGTH]).map_err(|e| broken(&e))
}
