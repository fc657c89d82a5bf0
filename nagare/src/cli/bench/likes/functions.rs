//! The functions, built as their own programs build them.

use fanout_writer::{CommandQueue, DeadLetterQueue, Sizes, Writer};
use projector::Projector;
use shared::activities::changes::Copies;
use shared::command::InternalSeal;
use shared::crypto::seal::{MIN_SECRET_LENGTH, Secrets};
use shared::queue::Sender;
use shared::runtime::metrics::Metrics;
use shared::values::Retention;

use super::super::super::Failure;
use super::stage::{Stage, broken};
use crate::local::{COMMANDS, DEAD_LETTERS};

/// The writer, otherwise as the function builds it.
pub(super) fn writer(stage: &Stage) -> Result<Writer, Failure> {
    let sender = |queue| Sender::new(stage.sqs.clone(), stage.wire.queue_url(queue));
    let secrets = Secrets::new(&[0; MIN_SECRET_LENGTH]).map_err(|e| broken(&e))?;
    Ok(Writer {
        ledger: stage.tables.ledger.clone(),
        facts: stage.tables.facts.clone(),
        timelines: stage.tables.timelines.clone(),
        commands: CommandQueue::new(sender(COMMANDS), InternalSeal::new(&secrets)),
        dead_letters: DeadLetterQueue(sender(DEAD_LETTERS)),
        sizes: Sizes::default(),
        retention: Retention::default(),
        metrics: Metrics::off(),
        clock: stage.clock.clone(),
        change_log_copies: Copies::default(),
        hold: stage.hold,
    })
}

/// The projector, otherwise as the function builds it.
pub(super) fn projector(stage: &Stage) -> Projector {
    Projector {
        facts: stage.tables.facts.clone(),
        views: stage.tables.views.clone(),
        metrics: Metrics::off(),
        clock: stage.clock.clone(),
    }
}
