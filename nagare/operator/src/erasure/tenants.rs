//! Erasure of what a tenant said, and of what it was told: payloads, rules, scores, alerts.
//!
//! The key of an item, or the item, says whose it is. The whole ledger is scanned until nothing is found, because a decision in
//! progress may put an alert from what it has read before. A kind of item that is not handled here does not compile.

use shared::dynamo::item::{Key, Row, text};
use shared::dynamo::{DynamoError, Query};
use shared::ledger::{Ledger, LedgerKey};
use shared::tenants::TenantItem;
use shared::tenants::keys;

use crate::event_scope::EventScope;
use crate::scan;

/// How often to look again for what came meanwhile.
const ROUNDS: usize = 10;

/// What was erased, in numbers.
#[derive(Debug, Default, Clone, Copy)]
pub struct ErasedItems {
    /// What was said of customers.
    pub payloads: u64,
    /// Rules and scores.
    pub definitions: u64,
    /// Alerts.
    pub alerts: u64,
}

/// Erases the items of a tenant, or those about one of its customers.
///
/// # Errors
/// [`DynamoError`]; erasing again completes it.
pub async fn erase(ledger: &Ledger, scope: &EventScope) -> Result<ErasedItems, DynamoError> {
    let mut erased = ErasedItems::default();
    for _ in 0..ROUNDS {
        let mut found = Vec::new();
        let query = Query {
            filter: Some("begins_with(pk, :tenant) OR (pk = :daily AND sk = :id)"),
            values: vec![
                (":tenant", text(keys::of_tenant(&scope.tenant_id))),
                (":daily", text(keys::DAILY_TENANTS)),
                (":id", text(scope.tenant_id.as_str())),
            ],
            ..Query::default()
        };
        scan::scan(ledger.table(), "items of the ledger", query, |row| {
            let key = Key::of(row)?;
            if let Some(item) = keys::of_key(&key.pk, &key.sk)
                && is_theirs(&item, row, scope)?
            {
                found.push((key, item));
            }
            Ok(())
        })
        .await?;
        if found.is_empty() {
            return Ok(erased);
        }
        for (Key { pk, sk }, item) in found {
            ledger.delete(LedgerKey { pk, sk }).await?;
            match item {
                TenantItem::Payload(_) => erased.payloads += 1,
                TenantItem::Rule(..) | TenantItem::Score(..) => erased.definitions += 1,
                TenantItem::Alert(..) => erased.alerts += 1,
                TenantItem::Claim(..)
                | TenantItem::Decided(..)
                | TenantItem::Deciding(_)
                | TenantItem::Daily(_)
                | TenantItem::DailyTenant(_) => {}
            }
        }
    }
    Err(DynamoError::Contended)
}

/// Whether an item of the tenant is erased.
fn is_theirs(item: &TenantItem, row: &Row<'_>, scope: &EventScope) -> Result<bool, DynamoError> {
    let Some(customer) = scope.customer() else { return Ok(true) };
    Ok(match item {
        TenantItem::Payload(of) | TenantItem::Decided(of, _) | TenantItem::Daily(of) => {
            *of == customer
        }
        // How far the walk of a day has come may be this customer's id, until it has come further. Without the row nobody walks.
        TenantItem::Rule(..) | TenantItem::Score(..) | TenantItem::DailyTenant(_) => false,
        // How far the decisions of a rule have come is a customer's id. Without it they are made again, to the same.
        TenantItem::Claim(..) | TenantItem::Alert(..) | TenantItem::Deciding(_) => {
            row.text("customer")? == customer.customer_id.as_str()
        }
    })
}
