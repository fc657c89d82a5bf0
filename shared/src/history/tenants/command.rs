//! The commands of tenants.

use super::{DefinitionChange, RuleDefinition, Score, When, rule};
use crate::history::events::Customer;
use crate::platform::message::{
    Body, CommandError, CommandPayload, LogIds, MemberError, Members, Object,
};
use crate::platform::values::{AlertId, CustomerId, Payload, RuleId, ScoreId, TenantId, Timestamp};

/// The most alerts that one command marks as read.
pub const MOST_READ: usize = 100;
const READ: &str = "an array of 1 to 100 objects with an `alert_id`";

/// The payload of a customer was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerUpdated {
    pub customer: Customer,
    /// The instant of the change. The latest wins, and on a tie the payload that is greater byte by byte.
    pub at: Timestamp,
    pub payload: Payload,
}

/// A rule was defined or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleChange {
    pub tenant_id: TenantId,
    pub rule_id: RuleId,
    pub change: DefinitionChange<When>,
}

/// A score was defined or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreChange {
    pub tenant_id: TenantId,
    pub score_id: ScoreId,
    pub change: DefinitionChange<Score>,
}

/// Alerts of a tenant were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertsRead {
    pub tenant_id: TenantId,
    /// The alerts: 1 to [`MOST_READ`].
    pub read: Vec<AlertId>,
}

fn malformed(member: &'static str, expected: &'static str) -> CommandError {
    CommandError::Malformed { member, problem: MemberError::Expected(expected) }
}

fn of_tenant(tenant: &TenantId) -> LogIds {
    LogIds { tenant_id: Some(tenant.to_string()), ..LogIds::default() }
}

impl CommandPayload for CustomerUpdated {
    const TYPES: &'static [&'static str] = &["customer.updated"];
    const MEMBERS: &'static [&'static str] = &["tenant_id", "customer_id", "at", "payload"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let customer = Customer {
            tenant_id: members.parsed("tenant_id", TenantId::new)?,
            customer_id: members.parsed("customer_id", CustomerId::new)?,
        };
        let (at, payload) = (members.instant("at")?, members.payload()?.unwrap_or_default());
        Ok(Self { customer, at, payload })
    }

    fn write(&self, body: Body) -> Body {
        body.text("tenant_id", &self.customer.tenant_id)
            .text("customer_id", &self.customer.customer_id)
            .text("at", &self.at)
            .json("payload", self.payload.as_json())
    }

    fn subject(&self) -> LogIds {
        let customer_id = Some(self.customer.customer_id.to_string());
        LogIds { customer_id, ..of_tenant(&self.customer.tenant_id) }
    }

    fn group(&self) -> &str {
        self.customer.tenant_id.as_str()
    }
}

impl RuleChange {
    /// True if it defines what is decided by day.
    pub fn is_daily(&self) -> bool {
        matches!(self.change.to, Some(When::Silent(_)))
    }

    /// True if it is this definition that it states.
    pub fn defines(&self, rule: &RuleDefinition) -> bool {
        self.change.at == rule.at && self.change.to.as_ref() == Some(&rule.when)
    }
}

impl CommandPayload for RuleChange {
    const TYPES: &'static [&'static str] = &["rule.defined", "rule.deleted"];
    const MEMBERS: &'static [&'static str] = &["tenant_id", "rule_id", "at", "when"];

    fn type_name(&self) -> &'static str {
        Self::TYPES[usize::from(self.change.to.is_none())]
    }

    fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let tenant_id = members.parsed("tenant_id", TenantId::new)?;
        let (rule_id, at) = (members.parsed("rule_id", RuleId::new)?, members.instant("at")?);
        let to = match type_name == Self::TYPES[0] {
            true => {
                let when = members.required("when")?;
                Some(When::parse(when).ok_or(malformed("when", rule::EXPECTED))?)
            }
            false => None,
        };
        Ok(Self { tenant_id, rule_id, change: DefinitionChange { at, to } })
    }

    fn write(&self, body: Body) -> Body {
        let body = body.text("tenant_id", &self.tenant_id).text("rule_id", &self.rule_id);
        let body = body.text("at", &self.change.at);
        match &self.change.to {
            Some(when) => body.json("when", &when.to_string()),
            None => body,
        }
    }

    fn subject(&self) -> LogIds {
        of_tenant(&self.tenant_id)
    }

    fn group(&self) -> &str {
        self.tenant_id.as_str()
    }
}

impl ScoreChange {
    /// True if it defines what is decided by day.
    pub fn is_daily(&self) -> bool {
        self.change.to.as_ref().is_some_and(|score| score.alert_below().is_some())
    }
}

impl CommandPayload for ScoreChange {
    const TYPES: &'static [&'static str] = &["score.defined", "score.deleted"];
    const MEMBERS: &'static [&'static str] =
        &["tenant_id", "score_id", "at", "base", "measures", "alert_below"];

    fn type_name(&self) -> &'static str {
        Self::TYPES[usize::from(self.change.to.is_none())]
    }

    fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let tenant_id = members.parsed("tenant_id", TenantId::new)?;
        let (score_id, at) = (members.parsed("score_id", ScoreId::new)?, members.instant("at")?);
        let to = match type_name == Self::TYPES[0] {
            true => {
                let (base, measures) = (members.required("base")?, members.required("measures")?);
                let score = Score::parse(base, measures, members.raw("alert_below")?);
                Some(score.map_err(|(member, expected)| malformed(member, expected))?)
            }
            false => None,
        };
        Ok(Self { tenant_id, score_id, change: DefinitionChange { at, to } })
    }

    fn write(&self, body: Body) -> Body {
        let body = body.text("tenant_id", &self.tenant_id).text("score_id", &self.score_id);
        let body = body.text("at", &self.change.at);
        let Some(score) = &self.change.to else { return body };
        let body = body.json("base", &score.base().to_string());
        let body = body.json("measures", &score.measures_json());
        match score.alert_below() {
            Some(below) => body.json("alert_below", &below.to_string()),
            None => body,
        }
    }

    fn subject(&self) -> LogIds {
        of_tenant(&self.tenant_id)
    }

    fn group(&self) -> &str {
        self.tenant_id.as_str()
    }
}

impl CommandPayload for AlertsRead {
    const TYPES: &'static [&'static str] = &["alerts.read"];
    const MEMBERS: &'static [&'static str] = &["tenant_id", "read"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let tenant_id = members.parsed("tenant_id", TenantId::new)?;
        let read = Object::list(members.required("read")?, &[&["alert_id"]]);
        let read = read.and_then(|all| all.iter().map(|it| it.value("alert_id").ok()?).collect());
        let read: Vec<AlertId> = read.ok_or(malformed("read", READ))?;
        if !(1..=MOST_READ).contains(&read.len()) {
            return Err(malformed("read", READ));
        }
        Ok(Self { tenant_id, read })
    }

    fn write(&self, body: Body) -> Body {
        let read = self.read.iter().map(|id| format!(r#"{{"alert_id":"{id}"}}"#));
        let read = read.collect::<Vec<_>>().join(",");
        body.text("tenant_id", &self.tenant_id).json("read", &format!("[{read}]"))
    }

    fn subject(&self) -> LogIds {
        of_tenant(&self.tenant_id)
    }

    fn group(&self) -> &str {
        self.tenant_id.as_str()
    }
}
