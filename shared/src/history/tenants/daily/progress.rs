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
    /// The definitions to decide for it. Without any the walk only sends what one before it left
    /// behind.
    pub definitions: Vec<DailyDefinition>,
    /// The last day whose walk has ended, so that all its alerts are sent.
    pub told: Day,
    /// The number of days before it that are skipped because they are too many.
    pub given_up: u32,
}

/// The progress of the decisions of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyProgress {
    pub tenant_id: TenantId,
    /// The last day that is decided for all customers.
    pub decided: Day,
    /// True if the walk that has ended was without definitions: nothing is left behind.
    pub(super) is_idle: bool,
    /// A later day, with the last customer, by id, for whom it is decided, if that was noted.
    pub(super) behind: Option<(Day, CustomerId)>,
    pub(super) version: i64,
}

impl DailyProgress {
    /// The day to walk next, if one is due, and by which of the definitions that are in force.
    ///
    /// Once no definition asks for a day, one walk is made without any.
    pub fn next(&self, mut definitions: Vec<DailyDefinition>, last_due: Day) -> Option<DueDay> {
        let begins = definitions.iter().map(|definition| definition.begins).min();
        let next = begins.map(|begins| (self.decided + 1).max(begins));
        let (next, day) = match next.filter(|next| *next <= last_due) {
            Some(next) => (next, next.max((last_due + 1).saturating_sub(MOST_DAYS))),
            None if self.is_idle || self.decided >= last_due => return None,
            None => (last_due, last_due),
        };
        definitions.retain(|definition| definition.begins <= day);
        let (tenant_id, told) = (self.tenant_id.clone(), self.decided);
        Some(DueDay { tenant_id, day, definitions, told, given_up: day - next })
    }

    /// True if the walk of a day may leave something behind, and the progress does not say so yet.
    pub fn wakes(&self, due: &DueDay) -> bool {
        self.is_idle && !due.definitions.is_empty()
    }

    /// The progress before the walk of a day that has definitions.
    #[must_use]
    pub fn awake(self) -> Self {
        Self { is_idle: false, ..self }
    }

    /// The progress after a day is decided for all customers.
    #[must_use]
    pub fn done(self, due: &DueDay) -> Self {
        let is_idle = due.definitions.is_empty();
        Self { decided: due.day, is_idle, behind: None, ..self }
    }

    /// The progress up to a day that nothing is decided for.
    #[must_use]
    pub fn idle(self, decided: Day) -> Self {
        Self { decided, behind: None, ..self }
    }

    /// The progress after a day is decided up to a customer.
    #[must_use]
    pub fn behind(self, day: Day, customer: Option<CustomerId>) -> Self {
        Self { behind: customer.map(|customer| (day, customer)), ..self }
    }

    /// The customer to continue a day after.
    pub fn position(&self, day: Day) -> Option<&CustomerId> {
        self.behind.as_ref().filter(|(of, _)| *of == day).map(|(_, customer)| customer)
    }

    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let day = |name| Day::try_from(row.count(name)?).map_err(|_| row.corrupt(name, "a day"));
        let behind: Option<CustomerId> = row.optional("behind", "the id of a customer")?;
        Ok(Self {
            tenant_id: row.parsed("sk", "the id of a tenant")?,
            decided: day("decided")?,
            is_idle: row.flag("idle")?,
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
        let progress =
            DailyProgress { tenant_id, decided: 100, is_idle: true, behind: None, version: 0 };
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

    #[test]
    fn the_last_definition_that_ceases_leaves_one_walk_without_any() {
        let tenant_id = TenantId::new("acme").expect("an id");
        let progress =
            DailyProgress { tenant_id, decided: 100, is_idle: false, behind: None, version: 0 };
        let due = progress.next(begins(&[]), 110).expect("a walk");
        assert_eq!((due.day, due.definitions.len(), due.told), (110, 0, 100));
        assert_eq!(progress.next(begins(&[111]), 110).as_ref(), Some(&due));
        let after = progress.done(&due);
        assert_eq!(after.next(begins(&[]), 111), None);
        let due = after.next(begins(&[111]), 111).expect("a day");
        assert!(after.wakes(&due) && !after.awake().wakes(&due));
    }
}
