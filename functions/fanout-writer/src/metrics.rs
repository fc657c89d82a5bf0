//! What is counted: how commands ended, what their writing cost, and fan-outs that came to their end;
//! for each type of command, once an invocation.

use std::collections::BTreeMap;
use std::time::Duration;

use metrique::writer::Entry;
use metrique::writer::value::VecDistribution;
use shared::metrics::{Count, Record};
use shared::{Metrics, Timestamp};

use crate::ended::{Ending, Processed};

/// What the commands of one type came to.
#[derive(Entry, Default)]
#[entry(rename_all = "PascalCase")]
struct Commands {
    command: &'static str,
    /// In effect.
    commands_applied: Count,
    /// Older than retention.
    commands_expired: Count,
    /// Publishes that a delete had overtaken.
    commands_suppressed: Count,
    /// On record, and handed out in parts.
    commands_split: Count,
    /// Parts that sent their rest on.
    commands_continued: Count,
    /// Dead letters that no delivery can help.
    commands_refused: Count,
    /// To be delivered again.
    commands_failed: Count,
    /// Dead letters that failed too often.
    commands_given_up: Count,
    /// Put into timelines or taken out.
    entries_written: Count,
    /// Sent to be written, repetitions included.
    entries_sent: Count,
    /// Given back by calls that succeeded.
    items_unprocessed: Count,
    /// Failed and made again.
    calls_retried: Count,
    /// Entries of each fan-out that ended.
    fan_out_size: VecDistribution<u64>,
    /// From its first page to its end.
    fan_out_duration: VecDistribution<Duration>,
    /// From `published_at` to the last entry.
    fan_out_latency: VecDistribution<Duration>,
}

impl Record for Commands {
    const BY: Option<&'static str> = Some("Command");
}

/// Counts what a batch came to.
pub(crate) fn count(metrics: &Metrics, batch: &[Processed], now: Timestamp) {
    let mut by_type: BTreeMap<&'static str, Commands> = BTreeMap::new();
    for processed in batch {
        let command = processed.command;
        let new = || Commands { command, ..Commands::default() };
        by_type.entry(command).or_insert_with(new).add(processed);
    }
    by_type.values().for_each(|commands| metrics.record(commands, now));
}

impl Commands {
    fn add(&mut self, processed: &Processed) {
        *self.that(processed.ended.ending) += 1;
        self.entries_written += processed.cost.entries;
        self.entries_sent += processed.cost.sends;
        self.items_unprocessed += processed.cost.unprocessed;
        self.calls_retried += processed.cost.retries;
        if let Some(end) = processed.ended.fan_out {
            self.fan_out_size.add(end.entries);
            if let Some(took) = end.took {
                self.fan_out_duration.add(took);
            }
            if let Some(latency) = end.latency {
                self.fan_out_latency.add(latency);
            }
        }
    }

    fn that(&mut self, ending: Ending) -> &mut Count {
        match ending {
            Ending::Applied => &mut self.commands_applied,
            Ending::Expired => &mut self.commands_expired,
            Ending::Suppressed => &mut self.commands_suppressed,
            Ending::Split => &mut self.commands_split,
            Ending::Continued => &mut self.commands_continued,
            Ending::Refused => &mut self.commands_refused,
            Ending::Failed => &mut self.commands_failed,
            Ending::GivenUp => &mut self.commands_given_up,
        }
    }
}
