//! The commands of tenants.

#[cfg(test)]
use super::score;
use super::{DefinitionChange, RuleDefinition, Score, When, rule};
use crate::history::events::Customer;
use crate::platform::message::{Body, CommandError, Member, MemberError, Members, Object, command};
#[cfg(test)]
use crate::platform::message::{MemberSchema, ValueSchema};
use crate::platform::values::{AlertId, Payload, RuleId, ScoreId, TenantId, Timestamp};

/// The most alerts that one command marks as read.
pub const MOST_READ: usize = 100;
const READ: &str = "an array of 1 to 100 objects with an `alert_id`";

command! {
    /// A tenant changed the payload of a customer. The latest `at` wins, whatever the order of
    /// arrival, and on a tie the payload that is greater byte by byte.
    CustomerUpdated by customer.tenant_id {
        customer: Customer,
        /// The instant of the change.
        at: Timestamp,
        /// The whole new payload.
        payload: Payload,
    }
    "customer.updated": r#"{ "tenant_id": "acme", "customer_id": "c-9", "at": "2026-11-20T12:00:00.000Z", "payload": { "name": "Bob Ltd" } }"#
}

command! {
    /// A tenant defined a rule, or deleted it.
    RuleChange by tenant_id {
        /// The tenant.
        tenant_id: TenantId,
        /// The rule's id.
        rule_id: RuleId,
        /// The instant of the change.
        at: Timestamp,
    }
    /// The condition of an alert. A rule that was deleted has none.
    when: Option<When> {
        /// A tenant defined a rule, which gives alerts. The latest `at` wins, whatever the order of
        /// arrival; on a tie the delete, then the definition that is greater byte by byte. A tenant
        /// has at most 100 rules that are not deleted, and 400 ids of rules. A rule beyond that is
        /// a dead letter, too-many-definitions.
        "rule.defined": r#"{ "tenant_id": "acme", "rule_id": "activated", "at": "2026-11-20T12:00:00.000Z", "when": { "event": "login", "count": 10, "within": "month" } }"#
        /// A tenant deleted a rule. Its alerts are no longer listed.
        "rule.deleted": r#"{ "tenant_id": "acme", "rule_id": "activated", "at": "2026-11-20T12:05:00.000Z" }"#
    }
}

command! {
    /// A tenant defined a score, or deleted it.
    ScoreChange by tenant_id {
        /// The tenant.
        tenant_id: TenantId,
        /// The score's id.
        score_id: ScoreId,
        /// The instant of the change.
        at: Timestamp,
    }
    /// The definition; `None` if the score was deleted.
    score: Option<Score> {
        /// A tenant defined a score of its customers: `base` plus, for each measure, `points` for
        /// each event of that name within the last `days` UTC days, by at most `most` either way;
        /// from 0 to 100. The winner is found as for rules. A tenant has at most 50 scores that are
        /// not deleted, and 400 ids of scores.
        "score.defined": r#"{ "tenant_id": "acme", "score_id": "health", "at": "2026-11-20T12:00:00.000Z", "base": 40, "measures": [{ "event": "login", "days": 28, "points": 3, "most": 60 }], "alert_below": 30 }"#
        /// A tenant deleted a score.
        "score.deleted": r#"{ "tenant_id": "acme", "score_id": "health", "at": "2026-11-20T12:05:00.000Z" }"#
    }
}

command! {
    /// A tenant read alerts. Unknown alerts, and those that were read before, change nothing.
    AlertsRead by tenant_id {
        /// The tenant.
        tenant_id: TenantId,
        /// The alerts.
        read: Vec<AlertId>,
    }
    "alerts.read": r#"{ "tenant_id": "acme", "read": [{ "alert_id": "0f343b0931126a20f133d67c2b018a3b" }] }"#
}

fn malformed(member: &'static str, expected: &'static str) -> CommandError {
    CommandError::Malformed { member, problem: MemberError::Expected(expected) }
}

impl Member for When {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        Self::parse(members.required(name)?).ok_or(malformed(name, rule::EXPECTED))
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.json(name, &self.to_string())
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        rule::schema()
    }
}

impl Member for Score {
    const MEMBERS: &'static [&'static str] = &["base", "measures", "alert_below"];

    fn read(members: &Members<'_>, _: &'static str) -> Result<Self, CommandError> {
        let (base, measures) = (members.required("base")?, members.required("measures")?);
        Self::parse(base, measures, members.raw("alert_below")?)
            .map_err(|(member, expected)| malformed(member, expected))
    }

    fn write(&self, _: &'static str, body: Body) -> Body {
        let body = body.json("base", &self.base().to_string());
        let body = body.json("measures", &self.measures_json());
        match self.alert_below() {
            Some(below) => body.json("alert_below", &below.to_string()),
            None => body,
        }
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        ValueSchema::object(Self::members("", ""))
    }

    #[cfg(test)]
    fn members(_: &'static str, _: &'static str) -> Vec<MemberSchema> {
        score::members()
    }
}

impl Member for Vec<AlertId> {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        let read = Object::list(members.required(name)?, &[&["alert_id"]]);
        let read = read.and_then(|all| all.iter().map(|it| it.value("alert_id").ok()?).collect());
        let read = read.filter(|read: &Self| (1..=MOST_READ).contains(&read.len()));
        read.ok_or(malformed(name, READ))
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        let read: Vec<_> = self.iter().map(|id| format!(r#"{{"alert_id":"{id}"}}"#)).collect();
        body.json(name, &format!("[{}]", read.join(",")))
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        let alert = ValueSchema::object(AlertId::members("alert_id", ""));
        ValueSchema::list(alert, 1..=MOST_READ)
    }
}

impl RuleChange {
    pub fn change(&self) -> DefinitionChange<When> {
        DefinitionChange { at: self.at, to: self.when.clone() }
    }

    /// True if it defines what is decided by day.
    pub fn is_daily(&self) -> bool {
        matches!(self.when, Some(When::Silent(_)))
    }

    /// True if it is this definition that it states.
    pub fn defines(&self, rule: &RuleDefinition) -> bool {
        self.at == rule.at && self.when.as_ref() == Some(&rule.when)
    }
}

impl ScoreChange {
    pub fn change(&self) -> DefinitionChange<Score> {
        DefinitionChange { at: self.at, to: self.score.clone() }
    }

    /// True if it defines what is decided by day.
    pub fn is_daily(&self) -> bool {
        self.score.as_ref().is_some_and(|score| score.alert_below().is_some())
    }
}
