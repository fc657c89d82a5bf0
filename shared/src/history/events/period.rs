//! Periods: time is cut into tables.

use std::fmt;
use std::str::FromStr;

use time::{Date, Month, OffsetDateTime, Weekday};

use crate::platform::values::Timestamp;

const DAY_MILLIS: i64 = 86_400_000;

/// The length of periods. It is chosen once for a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PeriodLength {
    /// A day in UTC, named `2026-11-20`.
    Day,
    /// A week from Monday, named `2026-W48` by ISO 8601.
    Week,
    /// A month, named `2026-11`.
    #[default]
    Month,
}

/// A period of time whose events are in one table. Periods of one length do not overlap, and leave no gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(Start);

/// The first day. The variant is the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Start {
    Day(Date),
    Week(Date),
    Month(Date),
}

/// The text is not the name or the length of a period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeriodError {
    #[error(
        "expected a day such as 2026-11-20, a week such as 2026-W48 or a month such as 2026-11"
    )]
    Name,
    #[error("expected day, week or month")]
    Length,
}

impl PeriodLength {
    /// The period of an instant.
    #[must_use]
    pub fn period_of(self, at: Timestamp) -> Period {
        let day = date_of(at);
        Period(match self {
            Self::Day => Start::Day(day),
            Self::Week => {
                let back = i64::from(day.weekday().number_days_from_monday());
                Start::Week(date_of(at.plus_millis(-back * DAY_MILLIS)))
            }
            // Every month has a first day.
            Self::Month => Start::Month(day.replace_day(1).unwrap_or(day)),
        })
    }
}

impl Period {
    #[must_use]
    pub fn length(self) -> PeriodLength {
        match self.0 {
            Start::Day(_) => PeriodLength::Day,
            Start::Week(_) => PeriodLength::Week,
            Start::Month(_) => PeriodLength::Month,
        }
    }

    /// Its first instant.
    #[must_use]
    pub fn from(self) -> Timestamp {
        let (Start::Day(first) | Start::Week(first) | Start::Month(first)) = self.0;
        let start = first.midnight().assume_utc();
        Timestamp::from_unix_millis(start.unix_timestamp().saturating_mul(1000))
    }

    /// The first instant after it.
    #[must_use]
    pub fn to(self) -> Timestamp {
        let days = match self.0 {
            Start::Day(_) => 1,
            Start::Week(_) => 7,
            Start::Month(first) => i64::from(first.month().length(first.year())),
        };
        self.from().plus_millis(days * DAY_MILLIS)
    }

    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        self.length().period_of(self.to())
    }

    /// The one before it.
    #[must_use]
    pub fn previous(self) -> Self {
        self.length().period_of(self.from().plus_millis(-1))
    }

    /// True if an instant lies in it.
    pub fn contains(self, at: Timestamp) -> bool {
        self.from() <= at && at < self.to()
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Start::Day(day) => {
                let (year, month, day) = day.to_calendar_date();
                write!(f, "{year:04}-{:02}-{day:02}", u8::from(month))
            }
            Start::Week(monday) => {
                let (year, week, _) = monday.to_iso_week_date();
                write!(f, "{year:04}-W{week:02}")
            }
            Start::Month(first) => write!(f, "{:04}-{:02}", first.year(), u8::from(first.month())),
        }
    }
}

impl FromStr for Period {
    type Err = PeriodError;

    /// Reads a name. Only the one canonical form is accepted.
    fn from_str(name: &str) -> Result<Self, PeriodError> {
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let (year, rest) = name.split_once('-').ok_or(PeriodError::Name)?;
        let start = || {
            let numeric = (year.len() == 4 && digits(year)).then(|| year.parse::<i32>().ok())??;
            if let Some(week) = rest.strip_prefix('W') {
                let monday = Date::from_iso_week_date(numeric, week.parse().ok()?, Weekday::Monday);
                return monday.ok().map(Start::Week);
            }
            let (month, day) = rest.split_once('-').map_or((rest, None), |(m, d)| (m, Some(d)));
            let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
            let number = day.map_or(Some(1), |day| day.parse().ok())?;
            let date = Date::from_calendar_date(numeric, month, number).ok()?;
            Some(if day.is_some() { Start::Day(date) } else { Start::Month(date) })
        };
        let period = Self(start().ok_or(PeriodError::Name)?);
        if period.to_string() == name { Ok(period) } else { Err(PeriodError::Name) }
    }
}

impl FromStr for PeriodLength {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<Self, PeriodError> {
        match text {
            "day" => Ok(Self::Day),
            "week" => Ok(Self::Week),
            "month" => Ok(Self::Month),
            _ => Err(PeriodError::Length),
        }
    }
}

impl fmt::Display for PeriodLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        })
    }
}

fn date_of(at: Timestamp) -> Date {
    let seconds = at.unix_millis().div_euclid(1000);
    // A timestamp is within the range of `time`.
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH).date()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LENGTHS: [PeriodLength; 3] = [PeriodLength::Day, PeriodLength::Week, PeriodLength::Month];

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("an instant")
    }

    #[test]
    fn names_are_those_of_the_calendar() {
        let named = |length: PeriodLength, text| length.period_of(at(text)).to_string();
        assert_eq!(named(PeriodLength::Day, "2026-11-20T23:59:59.999Z"), "2026-11-20");
        assert_eq!(named(PeriodLength::Week, "2026-11-29T23:59:59.999Z"), "2026-W48");
        // The week of the new year belongs to the year of its Thursday.
        assert_eq!(named(PeriodLength::Week, "2027-01-03T12:00:00Z"), "2026-W53");
        assert_eq!(named(PeriodLength::Week, "2024-12-30T00:00:00Z"), "2025-W01");
        assert_eq!(named(PeriodLength::Month, "2024-02-29T12:00:00Z"), "2024-02");
    }

    #[test]
    fn only_the_canonical_name_is_read() {
        for name in ["2026-11-20", "2026-W48", "2026-11", "2020-W53", "0999-01"] {
            assert_eq!(name.parse::<Period>().map(|it| it.to_string()), Ok(name.to_owned()));
        }
        for name in
            ["", "2026", "2026-13", "2026-00", "2026-W54", "2026-W0", "2026-1", "2026-02-30"]
        {
            assert_eq!(name.parse::<Period>(), Err(PeriodError::Name), "{name}");
        }
        for name in ["2026-11-20T", "26-11", "+026-11", "2026-11-20-1", "2026-W+1"] {
            assert_eq!(name.parse::<Period>(), Err(PeriodError::Name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_instant_is_in_one_period(millis in 0_i64..4_000_000_000_000, which in 0..3_usize) {
            let at = Timestamp::from_unix_millis(millis);
            let period = LENGTHS[which].period_of(at);
            prop_assert!(period.contains(at));
            prop_assert!(!period.next().contains(at) && !period.previous().contains(at));
            prop_assert_eq!(period.next().from(), period.to());
            prop_assert_eq!(period.next().previous(), period);
            prop_assert_eq!(period.to_string().parse::<Period>(), Ok(period));
            prop_assert!(period.to_string() < period.next().to_string());
        }
    }
}
