//! Erasure of a tenant, or of one of its customers: the events, what is folded from them, what was said of them.
//!
//! It deletes events and then empties views, again and again, until the views count nothing of them. Meanwhile the projector folds
//! what is in the stream, and events that arrive are deleted as well. After a minute it gives up; running it again continues.

use std::time::Duration;

use shared::dynamo::DynamoError;
use shared::dynamo::item::{Key, Row, text};
use shared::ledger::{Ledger, LedgerKey};
use shared::runtime::deadline::Deadline;
use shared::runtime::retry::Backoff;
use shared::tenants::{TenantItem, keys};

use super::events::{ErasedEvents, EventErasure, EventErasureError};
use super::summaries::ErasedSummaries;
use crate::Result;
use crate::event_scope::EventScope;
use crate::scan::{filtered, scan};

/// How long to wait until what is erased is folded.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often to look again for what came meanwhile.
const ROUNDS: usize = 10;

#[derive(Debug, Default)]
pub struct ErasedTenant {
    pub events: ErasedEvents,
    pub summaries: ErasedSummaries,
    pub items: ErasedItems,
}

/// What the ledger had, in numbers.
#[derive(Debug, Default, Clone, Copy)]
pub struct ErasedItems {
    /// What was said of customers.
    pub payloads: u64,
    /// Rules and scores.
    pub definitions: u64,
    pub alerts: u64,
}

/// Erases everything of a tenant or of one of its customers.
pub async fn erase(events: &EventErasure) -> Result<ErasedTenant, EventErasureError> {
    let (deadline, mut backoff) = (Deadline::after(PATIENCE), Backoff::default());
    let mut erased = ErasedTenant::default();
    let left = loop {
        let found = events.run().await?;
        let counted = events.uncount(&found).await?;
        erased.events.add(found);
        erased.summaries.customers += counted.customers;
        erased.summaries.names += counted.names;
        if counted.left == 0 || backoff.wait(deadline).await.is_err() {
            break counted.left;
        }
    };
    erased.items = erase_items(&events.ledger, &events.scope).await?;
    match left {
        0 => Ok(erased),
        left => Err(EventErasureError::NotFolded(left)),
    }
}

/// Erases payloads, rules, scores and alerts of a tenant, or those about one of its customers. The key of an item, or the item, says
/// whose it is. The whole ledger is scanned until nothing is found, because a decision in progress may put an alert from what it has
/// read before. A kind of item that is not handled here does not compile.
async fn erase_items(ledger: &Ledger, scope: &EventScope) -> Result<ErasedItems> {
    let mut erased = ErasedItems::default();
    for _ in 0..ROUNDS {
        let mut found = Vec::new();
        let query = filtered(
            "begins_with(pk, :tenant) OR (pk = :daily AND sk = :id)",
            vec![
                (":tenant", text(keys::of_tenant(&scope.tenant_id))),
                (":daily", text(keys::daily_tenants())),
                (":id", text(scope.tenant_id.as_str())),
            ],
        );
        scan(ledger.table(), "items of the ledger", query, |row| {
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
fn is_theirs(item: &TenantItem, row: &Row<'_>, scope: &EventScope) -> Result<bool> {
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
