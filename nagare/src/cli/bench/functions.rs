//! The functions, built as their own programs build them.

use fanout_writer::{CommandQueue, DeadLetterQueue, Sizes, Writer};
use projector::Projector;
use shared::activities::changes::Copies;
use shared::command::InternalSeal;
use shared::crypto::seal::{MIN_SECRET_LENGTH, Secrets};
use shared::queue::Sender;
use shared::rooms::KnownRooms;
use shared::runtime::hold::Hold;
use shared::runtime::metrics::Metrics;
use shared::values::Retention;

use super::super::Failure;
use super::stage::{Stage, broken};
use crate::local::{COMMANDS, DEAD_LETTERS};

/// The writer, otherwise as the function builds it.
pub(super) fn writer(stage: &Stage) -> Result<Writer, Failure> {
    Ok(Writer {
        ledger: stage.tables.ledger.clone(),
        facts: stage.tables.facts.clone(),
        views: stage.tables.views.clone(),
        timelines: stage.tables.timelines.clone(),
        commands: CommandQueue::new(sender(stage, COMMANDS), seal()?),
        dead_letters: DeadLetterQueue(sender(stage, DEAD_LETTERS)),
        sizes: Sizes::default(),
        retention: Retention::default(),
        metrics: Metrics::off(),
        clock: stage.clock.clone(),
        change_log_copies: Copies::default(),
        known_rooms: KnownRooms::default(),
        hold: Hold::default(),
    })
}

/// The projector, otherwise as the function builds it.
pub(super) fn projector(stage: &Stage) -> Result<Projector, Failure> {
    Ok(Projector {
        facts: stage.tables.facts.clone(),
        views: stage.tables.views.clone(),
        metrics: Metrics::off(),
        clock: stage.clock.clone(),
        dead_letters: projector::DeadLetterQueue::new(sender(stage, DEAD_LETTERS), seal()?),
        read_notifications: Retention::default(),
    })
}

/// What sends to one of the queues.
pub(super) fn sender(stage: &Stage, queue: &str) -> Sender {
    Sender::new(stage.sqs.clone(), stage.wire.queue_url(queue))
}

fn seal() -> Result<InternalSeal, Failure> {
    let secrets = Secrets::new(&[0; MIN_SECRET_LENGTH]).map_err(|e| broken(&e))?;
    Ok(InternalSeal::new(&secrets))
}
