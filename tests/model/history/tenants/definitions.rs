//! Rules and scores as a plain reader of the contract has them: of all that was said of an id the latest wins, the delete on a tie, then the text
//! that is greater byte by byte.

use super::calendar::{Day, date, day_of, instant, month, week};
use super::taken::Event;

pub(super) const WITHIN: [&str; 4] = ["day", "week", "month", "ever"];

/// What a score adds for the events of one name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    pub(super) event: &'static str,
    pub(super) days: i64,
    pub(super) points: i64,
    pub(super) most: i64,
}

/// What a rule or a score is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Says {
    Counted { event: &'static str, count: usize, within: &'static str },
    Silent { days: i64 },
    Score { base: i64, measures: Vec<Measure>, below: Option<i64> },
    Deleted,
}

/// That a rule or a score was defined or deleted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Definition {
    pub(super) tenant: &'static str,
    pub(super) is_score: bool,
    pub(super) id: &'static str,
    pub(super) at: i64,
    pub(super) says: Says,
}

impl Definition {
    /// Whose, of which sort, and which.
    pub(super) fn subject(&self) -> (&'static str, bool, &'static str) {
        (self.tenant, self.is_score, self.id)
    }

    /// The greatest wins.
    pub(super) fn rank(&self) -> (i64, bool, String) {
        (self.at, self.says == Says::Deleted, self.text())
    }

    /// The member with its id.
    pub(super) fn id_name(&self) -> &'static str {
        if self.is_score { "score_id" } else { "rule_id" }
    }

    /// What is said, as JSON.
    fn text(&self) -> String {
        match &self.says {
            Says::Counted { event, count, within } => {
                format!(r#"{{"event":"{event}","count":{count},"within":"{within}"}}"#)
            }
            Says::Silent { days } => format!(r#"{{"silent_days":{days}}}"#),
            Says::Score { base, measures, below } => {
                let measure = |Measure { event, days, points, most }: &Measure| {
                    format!(
                        r#"{{"event":"{event}","days":{days},"points":{points},"most":{most}}}"#
                    )
                };
                let measures: Vec<_> = measures.iter().map(measure).collect();
                let below = below.map(|below| format!(r#","alert_below":{below}"#));
                let below = below.unwrap_or_default();
                format!(r#"{{"base":{base},"measures":[{}]{below}}}"#, measures.join(","))
            }
            Says::Deleted => String::new(),
        }
    }

    /// The message that says it.
    pub(super) fn body(&self) -> String {
        let (sort, tenant) = (if self.is_score { "score" } else { "rule" }, self.tenant);
        let becomes = if self.says == Says::Deleted { "deleted" } else { "defined" };
        let text = self.text();
        let said = match &self.says {
            Says::Deleted => String::new(),
            Says::Score { .. } => format!(",{}", &text[1..text.len() - 1]),
            _ => format!(r#","when":{text}"#),
        };
        format!(
            r#"{{"type":"{sort}.{becomes}","tenant_id":"{tenant}","{}":"{}","at":"{}"{said}}}"#,
            self.id_name(),
            self.id,
            instant(self.at)
        )
    }

    /// Whether it is decided once for each day.
    pub(super) fn is_daily(&self) -> bool {
        matches!(self.says, Says::Silent { .. } | Says::Score { below: Some(_), .. })
    }

    /// Whether it holds at the end of a day of a customer who did this.
    pub(super) fn holds(&self, events: &[&Event], day: Day) -> bool {
        let on = |event: &Event| day_of(event.at);
        let is_somebody = events.iter().any(|event| on(event) <= day);
        is_somebody
            && match &self.says {
                Says::Silent { days } => {
                    !events.iter().any(|event| (day - days + 1..=day).contains(&on(event)))
                }
                Says::Score { below: Some(below), .. } => self.value(events, day) < *below,
                _ => false,
            }
    }

    /// What a score comes to on a day.
    pub(super) fn value(&self, events: &[&Event], today: Day) -> i64 {
        let Says::Score { base, measures, .. } = &self.says else { return 0 };
        let mut value = *base;
        for measure in measures {
            let counts = |it: &&&Event| {
                it.name == measure.event
                    && (today - measure.days + 1..=today).contains(&day_of(it.at))
            };
            let count = i64::try_from(events.iter().filter(counts).count()).unwrap();
            value += (measure.points * count).clamp(-measure.most, measure.most);
        }
        value.clamp(0, 100)
    }
}

/// What the period is called that a day lies in.
pub(super) fn period(within: &str, day: Day) -> String {
    match within {
        "day" => date(day),
        "week" => week(day),
        "month" => month(day),
        _ => "ever".to_owned(),
    }
}
