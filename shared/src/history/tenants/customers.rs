//! Payloads of customers.

use super::{CustomerUpdated, TenantItem, keys};
use crate::history::events::Customer;
use crate::platform::dynamo::item::{Row, text};
use crate::platform::dynamo::{DynamoError, Query};
use crate::platform::ledger::{Ledger, LedgerKey};
use crate::platform::values::{CustomerId, Payload, TenantId, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerPayload {
    pub payload: Payload,
    /// The `at` of the update that won.
    pub updated_at: Timestamp,
}

/// The payloads of customers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Customers {
    ledger: Ledger,
}

impl Customers {
    /// What is said of them in this ledger.
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// Records an update, unless a later one is on record.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn update(&self, update: &CustomerUpdated) -> Result<(), DynamoError> {
        let CustomerUpdated { customer, at, payload } = update;
        self.ledger.put_latest(keys::customer(customer), *at, payload).await
    }

    /// The payload of a customer, if there is one.
    pub async fn get(&self, customer: &Customer) -> Result<Option<CustomerPayload>, DynamoError> {
        let row = self.ledger.get(keys::customer(customer)).await?;
        row.as_ref().map(|row| read(row).map(|(_, payload)| payload)).transpose()
    }

    /// The payloads of up to `limit` customers of a tenant after one of them, ordered by id. Fewer are returned if there are no
    /// more, or if one call has no room for them; the flag is true in the second case.
    pub async fn page(
        &self,
        tenant: &TenantId,
        after: Option<&CustomerId>,
        limit: usize,
    ) -> Result<(Vec<(CustomerId, CustomerPayload)>, bool), DynamoError> {
        let of = |customer_id: &CustomerId| Customer {
            tenant_id: tenant.clone(),
            customer_id: customer_id.clone(),
        };
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::customers(tenant)))],
            start: after.map(|after| keys::customer(&of(after)).into_item()),
            limit: i32::try_from(limit).ok(),
            ..Query::default()
        };
        let page = self.ledger.table().page(&query).await?;
        let rows = page.rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok((rows, page.next.is_some()))
    }
}

fn read(row: &Row<'_>) -> Result<(CustomerId, CustomerPayload), DynamoError> {
    let LedgerKey { pk, sk } = LedgerKey::of(row)?;
    let Some(TenantItem::Payload(customer)) = keys::of_key(&pk, &sk) else {
        return Err(row.corrupt("pk", "the key of a customer"));
    };
    let payload = Payload::stored(row.text("payload")?)
        .map_err(|_| row.corrupt("payload", "a JSON value of at most 4 KiB"))?;
    let updated_at = row.parsed("at", "an instant")?;
    Ok((customer.customer_id, CustomerPayload { payload, updated_at }))
}
