//! Erasure of a tenant, or of one of its customers: the events, what is folded from them, what was said of them.
//!
//! ```text
//! definitions   deletes the rules and scores of a tenant
//! events        deletes events and empties views, until the views count nothing of them
//! wait          waits for keepers, which may still write daily decisions
//! items         deletes payloads, and what follows from the views before they were emptied
//! ```
//!
//! While events are deleted, the projector folds what is in the stream, and events that arrive are
//! deleted as well. After a minute it gives up; running it again continues.
//!
//! # Why it has an end
//!
//! Emptying a view ends its life, and no decision that follows from an ended life is written after
//! that ([`shared::history::tenants::Rules`]). Rules are deleted before, so no decision by a deleted rule is
//! made on a view's next life. So one scan of the ledger finds all that was decided, and nothing is
//! added to it. It deletes only what is of an ended life: events that are sent meanwhile keep their
//! alerts.
//!
//! An alert that was put may still be on its way to the bus. Its set says so, and the erasure waits
//! until it is sent, or until the invocation that sends it has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use shared::history::events::Customer;
use shared::history::tenants::{LIFE, TenantItem, keys, sending_until};
use shared::platform::dynamo::item::{Key, Row, number, text};
use shared::platform::dynamo::{Condition, DynamoError};
use shared::platform::ledger::{Ledger, LedgerKey};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry::Backoff;

use super::events::{ErasedEvents, EventErasure, EventErasureError};
use super::summaries::ErasedSummaries;
use crate::Result;
use crate::event_scope::EventScope;
use crate::scan::{filtered, partition, scan};

/// How long to wait until what is erased is folded.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval between two looks whether an alert is sent.
const PAUSE: Duration = Duration::from_millis(200);

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
    let mut erased = ErasedTenant::default();
    if events.scope.customer_id.is_none() {
        erased.items.definitions = erase_definitions(&events.ledger, &events.scope).await?;
    }
    let (deadline, mut backoff) = (Deadline::after(PATIENCE), Backoff::default());
    let left = loop {
        let found = events.run().await?;
        let mut counted = events.uncount(&found).await?;
        erased.summaries.add(counted);
        let is_over = counted.left == 0 || backoff.wait(deadline).await.is_err();
        if is_over && counted.left > 0 {
            events.settle(&found).await?;
            counted = events.uncount(&found).await?;
            erased.summaries.add(counted);
        }
        erased.events.add(found);
        if is_over {
            break counted.left;
        }
    };
    events.keepers.wait().await?;
    erase_items(events, &mut erased.items).await?;
    match left {
        0 => Ok(erased),
        left => Err(EventErasureError::NotFolded(left)),
    }
}

/// Deletes the rules and scores of a tenant, after its row in the register of daily decisions: a
/// command that comes meanwhile writes its definition first, and then registers the tenant again.
async fn erase_definitions(ledger: &Ledger, scope: &EventScope) -> Result<u64> {
    ledger.delete(keys::daily_tenant(&scope.tenant_id)).await?;
    let rows = ledger.table().all(partition(keys::definitions(&scope.tenant_id))).await?;
    for row in &rows {
        ledger.delete(LedgerKey::of(row)?).await?;
    }
    Ok(rows.len() as u64)
}

/// An item of the ledger to erase.
enum FoundItem {
    /// What was said of a customer, or how far a rule has come with customers.
    Stated(LedgerKey),
    /// What was decided on a customer, and until when it may be sent.
    Decided(LedgerKey, Customer, Option<i64>),
}

/// Erases payloads and alerts of a tenant, or those about one of its customers. The key of an item,
/// or the item, says whose it is. A kind of item that is not handled here does not compile.
async fn erase_items(events: &EventErasure, erased: &mut ErasedItems) -> Result<()> {
    let (ledger, scope) = (&events.ledger, &events.scope);
    let query = filtered(
        "begins_with(pk, :tenant)",
        vec![(":tenant", text(keys::of_tenant(&scope.tenant_id)))],
    );
    let mut found = Vec::new();
    scan(ledger.table(), "items of the ledger", query, |row| {
        let key = Key::of(row)?;
        if let Some(item) = keys::of_key(&key.pk, &key.sk) {
            found.extend(item_of(key, item, row, scope)?);
        }
        Ok(())
    })
    .await?;
    let mut lives = BTreeMap::new();
    for item in found {
        match item {
            FoundItem::Stated(key) => {
                let is_payload =
                    matches!(keys::of_key(&key.pk, &key.sk), Some(TenantItem::Payload(_)));
                ledger.delete(key).await?;
                erased.payloads += u64::from(is_payload);
            }
            FoundItem::Decided(key, customer, until) => {
                wait_until_sent(ledger, &key, until).await?;
                let life = match lives.get(&customer) {
                    Some(life) => *life,
                    None => {
                        let life = events.life(&customer).await?;
                        lives.insert(customer, life);
                        life
                    }
                };
                let is_alert =
                    matches!(keys::of_key(&key.pk, &key.sk), Some(TenantItem::Alert(..)));
                let ended = Condition::new("#life < :life");
                let ended = ended.name("#life", LIFE).value(":life", number(life));
                let is_gone = ledger.table().delete(key.into_item(), Some(ended)).await?;
                erased.alerts += u64::from(is_alert && is_gone);
            }
        }
    }
    Ok(())
}

/// Waits until the alerts of a set are sent to the bus, or the invocation that sends them has
/// ended.
async fn wait_until_sent(ledger: &Ledger, key: &LedgerKey, mut until: Option<i64>) -> Result<()> {
    let leases = ledger.table().dynamo().leases();
    let remaining = |until| Some(leases.remaining(until)).filter(|left| !left.is_zero());
    while let Some(left) = until.and_then(remaining) {
        tokio::time::sleep(PAUSE.min(left)).await;
        let row = ledger.get(key.clone()).await?;
        until = row.as_ref().map_or(Ok(None), sending_until)?;
    }
    Ok(())
}

/// The item to erase, if it is of the scope.
fn item_of(
    key: Key,
    item: TenantItem,
    row: &Row<'_>,
    scope: &EventScope,
) -> Result<Option<FoundItem>> {
    let is_theirs = |customer: &Customer| scope.has(customer);
    let named = || {
        let (tenant_id, customer_id) = (scope.tenant_id.clone(), row.parsed("customer", "an id")?);
        Ok::<_, DynamoError>(Customer { tenant_id, customer_id })
    };
    Ok(match item {
        TenantItem::Payload(of) => is_theirs(&of).then_some(FoundItem::Stated(key)),
        // How far the decisions of a rule have come is a customer's id. Without it they are made
        // again, to the same.
        TenantItem::Deciding(_) => is_theirs(&named()?).then_some(FoundItem::Stated(key)),
        TenantItem::Decided(of, _) | TenantItem::Daily(of) => {
            is_theirs(&of).then_some(FoundItem::Decided(key, of, sending_until(row)?))
        }
        TenantItem::Claim(..) | TenantItem::Alert(..) => {
            let of = named()?;
            is_theirs(&of).then_some(FoundItem::Decided(key, of, None))
        }
        TenantItem::Refusals(_) => scope.customer_id.is_none().then_some(FoundItem::Stated(key)),
        // Of an event that cannot be read, the customer may be unknown.
        TenantItem::RefusedEvent(_) => {
            let named = row.optional_text("customer")?;
            let is_theirs = scope.customer_id.as_ref().is_none_or(|id| named == Some(id.as_str()));
            is_theirs.then_some(FoundItem::Stated(key))
        }
        // Those of the tenant are erased before. How far the walk of a day has come may be this
        // customer's id, until it has come further.
        TenantItem::Rule(..) | TenantItem::Score(..) | TenantItem::DailyTenant(_) => None,
    })
}
