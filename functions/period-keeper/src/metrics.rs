//! The metrics of a tick.

use serde::Serialize;
use shared::history::events::schedule::wants_table;
use shared::history::events::{EventSettings, PeriodRow, PeriodState};
use shared::platform::runtime::metrics::{Count, MetricNames, Record};
use shared::platform::values::Timestamp;

/// A tick that ended. An alarm fires if there is none.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Tick {
    pub(crate) keeper_ticks: Count,
    /// Steps that were done, and days that were decided.
    pub(crate) keeper_steps: Count,
    pub(crate) failed_steps: Count,
    /// Periods whose table and archive differ, or that overlap one of another length.
    pub(crate) disputed_periods: Count,
    /// Periods without a table although their events are accepted now, or within a day.
    pub(crate) unmade_periods: Count,
    /// Periods with an erasure in progress: nothing else is done with them.
    pub(crate) marked_periods: Count,
    /// Tenants and customers that could not be decided on because of their stored items.
    pub(crate) undecided_rules: Count,
    /// Events that the bus refuses.
    pub(crate) outbound_refused: Count,
}

impl Default for Tick {
    fn default() -> Self {
        Self {
            keeper_ticks: 1.into(),
            keeper_steps: Count::default(),
            failed_steps: Count::default(),
            disputed_periods: Count::default(),
            unmade_periods: Count::default(),
            marked_periods: Count::default(),
            undecided_rules: Count::default(),
            outbound_refused: Count::default(),
        }
    }
}

impl Tick {
    /// Counts the state of a period at the end of the tick.
    pub(crate) fn see(&mut self, row: &PeriodRow, settings: &EventSettings, now: Timestamp) {
        let is_unmade = row.state == PeriodState::Planned && wants_table(row.period, settings, now);
        self.unmade_periods += u64::from(is_unmade);
        self.marked_periods += u64::from(row.forgetting);
        self.disputed_periods += u64::from(row.state == PeriodState::Disputed);
    }
}

impl Record for Tick {
    const BY: Option<&'static str> = None;
}

/// What is counted.
pub fn metric_names() -> MetricNames {
    MetricNames::of::<Tick>()
}
