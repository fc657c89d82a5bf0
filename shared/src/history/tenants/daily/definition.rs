//! What is decided once for each UTC day.

use crate::history::events::{Customer, Period, PeriodLength};
use crate::history::summaries::{CustomerSummary, Day, day_of, start_of};
use crate::history::tenants::alerts::{AlertWhen, id_of};
use crate::history::tenants::{AlertSource, InForce, Score, When};
use crate::platform::values::{AlertId, Timestamp};

/// A rule or a score that is decided once for each UTC day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyDefinition {
    pub source: AlertSource,
    /// Since when.
    pub at: Timestamp,
    /// What it says, as JSON.
    pub says: String,
    /// The first day that it is decided for: the one in which it was recorded.
    pub begins: Day,
    asks: Asks,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Asks {
    /// Whether nothing happened on the last days.
    Silent {
        days: u16,
    },
    Below {
        score: Score,
        value: u8,
    },
}

impl DailyDefinition {
    pub fn among(in_force: InForce) -> Vec<Self> {
        let rules = in_force.rules.into_iter().filter_map(|rule| {
            let When::Silent(days) = rule.when else { return None };
            Some(Self {
                source: AlertSource::Rule(rule.rule_id),
                at: rule.at,
                says: rule.when.to_string(),
                begins: day_of(rule.recorded_at),
                asks: Asks::Silent { days },
            })
        });
        let scores = in_force.scores.into_iter().filter_map(|it| {
            let value = it.score.alert_below()?;
            Some(Self {
                source: AlertSource::Score(it.score_id),
                at: it.at,
                says: it.score.to_string(),
                begins: day_of(it.recorded_at),
                asks: Asks::Below { score: it.score, value },
            })
        });
        rules.chain(scores).collect()
    }

    /// The alert that it gives about a customer for a day. No other definition gives it.
    pub(super) fn alert_id(&self, customer: &Customer, day: Day) -> AlertId {
        let when = AlertWhen::Day(period(day));
        id_of(customer, &self.source, self.at, &self.says, when)
    }

    /// The first of the days that it looks at, to decide for one.
    pub fn first_day(&self, day: Day) -> Day {
        let days = match &self.asks {
            Asks::Silent { days } => *days,
            Asks::Below { score, .. } => score.days(),
        };
        (day + 1).saturating_sub(u32::from(days))
    }

    /// Whether it holds at the end of a day of a customer who did this. A customer who has had no event by then is none.
    pub fn holds(&self, summary: &CustomerSummary, day: Day) -> bool {
        let end = start_of(day + 1);
        if summary.first_at().is_none_or(|first| first >= end) {
            return false;
        }
        match &self.asks {
            Asks::Silent { .. } => summary.counted_all(start_of(self.first_day(day)), end) == 0,
            Asks::Below { score, value } => score.value(summary, period(day)) < *value,
        }
    }

    /// Whether it is known without the blocks of a view whether it holds.
    pub fn is_plain(&self, without_blocks: &CustomerSummary, day: Day) -> bool {
        let from = start_of(self.first_day(day));
        let is_before = without_blocks.last_at().is_none_or(|last| last < from);
        match &self.asks {
            Asks::Silent { .. } => {
                is_before || without_blocks.counted_all(from, start_of(day + 1)) > 0
            }
            Asks::Below { .. } => is_before,
        }
    }
}

pub(super) fn period(day: Day) -> Period {
    PeriodLength::Day.period_of(start_of(day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tenants::{RuleDefinition, ScoreDefinition};
    use crate::platform::values::EventName;

    const TODAY: Day = 20_000;

    fn silent(days: u16) -> DailyDefinition {
        let rule = RuleDefinition {
            rule_id: "gone".parse().expect("an id"),
            at: start_of(1),
            recorded_at: start_of(2),
            when: When::Silent(days),
        };
        let in_force = InForce { rules: vec![rule], scores: Vec::new() };
        DailyDefinition::among(in_force).pop().expect("a daily one")
    }

    fn did(days: &[Day]) -> CustomerSummary {
        let (mut summary, name) = (CustomerSummary::default(), EventName::new("e"));
        let name = name.expect("a name");
        days.iter().for_each(|day| summary.count(&name, start_of(*day)));
        summary
    }

    #[test]
    fn silence_is_whole_days_without_events_of_somebody_who_has_had_one() {
        let holds = |days, did_on: &[Day]| silent(days).holds(&did(did_on), TODAY);
        assert!(holds(1, &[TODAY - 1]) && holds(2, &[TODAY - 2]) && holds(366, &[1]));
        assert!(!holds(1, &[TODAY]) && !holds(2, &[TODAY - 1]) && !holds(2, &[1, TODAY]));
        assert!(holds(2, &[TODAY - 2, TODAY + 1]), "what comes after the day does not count");
        assert!(!holds(1, &[]) && !holds(1, &[TODAY + 1]), "nobody yet");
    }

    #[test]
    fn a_score_is_that_of_the_day_and_one_without_a_bound_is_not_decided() {
        let measures = r#"[{"event":"e","days":2,"points":10,"most":100}]"#;
        let score = |below| ScoreDefinition {
            score_id: "health".parse().expect("an id"),
            at: start_of(1),
            recorded_at: start_of(2),
            score: Score::parse("0", measures, below).expect("a score"),
        };
        let among = |below| {
            let scores = vec![score(below)];
            DailyDefinition::among(InForce { rules: Vec::new(), scores })
        };
        assert_eq!(among(None), []);
        let it = among(Some("20")).pop().expect("a daily one");
        assert!(it.holds(&did(&[TODAY - 1, TODAY + 1]), TODAY));
        assert!(!it.holds(&did(&[TODAY - 1, TODAY]), TODAY));
        assert!(!it.holds(&did(&[TODAY + 1]), TODAY), "nobody yet");
    }

    #[test]
    fn what_a_view_has_itself_is_enough_where_it_can_be() {
        let three = silent(3);
        assert!(three.is_plain(&did(&[TODAY - 3]), TODAY), "nothing since");
        assert!(three.is_plain(&did(&[TODAY - 2, TODAY + 1]), TODAY), "something since");
        assert!(!three.is_plain(&did(&[TODAY - 3, TODAY + 1]), TODAY), "blocks may have it");
    }
}
