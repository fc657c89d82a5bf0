//! Keys in the ledger.
//!
//! Each alert has its own partition for its claim, and each customer one for decisions, because both are written at the rate of events.
//! A list is one partition of its tenant.

use crate::history::events::{Customer, Period};
use crate::platform::dynamo::keys;
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{
    AlertId, CustomerId, Origin, RefusalReason, RuleId, ScoreId, TIMESTAMP_LENGTH, TenantId,
    Timestamp,
};

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
    /// How many of its events were refused on a day.
    Refusals(TenantId),
    /// One of those events. Whom it is about is in the item.
    RefusedEvent(TenantId),
}

keys! {
    /// What the item with a key is, if it is one about a tenant.
    pub fn of_key -> TenantItem;
    partitions {
        /// The payloads of customers, by id.
        pub customers(tenant: TenantId) = "tenant#{tenant}#customers";
        /// Rules and scores.
        pub definitions(tenant: TenantId) = "tenant#{tenant}#definitions";
        claim_of(tenant: TenantId, alert: AlertId) = "tenant#{tenant}#alert#{alert}";
        /// The list of alerts, in the order in which they were decided.
        pub alerts(tenant: TenantId) = "tenant#{tenant}#alerts";
        decided_of(tenant_id: TenantId, customer_id: CustomerId) = "tenant#{tenant_id}#decided#{customer_id}";
        deciding_of(tenant: TenantId) = "tenant#{tenant}#deciding";
        /// What was decided of customers by day, by id.
        pub daily(tenant: TenantId) = "tenant#{tenant}#daily";
        /// How many events were refused, in several partitions, because it is written at the rate of events.
        pub refusals(tenant: TenantId, shard: u8) = "tenant#{tenant}#refusals#{shard}";
        /// Some of those events.
        pub refused_events(tenant: TenantId) = "tenant#{tenant}#refused";
        /// All tenants that have had daily definitions.
        pub daily_tenants() = "tenants#daily";
    }
    items {
        payload(tenant_id: TenantId, customer_id: CustomerId) = customers(tenant_id), "{customer_id}" in Ledger as "customer's payload" {
            says: "what is said of {customer_id} of {tenant_id}",
            most: 5_120, grows: "nothing: one payload",
            at_bound: "an update takes the place of the one before",
            test: "the model test",
            later: Kept, erased: Gone,
        }
            => TenantItem::Payload(Customer { tenant_id, customer_id });
        /// A rule, or that it was deleted.
        pub rule(tenant: TenantId, rule: RuleId) = definitions(tenant), "rule#{rule}" in Ledger as "rule" {
            says: "the rule {rule} of {tenant}",
            most: 768, grows: "nothing: one definition of a rule",
            at_bound: "another takes its place; the 101st that is not deleted, or the 401st id, is a dead letter",
            test: "`a_tenant_has_room_for_so_many_rules`",
            later: Kept, erased: Gone,
        }
            => TenantItem::Rule(tenant, rule);
        /// A score, likewise.
        pub score(tenant: TenantId, score: ScoreId) = definitions(tenant), "score#{score}" in Ledger as "score" {
            says: "the score {score} of {tenant}",
            most: 4_096, grows: "nothing: one definition, up to 16 measures",
            at_bound: "another takes its place; the 51st that is not deleted, or the 401st id, is a dead letter",
            test: "`a_tenant_has_room_for_so_many_rules`",
            later: Kept, erased: Gone,
        }
            => TenantItem::Score(tenant, score);
        /// When an alert was decided.
        pub claim(tenant: TenantId, alert: AlertId) = claim_of(tenant, alert), "claim" in Ledger as "alert's claim" {
            says: "when the alert {alert} of {tenant} was decided",
            most: 768, grows: "nothing: an instant and a customer",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Gone,
        }
            => TenantItem::Claim(tenant, alert);
        /// An alert in the list.
        pub alert(tenant: TenantId, decided_at: Timestamp, alert: AlertId) = alerts(tenant), "{decided_at}#{alert}" in Ledger as "alert" {
            says: "the alert {alert} of {tenant}, decided at {decided_at}",
            most: 4_096, grows: "nothing: a definition, a period or a day, and a mark",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Gone,
        }
            => TenantItem::Alert(tenant, decided_at, alert);
        decided_periods(tenant_id: TenantId, customer_id: CustomerId, rule: RuleId)
            = decided_of(tenant_id, customer_id), "{rule}" in Ledger as "decided periods" {
            says: "when the rule {rule} of {tenant_id} has given alerts about {customer_id}",
            most: 6_144, grows: "a bit for each day since the first alert of a rule about a customer: 457 bytes in ten years",
            at_bound: "cannot be reached before 2130",
            test: "`a_set_of_days_is_read_as_it_was_written`",
            later: Kept, erased: Gone,
        }
            => TenantItem::Decided(Customer { tenant_id, customer_id }, rule);
        /// How far the decisions of a new rule have come, under the message that defines it.
        pub deciding(tenant: TenantId, origin: Origin) = deciding_of(tenant), "{origin}" in Ledger as "progress of a rule" {
            says: "how far the decisions of a new rule of {tenant} have come",
            most: 768, grows: "nothing: an id",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Gone,
        }
            => TenantItem::Deciding(tenant);
        decided_daily(tenant_id: TenantId, customer_id: CustomerId) = daily(tenant_id), "{customer_id}" in Ledger as "daily decisions" {
            says: "what was decided of {customer_id} of {tenant_id} by day",
            most: 40_000, grows: "daily definitions of the tenant that are in force and have begun to hold for a customer, 150 at most: up to 175 bytes each",
            at_bound: "cannot be exceeded: what superseded and deleted definitions have decided goes with the next write",
            test: "`what_another_definition_has_decided_does_not_count`",
            later: Kept, erased: Gone,
        }
            => TenantItem::Daily(Customer { tenant_id, customer_id });
        /// How many events were refused on a day for a reason.
        pub refusals_of_day(tenant: TenantId, shard: u8, day: Period, reason: RefusalReason)
            = refusals(tenant, shard), "{day}#{reason}" in Ledger as "refusals of a tenant" {
            says: "how many events of {tenant} were refused on {day}: {reason}",
            most: 512, grows: "nothing: a number for a tenant, reason and day; expires after 31 days",
            at_bound: "cannot be exceeded",
            test: "`refusals::counts_are_a_recount_whatever_fails`",
            later: AsOthers, erased: Gone,
        }
            => TenantItem::Refusals(tenant);
        /// One of those events.
        pub refused_event(tenant: TenantId, day: Period, reason: RefusalReason, number: u64)
            = refused_events(tenant), "{day}#{reason}#{number}" in Ledger as "refused event" {
            says: "an event of {tenant} that was refused: {reason}",
            most: 2_048, grows: "nothing: an example, with a detail of 500 bytes; 20 for each tenant, reason and day; expires after 31 days",
            at_bound: "no further example",
            test: "`refusals::a_tenant_reads_which_of_its_events_were_refused`",
            later: AsOthers, erased: Gone,
        }
            => TenantItem::RefusedEvent(tenant);
        /// How far the daily decisions of a tenant have come.
        pub daily_tenant(tenant: TenantId) = daily_tenants(), "{tenant}" in Ledger as "progress of daily decisions" {
            says: "how far the daily decisions of {tenant} have come",
            most: 512, grows: "nothing: one for each tenant that ever had a daily definition",
            at_bound: "cannot be exceeded",
            test: "`daily::`",
            later: Kept, erased: Gone,
        } => TenantItem::DailyTenant(tenant);
    }
}

/// The prefix of the partitions of a tenant.
pub fn of_tenant(tenant: &TenantId) -> String {
    format!("tenant#{tenant}#")
}

/// The instant and the id of the alert at a sort key.
pub fn of_alert(sk: &str) -> Option<(Timestamp, AlertId)> {
    let (at, alert) = sk.split_once('#')?;
    let at = Some(at).filter(|at| at.len() == TIMESTAMP_LENGTH)?;
    Some((Timestamp::parse(at).ok()?, AlertId::new(alert).ok()?))
}

/// What is said of a customer.
pub fn customer(Customer { tenant_id, customer_id }: &Customer) -> LedgerKey {
    payload(tenant_id, customer_id)
}

/// In which periods a rule has given alerts about a customer.
pub fn decided(Customer { tenant_id, customer_id }: &Customer, rule: &RuleId) -> LedgerKey {
    decided_periods(tenant_id, customer_id, rule)
}

/// What was decided last of a customer, by day.
pub fn daily_decisions(Customer { tenant_id, customer_id }: &Customer) -> LedgerKey {
    decided_daily(tenant_id, customer_id)
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
        assert_eq!(of(alert(&t, &at, &id)), Some(TenantItem::Alert(t.clone(), at, id)));
        assert_eq!(of(decided(&it, &r)), Some(TenantItem::Decided(it.clone(), r)));
        assert_eq!(of(deciding(&t, &Origin::unknown())), Some(TenantItem::Deciding(t.clone())));
        assert_eq!(of(daily_decisions(&it)), Some(TenantItem::Daily(it.clone())));
        assert_eq!(of(daily_tenant(&t)), Some(TenantItem::DailyTenant(t.clone())));
        assert_eq!(of_key("tenant#acme#other", "x"), None);
        assert_eq!(customer(&it).pk, "tenant#acme#customers", "stored keys never change");
    }
}
