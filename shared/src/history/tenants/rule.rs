//! The conditions of alerts.

use std::fmt;

use serde::Deserialize;

use crate::history::events::{Period, PeriodLength};
use crate::platform::message::Object;
#[cfg(test)]
use crate::platform::message::{Member as _, MemberSchema, ValueSchema};
use crate::platform::values::{EventName, Timestamp};

/// The most events that a rule may count.
const MOST_COUNT: u64 = 1_000_000_000;
/// The most days of silence of a rule.
const MOST_SILENT_DAYS: u16 = 366;

pub(super) const EXPECTED: &str = "either `event`, `count` (1 to 1000000000) and `within` (day, week, month or ever), or `silent_days` (1 to 366)";

/// The condition of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// A number of events of one name within a period.
    Counted(CountRule),
    /// No event on the last whole days: 1 to 366 of them.
    Silent(u16),
}

/// A number of events of one name within a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountRule {
    pub event: EventName,
    /// The number of events that gives an alert, from 1.
    pub count: u64,
    pub within: Within,
}

/// The period in which events are counted, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Within {
    Day,
    Week,
    Month,
    Ever,
}

impl When {
    /// Reads JSON. `None` if it is of no form, or of both.
    pub fn parse(json: &str) -> Option<Self> {
        let object = Object::read(json, &[&["event", "count", "within", "silent_days"]]).ok()?;
        let (event, count) = (object.value("event").ok()?, object.value("count").ok()?);
        let (within, days) = (object.value("within").ok()?, object.value("silent_days").ok()?);
        match (event, count, within, days) {
            (Some(event), Some(count), Some(within), None) if (1..=MOST_COUNT).contains(&count) => {
                Some(Self::Counted(CountRule { event, count, within }))
            }
            (None, None, None, Some(days)) if (1..=MOST_SILENT_DAYS).contains(&days) => {
                Some(Self::Silent(days))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
pub(super) fn schema() -> ValueSchema {
    let null = |name| {
        let null = ValueSchema::new(r#""type": "null""#);
        MemberSchema::new(name, "", null.optional())
    };
    let within = ValueSchema::new(r#""enum": ["day", "week", "month", "ever"]"#);
    let counted = ValueSchema::object(vec![
        MemberSchema::new("event", "", EventName::schema()),
        MemberSchema::new("count", "", ValueSchema::integer(1..=MOST_COUNT)),
        MemberSchema::new("within", "", within),
        null("silent_days"),
    ]);
    let days = ValueSchema::integer(1..=MOST_SILENT_DAYS);
    let silent = ValueSchema::object(vec![
        MemberSchema::new("silent_days", "", days),
        null("event"),
        null("count"),
        null("within"),
    ]);
    ValueSchema::one_of(vec![
        counted.described("A number of events of one name within a UTC day, a week from Monday, a month, or of all time."),
        silent.described("No event on the last whole UTC days."),
    ])
    .described("Exactly one of both forms. Members of neither are ignored.")
    .named("when")
}

/// As JSON, in one canonical form.
impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted(CountRule { event, count, within }) => {
                write!(f, r#"{{"event":"{event}","count":{count},"within":"{within}"}}"#)
            }
            Self::Silent(days) => write!(f, r#"{{"silent_days":{days}}}"#),
        }
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Ever => "ever",
        })
    }
}

impl Within {
    /// The length of its periods; none of all time.
    #[must_use]
    pub fn length(self) -> Option<PeriodLength> {
        match self {
            Self::Day => Some(PeriodLength::Day),
            Self::Week => Some(PeriodLength::Week),
            Self::Month => Some(PeriodLength::Month),
            Self::Ever => None,
        }
    }

    /// The periods from the one that an instant lies in to that of another.
    pub(super) fn periods(self, first: Timestamp, last: Timestamp) -> Vec<Period> {
        let Some(length) = self.length() else { return Vec::new() };
        let from = length.period_of(first);
        let periods = std::iter::successors(Some(from), |period| Some(period.next()));
        periods.take_while(|period| period.from() <= last).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_forms_and_no_other() {
        for json in [
            r#"{"event":"login","count":10,"within":"month"}"#,
            r#"{"event":"a.b","count":1000000000,"within":"ever"}"#,
            r#"{"silent_days":366}"#,
        ] {
            let when = When::parse(json).unwrap_or_else(|| panic!("{json}"));
            assert_eq!(when.to_string(), json);
        }
        let spaced = When::parse(r#"{ "within":"day", "x":1, "count":2, "event":"e" }"#);
        let spaced = spaced.expect("a rule").to_string();
        assert_eq!(spaced, r#"{"event":"e","count":2,"within":"day"}"#);
        for json in [
            "{}",
            "null",
            "[]",
            r#"{"event":"e","count":0,"within":"day"}"#,
            r#"{"event":"e","count":1000000001,"within":"day"}"#,
            r#"{"event":"e","count":1.0,"within":"day"}"#,
            r#"{"event":"e e","count":1,"within":"day"}"#,
            r#"{"event":"e","count":1,"within":"year"}"#,
            r#"{"event":"e","count":1}"#,
            r#"{"silent_days":0}"#,
            r#"{"silent_days":367}"#,
            r#"{"silent_days":-1}"#,
            r#"{"silent_days":1,"count":1}"#,
            r#"{"silent_days":1,"silent_days":2}"#,
            r#"{"event":"e","count":1,"within":"day","silent_days":1}"#,
        ] {
            assert_eq!(When::parse(json), None, "{json}");
        }
    }
}
