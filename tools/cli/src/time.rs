//! The clock of a local stack, how long it keeps events, and when viewers are idle: options of `nagare up`.

use clap::Args;
use shared::history::events::{EventSettings, PeriodLength};
use shared::platform::values::{Timestamp, TimestampError};
use shared::social::follows::IdleViewers;

/// The longest that events are kept, in days: a hundred years.
const LONGEST: i64 = 36_525;

#[derive(Debug, Clone, Default, Args)]
pub(super) struct Time {
    /// Start at this instant (RFC 3339, or a date in UTC) and go on from there: all of the stack lives by this clock. With
    /// --data-dir it goes on where it was when the stack is started again without this option.
    #[arg(long, value_name = "T", value_parser = instant)]
    pub(super) clock: Option<Timestamp>,
    /// How time is cut into tables of events, as the template's `EventPeriod`: day, week or month, which it is unless
    /// something else is said. A data directory keeps to the first.
    #[arg(long, value_name = "LENGTH")]
    pub(super) event_period: Option<PeriodLength>,
    /// Days after the end of a period in which events of it are still taken, as `EventLatenessDays`.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(..=LONGEST))]
    event_lateness_days: Option<u32>,
    /// Days after the end of a period in which its events are readable, as `EventDays`.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(..=LONGEST))]
    event_days: Option<u32>,
    /// Days after the end of a period in which its archive is kept, as `EventArchiveDays`; 0: for ever.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(..=LONGEST))]
    event_archive_days: Option<u32>,
    /// Skip viewers who have not read their timeline for this many days, as `IdleDays`: 0, which is never, or 7 to 3650.
    #[arg(long, value_name = "DAYS", default_value = "0")]
    pub(super) idle_days: IdleViewers,
}

impl Time {
    /// How events are kept.
    pub(super) fn events(&self) -> EventSettings {
        let default = EventSettings::default();
        EventSettings {
            lateness_days: self.event_lateness_days.unwrap_or(default.lateness_days),
            days: self.event_days.unwrap_or(default.days),
            archive_days: self.event_archive_days.unwrap_or(default.archive_days),
            ..default
        }
    }
}

/// An instant, or the start of a day.
pub(super) fn instant(text: &str) -> Result<Timestamp, TimestampError> {
    Timestamp::parse_date(text).or_else(|_| Timestamp::parse(text))
}
