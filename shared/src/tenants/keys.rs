//! Keys in the ledger.
//!
//! ```text
//! tenant#<tenant>#customers           <customer>                a payload
//! tenant#<tenant>#definitions         rule#<rule>               a rule, or that it was deleted
//! tenant#<tenant>#definitions         score#<score>             a score, likewise
//! tenant#<tenant>#alert#<alert>       claim                     when an alert was decided
//! tenant#<tenant>#alerts              <decided_at>#<alert>      an alert
//! tenant#<tenant>#decided#<customer>  <rule>                    the periods in which a rule has given an alert
//! tenant#<tenant>#deciding            <message>                 how far the decisions of a new rule have come
//! tenant#<tenant>#daily               <customer>                what was decided last of a customer, by day
//! tenants#daily                       <tenant>                  how far the daily decisions of a tenant have come
//! ```
//!
//! Each alert has its own partition for its claim, and each customer one for decisions, because both are written at the rate of events.
//! A list is one partition of its tenant.

use crate::events::Customer;
use crate::ledger::LedgerKey;
use crate::values::{
    AlertId, CustomerId, Origin, RuleId, ScoreId, TIMESTAMP_LENGTH, TenantId, Timestamp,
};

const TENANT: &str = "tenant#";
/// The partition of all tenants that have had daily definitions.
pub const DAILY_TENANTS: &str = "tenants#daily";

/// An item about a tenant, as its key says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantItem {
    Payload(Customer),
    Rule(TenantId, RuleId),
    Score(TenantId, ScoreId),
    /// When an alert was decided. Whom it is about is in the item.
    Claim(TenantId, AlertId),
    /// An alert in the list. Likewise.
    Alert(TenantId, Timestamp, AlertId),
    /// In which periods a rule has given alerts about a customer.
    Decided(Customer, RuleId),
    /// How far the decisions of a new rule have come.
    Deciding(TenantId),
    /// What was decided last of a customer, by day.
    Daily(Customer),
    /// How far the daily decisions of a tenant have come.
    DailyTenant(TenantId),
}

/// What the item with a key is, if it is one about a tenant.
#[must_use]
pub fn of_key(pk: &str, sk: &str) -> Option<TenantItem> {
    if pk == DAILY_TENANTS {
        return Some(TenantItem::DailyTenant(TenantId::new(sk).ok()?));
    }
    let (tenant, what) = pk.strip_prefix(TENANT)?.split_once('#')?;
    let tenant_id = TenantId::new(tenant).ok()?;
    if let Some(alert) = what.strip_prefix("alert#") {
        return Some(TenantItem::Claim(tenant_id, AlertId::new(alert).ok()?));
    }
    if let Some(customer) = what.strip_prefix("decided#") {
        let customer = Customer { tenant_id, customer_id: CustomerId::new(customer).ok()? };
        return Some(TenantItem::Decided(customer, RuleId::new(sk).ok()?));
    }
    match what {
        "customers" => {
            let customer_id = CustomerId::new(sk).ok()?;
            Some(TenantItem::Payload(Customer { tenant_id, customer_id }))
        }
        "definitions" => match sk.split_once('#')? {
            ("rule", rule) => Some(TenantItem::Rule(tenant_id, RuleId::new(rule).ok()?)),
            ("score", score) => Some(TenantItem::Score(tenant_id, ScoreId::new(score).ok()?)),
            _ => None,
        },
        "alerts" => {
            let (at, alert) = of_alert(sk)?;
            Some(TenantItem::Alert(tenant_id, at, alert))
        }
        "deciding" => Some(TenantItem::Deciding(tenant_id)),
        "daily" => {
            let customer_id = CustomerId::new(sk).ok()?;
            Some(TenantItem::Daily(Customer { tenant_id, customer_id }))
        }
        _ => None,
    }
}

/// The prefix of the partitions of a tenant.
#[must_use]
pub fn of_tenant(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}#")
}

/// The instant and the id of the alert at a sort key.
#[must_use]
pub fn of_alert(sk: &str) -> Option<(Timestamp, AlertId)> {
    let (at, alert) = sk.split_once('#')?;
    let at = Some(at).filter(|at| at.len() == TIMESTAMP_LENGTH)?;
    Some((Timestamp::parse(at).ok()?, AlertId::new(alert).ok()?))
}

/// The partition of what is said of customers, by id.
#[must_use]
pub fn customers(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}#customers")
}

/// What is said of a customer.
#[must_use]
pub fn customer(customer: &Customer) -> LedgerKey {
    LedgerKey { pk: customers(&customer.tenant_id), sk: customer.customer_id.to_string() }
}

/// The partition of rules and scores.
#[must_use]
pub fn definitions(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}#definitions")
}

#[must_use]
pub fn rule(tenant: &TenantId, rule: &RuleId) -> LedgerKey {
    LedgerKey { pk: definitions(tenant), sk: format!("rule#{rule}") }
}

#[must_use]
pub fn score(tenant: &TenantId, score: &ScoreId) -> LedgerKey {
    LedgerKey { pk: definitions(tenant), sk: format!("score#{score}") }
}

#[must_use]
pub fn claim(tenant: &TenantId, alert: &AlertId) -> LedgerKey {
    LedgerKey { pk: format!("{TENANT}{tenant}#alert#{alert}"), sk: "claim".to_owned() }
}

/// The partition of the list of alerts, in the order in which they were decided.
#[must_use]
pub fn alerts(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}#alerts")
}

/// An alert in the list.
#[must_use]
pub fn alert(tenant: &TenantId, decided_at: Timestamp, alert: &AlertId) -> LedgerKey {
    LedgerKey { pk: alerts(tenant), sk: format!("{decided_at}#{alert}") }
}

/// In which periods a rule has given alerts about a customer.
#[must_use]
pub fn decided(customer: &Customer, rule: &RuleId) -> LedgerKey {
    let Customer { tenant_id, customer_id } = customer;
    LedgerKey { pk: format!("{TENANT}{tenant_id}#decided#{customer_id}"), sk: rule.to_string() }
}

/// How far the decisions of a new rule have come, under the message that defines it.
#[must_use]
pub fn deciding(tenant: &TenantId, origin: &Origin) -> LedgerKey {
    LedgerKey { pk: format!("{TENANT}{tenant}#deciding"), sk: origin.to_string() }
}

/// The partition of what was decided of customers by day, by id.
#[must_use]
pub fn daily(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}#daily")
}

/// What was decided last of a customer, by day.
#[must_use]
pub fn daily_decisions(customer: &Customer) -> LedgerKey {
    LedgerKey { pk: daily(&customer.tenant_id), sk: customer.customer_id.to_string() }
}

/// How far the daily decisions of a tenant have come.
#[must_use]
pub fn daily_tenant(tenant: &TenantId) -> LedgerKey {
    LedgerKey { pk: DAILY_TENANTS.to_owned(), sk: tenant.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_they_are_of() {
        let tenant_id = TenantId::new("acme").expect("an id");
        let customer_id = CustomerId::new("alert").expect("an id");
        let it = Customer { tenant_id: tenant_id.clone(), customer_id };
        let of = |key: LedgerKey| of_key(&key.pk, &key.sk);
        let (r, s) = (RuleId::new("r").expect("an id"), ScoreId::new("r").expect("an id"));
        let id = AlertId::new("a").expect("an id");
        let at = Timestamp::from_unix_millis(1_000);
        let t = tenant_id.clone();
        assert_eq!(of(customer(&it)), Some(TenantItem::Payload(it.clone())));
        assert_eq!(of(rule(&t, &r)), Some(TenantItem::Rule(t.clone(), r.clone())));
        assert_eq!(of(score(&t, &s)), Some(TenantItem::Score(t.clone(), s)));
        assert_eq!(of(claim(&t, &id)), Some(TenantItem::Claim(t.clone(), id.clone())));
        assert_eq!(of(alert(&t, at, &id)), Some(TenantItem::Alert(t.clone(), at, id)));
        assert_eq!(of(decided(&it, &r)), Some(TenantItem::Decided(it.clone(), r)));
        assert_eq!(of(deciding(&t, &Origin::unknown())), Some(TenantItem::Deciding(t.clone())));
        assert_eq!(of(daily_decisions(&it)), Some(TenantItem::Daily(it.clone())));
        assert_eq!(of(daily_tenant(&t)), Some(TenantItem::DailyTenant(t.clone())));
        assert_eq!(of_key("tenant#acme#other", "x"), None);
        assert_eq!(customer(&it).pk, "tenant#acme#customers", "stored keys never change");
    }
}
