//! What is counted: dead letters. The alarms stand on these metrics and not on the depth of the queue,
//! which this function keeps at zero.

use serde::Serialize;
use shared::platform::dead_letters::{DeadLetter, STREAM_BATCH, known_reason};
use shared::platform::runtime::metrics::{Count, MetricNames, Record};
use shared::platform::values::RefusalReason;

/// Dead letters that were kept.
#[derive(Serialize, Default)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Arrivals {
    pub(crate) reason: &'static str,
    pub(crate) dead_letters: Count,
    /// Those that somebody has to be woken for.
    pub(crate) system_dead_letters: Count,
}

impl Arrivals {
    /// One letter. Nobody is woken for what a producer got wrong, nor by somebody who sends to this queue.
    pub(crate) fn one(letter: &DeadLetter) -> Self {
        let reason = known_reason(&letter.reason);
        // Lambda sends those by itself, so nothing vouches for them.
        let is_ours = letter.is_verified() || reason == STREAM_BATCH;
        let wakes = is_ours && RefusalReason::parse(reason).is_none();
        let system_dead_letters = u64::from(wakes).into();
        Self { reason, dead_letters: 1.into(), system_dead_letters }
    }
}

impl Record for Arrivals {
    const BY: Option<&'static str> = Some("Reason");
}

/// What is counted.
pub fn metric_names() -> MetricNames {
    MetricNames::of::<Arrivals>()
}
