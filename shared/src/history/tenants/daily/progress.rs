//! The progress of the decisions of a tenant, and the day that is due.

use super::{DailyDefinition, MOST_DAYS};
use crate::history::summaries::Day;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::values::{CustomerId, TenantId};

/// A day of a tenant that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueDay {
    pub tenant_id: TenantId,
    pub day: Day,
    /// The definitions to decide for it.
    pub definitions: Vec<DailyDefinition>,
    /// The number of days before it that are skipped because they are too many.
    pub given_up: u32,
}

/// The progress of the decisions of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyProgress {
    pub tenant_id: TenantId,
    /// The last day that is decided for all customers.
    pub decided: Day,
    /// A later day, with the last customer, by id, for whom it is decided, if that was noted.
    pub(super) behind: Option<(Day, CustomerId)>,
    pub(super) version: i64,
}

impl DailyProgress {
    /// The day to decide next, if one is due, and by which of the definitions that are in force.
    #[must_use]
    pub fn next(&self, mut definitions: Vec<DailyDefinition>, last_due: Day) -> Option<DueDay> {
        let begins = definitions.iter().map(|definition| definition.begins).min()?;
        let next = (self.decided + 1).max(begins);
        let day = next.max((last_due + 1).saturating_sub(MOST_DAYS));
        definitions.retain(|definition| definition.begins <= day);
        let (tenant_id, given_up) = (self.tenant_id.clone(), day - next);
        (day <= last_due).then_some(DueDay { tenant_id, day, definitions, given_up })
    }

    /// The progress after a day is decided for all customers.
    #[must_use]
    pub fn done(self, decided: Day) -> Self {
        Self { decided, behind: None, ..self }
    }

    /// The progress after a day is decided up to a customer.
    #[must_use]
    pub fn behind(self, day: Day, customer: Option<CustomerId>) -> Self {
        Self { behind: customer.map(|customer| (day, customer)), ..self }
    }

    /// The customer to continue a day after.
    #[must_use]
    pub fn position(&self, day: Day) -> Option<&CustomerId> {
        self.behind.as_ref().filter(|(of, _)| *of == day).map(|(_, customer)| customer)
    }

    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let day = |name| Day::try_from(row.count(name)?).map_err(|_| row.corrupt(name, "a day"));
        let behind: Option<CustomerId> = row.optional("behind", "the id of a customer")?;
        Ok(Self {
            tenant_id: row.parsed("sk", "the id of a tenant")?,
            decided: day("decided")?,
            behind: behind.map(|behind| Ok::<_, DynamoError>((day("day")?, behind))).transpose()?,
            version: row.number("version")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::summaries::start_of;
    use crate::history::tenants::{InForce, RuleDefinition, When};

    fn begins(days: &[Day]) -> Vec<DailyDefinition> {
        let rule = |day: &Day| RuleDefinition {
            rule_id: format!("r{day}").parse().expect("an id"),
            at: start_of(1),
            recorded_at: start_of(*day),
            when: When::Silent(1),
        };
        let rules = days.iter().map(rule).collect();
        DailyDefinition::among(InForce { rules, scores: Vec::new() })
    }

    #[test]
    fn days_are_due_in_order_from_the_first_of_a_definition_on() {
        let tenant_id = TenantId::new("acme").expect("an id");
        let progress = DailyProgress { tenant_id, decided: 100, behind: None, version: 0 };
        let next = |definitions: &[Day], last_due| {
            let due = progress.next(begins(definitions), last_due)?;
            Some((due.day, due.definitions.len(), due.given_up))
        };
        assert_eq!(next(&[], 110), None);
        assert_eq!(next(&[90, 101, 102], 110), Some((101, 2, 0)));
        assert_eq!(next(&[105, 106], 110), Some((105, 1, 0)));
        assert_eq!(next(&[90], 100), None);
        assert_eq!(next(&[111], 110), None);
        assert_eq!(next(&[90], 135), Some((101, 1, 0)));
        assert_eq!(next(&[90], 140), Some((106, 1, 5)));
    }
}
