//! The metrics of an invocation: how commands ended, what their writes cost, and the fan-outs that ended. Each value of a
//! dimension is a metric that is paid for, so none has the type of the command: log lines have it (docs/OPERATIONS.md), and
//! every message has one.

use serde::Serialize;
use shared::platform::runtime::metrics::{Count, Durations, MetricNames, Metrics, Record};
use shared::platform::values::Timestamp;

use crate::disposition::Disposition;
use crate::message::Handled;

/// The metrics of a batch.
#[derive(Serialize, Default)]
#[serde(rename_all = "PascalCase")]
struct Commands {
    commands_applied: Count,
    /// Older than retention.
    commands_expired: Count,
    commands_suppressed: Count,
    /// On record, and handed out in segments.
    commands_split: Count,
    /// Handed on before their end.
    commands_continued: Count,
    /// Those that no delivery can help: dead letters, or counted.
    commands_refused: Count,
    /// Those of them that name neither a viewer nor an actor nor a tenant. A producer is the reason, and no person can be.
    commands_unreadable: Count,
    commands_failed: Count,
    commands_given_up: Count,
    /// Put into timelines or removed.
    entries_written: Count,
    /// Sent beyond those: again, or in vain.
    entries_repeated: Count,
    /// Given back by calls that succeeded.
    items_unprocessed: Count,
    calls_retried: Count,
    /// Events that the bus does not take.
    outbound_refused: Count,
    /// Of each fan-out that ended, from its first page to its end.
    fan_out_duration: Durations,
    /// From `published_at` to the last entry.
    fan_out_latency: Durations,
}

impl Record for Commands {
    const BY: Option<&'static str> = None;
}

/// Counts what a batch came to.
pub(crate) fn count(metrics: &Metrics, batch: &[Handled], refused: u64, now: Timestamp) {
    let mut commands = Commands { outbound_refused: refused.into(), ..Commands::default() };
    batch.iter().for_each(|handled| commands.add(handled));
    metrics.record(&commands, now);
}

impl Commands {
    fn add(&mut self, handled: &Handled) {
        *self.count(&handled.disposition) += 1;
        self.commands_unreadable += u64::from(handled.is_unreadable);
        self.entries_written += handled.usage.written;
        self.entries_repeated += handled.usage.sends.saturating_sub(handled.usage.written);
        self.items_unprocessed += handled.usage.unprocessed;
        self.calls_retried += handled.usage.retries;
        if let Some(end) = handled.disposition.fan_out() {
            self.fan_out_duration.add(end.took);
            if let Some(latency) = end.latency {
                self.fan_out_latency.add(latency);
            }
        }
    }

    fn count(&mut self, disposition: &Disposition) -> &mut Count {
        match disposition {
            Disposition::Applied(_) | Disposition::Unseen | Disposition::AppliedBut(_) => {
                &mut self.commands_applied
            }
            Disposition::Expired => &mut self.commands_expired,
            Disposition::Suppressed => &mut self.commands_suppressed,
            Disposition::Split(_) => &mut self.commands_split,
            Disposition::Continued | Disposition::Undecided => &mut self.commands_continued,
            Disposition::Refused(_) => &mut self.commands_refused,
            Disposition::Retry(..) => &mut self.commands_failed,
            Disposition::GivenUp(_) => &mut self.commands_given_up,
        }
    }
}

/// What is counted.
pub fn metric_names() -> MetricNames {
    MetricNames::of::<Commands>()
}
