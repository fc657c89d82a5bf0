//! Scores: a number from 0 to 100 that says how a customer does, computed when it is read.

use std::fmt;

use serde::Deserialize;

use crate::history::events::Period;
use crate::history::summaries::CustomerSummary;
use crate::platform::message::Object;
#[cfg(test)]
use crate::platform::message::{Member as _, MemberSchema, ValueSchema};
use crate::platform::values::EventName;

const DAY_MILLIS: i64 = 86_400_000;
/// The most that a base, points and their bound may be, either way.
const MOST: i64 = 1_000_000;
const MOST_MEASURES: usize = 16;
const MOST_DAYS: u16 = 90;

pub(super) const BASE: &str = "a whole number from -1000000 to 1000000";
pub(super) const MEASURES: &str = "an array of 1 to 16 measures with `event`, `days` (1 to 90), `points` (-1000000 to 1000000) and `most` (0 to 1000000)";
pub(super) const ALERT_BELOW: &str = "a whole number from 0 to 100";

/// How a score is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Score {
    base: i64,
    measures: Vec<Measure>,
    alert_below: Option<u8>,
}

/// What is added for the events of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    event: EventName,
    days: u16,
    points: i64,
    most: i64,
}

impl Measure {
    fn read(object: &Object<'_>) -> Option<Self> {
        Some(Self {
            event: object.value("event").ok()??,
            days: object.value("days").ok()??,
            points: object.value("points").ok()??,
            most: object.value("most").ok()??,
        })
    }

    fn is_valid(&self) -> bool {
        (1..=MOST_DAYS).contains(&self.days)
            && (-MOST..=MOST).contains(&self.points)
            && (0..=MOST).contains(&self.most)
    }

    fn value(&self, summary: &CustomerSummary, today: Period) -> i64 {
        let from = today.from().plus_millis(-DAY_MILLIS * (i64::from(self.days) - 1));
        let count = summary.counted(&self.event, from, today.to());
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.points.saturating_mul(count).clamp(-self.most, self.most)
    }
}

/// The members of a score.
#[cfg(test)]
pub(super) fn members() -> Vec<MemberSchema> {
    let number = ValueSchema::integer(-MOST..=MOST);
    let measure = ValueSchema::object(vec![
        MemberSchema::new("event", "", EventName::schema()),
        MemberSchema::new("days", "", ValueSchema::integer(1..=MOST_DAYS)),
        MemberSchema::new("points", "", number.clone()),
        MemberSchema::new("most", "", ValueSchema::integer(0..=MOST)),
    ]);
    let below = ValueSchema::integer(0..=100).or_null().optional();
    vec![
        MemberSchema::new("base", "The score of a customer without events.", number),
        MemberSchema::new("measures", "", ValueSchema::list(measure, 1..=MOST_MEASURES)),
        MemberSchema::new("alert_below", "A score below it gives an alert.", below),
    ]
}

impl Score {
    /// One of these parts, each as JSON. An error says which member is bad, and what was expected.
    ///
    /// # Errors
    /// The name of the member, and what was expected.
    pub(super) fn parse(
        base: &str,
        measures: &str,
        alert_below: Option<&str>,
    ) -> Result<Self, (&'static str, &'static str)> {
        let base = base.parse().ok().filter(|it| (-MOST..=MOST).contains(it));
        let base = base.ok_or(("base", BASE))?;
        let measures = Object::list(measures, &[&["event", "days", "points", "most"]]);
        let measures = measures
            .and_then(|all| all.iter().map(Measure::read).collect::<Option<Vec<_>>>())
            .filter(|all| {
                (1..=MOST_MEASURES).contains(&all.len()) && all.iter().all(Measure::is_valid)
            });
        let measures = measures.ok_or(("measures", MEASURES))?;
        let alert_below = alert_below.filter(|json| *json != "null");
        let alert_below = alert_below.map(|json| json.parse().ok().filter(|it| *it <= 100));
        let alert_below = match alert_below {
            Some(None) => return Err(("alert_below", ALERT_BELOW)),
            found => found.flatten(),
        };
        Ok(Self { base, measures, alert_below })
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub(super) fn stored(json: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct StoredFormula<'a> {
            base: i64,
            #[serde(borrow)]
            measures: &'a serde_json::value::RawValue,
            alert_below: Option<u8>,
        }
        let it: StoredFormula<'_> = serde_json::from_str(json).ok()?;
        let below = it.alert_below.map(|below| below.to_string());
        Self::parse(&it.base.to_string(), it.measures.get(), below.as_deref()).ok()
    }

    /// Below which value there is an alert, if there is any.
    pub fn alert_below(&self) -> Option<u8> {
        self.alert_below
    }

    /// What it comes to on a UTC day, that day included as far as it goes.
    pub fn value(&self, summary: &CustomerSummary, today: Period) -> u8 {
        let measured: i64 = self.measures.iter().map(|it| it.value(summary, today)).sum();
        u8::try_from((self.base + measured).clamp(0, 100)).unwrap_or(0)
    }

    /// How many days its measures look at, at most: 1 to 90.
    pub fn days(&self) -> u16 {
        self.measures.iter().map(|it| it.days).max().unwrap_or(1)
    }

    pub(super) fn measures_json(&self) -> String {
        let measures = self.measures.iter().map(ToString::to_string).collect::<Vec<_>>();
        format!("[{}]", measures.join(","))
    }

    pub(super) fn base(&self) -> i64 {
        self.base
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, days, points, most } = self;
        write!(f, r#"{{"event":"{event}","days":{days},"points":{points},"most":{most}}}"#)
    }
}

/// As JSON, in one canonical form.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"base":{},"measures":{}"#, self.base, self.measures_json())?;
        if let Some(below) = self.alert_below {
            write!(f, r#","alert_below":{below}"#)?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::events::PeriodLength;
    use crate::platform::values::Timestamp;
    use proptest::prelude::*;

    fn day(number: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_795_000_000_000 + number * DAY_MILLIS)
    }

    #[test]
    fn what_is_out_of_bounds_is_no_score() {
        let good = r#"[{"event":"e","days":90,"points":-3,"most":60}]"#;
        assert!(Score::parse("40", good, Some("30")).is_ok());
        assert!(Score::parse("40", good, Some("null")).is_ok());
        let bad = [
            ("1.5", good, None, "base"),
            ("1000001", good, None, "base"),
            ("40", "[]", None, "measures"),
            ("40", r#"[{"event":"e","days":91,"points":1,"most":1}]"#, None, "measures"),
            ("40", r#"[{"event":"e","days":0,"points":1,"most":1}]"#, None, "measures"),
            ("40", r#"[{"event":"e","days":1,"points":1,"most":-1}]"#, None, "measures"),
            ("40", r#"[{"event":"e","days":1,"points":1000001,"most":1}]"#, None, "measures"),
            ("40", good, Some("101"), "alert_below"),
            ("40", good, Some("\"3\""), "alert_below"),
        ];
        for (base, measures, below, member) in bad {
            let found = Score::parse(base, measures, below).map_err(|(member, _)| member);
            assert_eq!(found, Err(member), "{base} {measures} {below:?}");
        }
        let many = format!("[{}]", vec![&good[1..good.len() - 1]; 17].join(","));
        assert!(Score::parse("0", &many, None).is_err());
    }

    proptest! {
        #[test]
        fn a_score_is_a_recount(
            events in proptest::collection::vec((0_usize..2, 0_i64..40), 0..40),
            base in -50_i64..150,
            measures in proptest::collection::vec((0_usize..2, 1_u16..30, -9_i64..9, 0_i64..60), 1..4),
            today in 0_i64..40,
        ) {
            let names = ["login", "order"].map(|name| EventName::new(name).expect("a name"));
            let mut summary = CustomerSummary::default();
            for (name, on) in &events {
                summary.count(&names[*name], day(*on));
            }
            let score = Score {
                base,
                measures: measures.iter().map(|(name, days, points, most)| Measure {
                    event: names[*name].clone(), days: *days, points: *points, most: *most,
                }).collect(),
                alert_below: None,
            };
            let mut expected = base;
            for (name, days, points, most) in measures {
                let from = today - i64::from(days);
                let counts = |(of, on): &&(usize, i64)| *of == name && *on > from && *on <= today;
                let count = events.iter().filter(counts).count() as i64;
                expected += (points * count).clamp(-most, most);
            }
            let today = PeriodLength::Day.period_of(day(today));
            prop_assert_eq!(i64::from(score.value(&summary, today)), expected.clamp(0, 100));
            prop_assert_eq!(Score::stored(&score.to_string()), Some(score));
        }
    }
}
