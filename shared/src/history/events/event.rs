//! An event, and its line in an archive.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};

use super::Tally;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::values::{
    CustomerId, EventId, EventName, IdError, Payload, SortKey, TenantId, Timestamp,
};

/// A customer of a tenant. Written `tenant#customer`: no id has a `#`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Customer {
    pub tenant_id: TenantId,
    pub customer_id: CustomerId,
}

/// The identity of an event. Its order is that of an archive, within a tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey {
    pub customer: Customer,
    /// When it happened.
    pub at: Timestamp,
    /// Its id among the events of that instant.
    pub event_id: EventId,
}

/// Something that a customer did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub key: EventKey,
    pub name: EventName,
    pub properties: Payload,
}

impl Event {
    /// Its line in an archive, without the end.
    pub fn line(&self) -> String {
        let EventKey { customer: Customer { tenant_id, customer_id }, at, event_id } = &self.key;
        // Ids and names need no escapes in JSON, and line ends only occur between tokens.
        let properties = self.properties.as_json().replace(['\n', '\r'], " ");
        format!(
            r#"{{"tenant_id":"{tenant_id}","customer_id":"{customer_id}","event_id":"{event_id}","name":"{}","at":"{at}","properties":{properties}}}"#,
            self.name.as_str(),
        )
    }
}

impl Event {
    /// Reads an item of a period's table.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let mut ids = row.text("pk")?.splitn(3, '#');
        let (tenant, customer) = (ids.next().unwrap_or_default(), ids.next().unwrap_or_default());
        let customer = || {
            let (tenant_id, customer_id) =
                (TenantId::new(tenant).ok()?, CustomerId::new(customer).ok()?);
            Some(Customer { tenant_id, customer_id })
        };
        let customer = customer().ok_or_else(|| row.corrupt("pk", "a tenant and a customer"))?;
        let key: SortKey = row
            .text("sk")?
            .parse::<SortKey>()
            .map_err(|_| row.corrupt("sk", "an instant and an id"))?;
        let properties = Payload::stored(row.text("properties")?)
            .map_err(|_| row.corrupt("properties", "a JSON value"))?;
        let (at, event_id) = (key.published_at, key.activity_id.into());
        let name = row.parsed("name", "the name of an event")?;
        Ok(Self { key: EventKey { customer, at, event_id }, name, properties })
    }
}

impl Tally {
    pub fn of_line(line: &str) -> Self {
        let mut first = [0; 16];
        first.copy_from_slice(&digest(&SHA256, line.as_bytes()).as_ref()[..16]);
        // Including the end of the line.
        Self { events: 1, bytes: line.len() as u64 + 1, sum: u128::from_be_bytes(first) }
    }
}

impl fmt::Display for Customer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.tenant_id, self.customer_id)
    }
}

/// The text is not a tenant and a customer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a tenant, `#` and a customer")]
pub struct CustomerError;

impl From<IdError> for CustomerError {
    fn from(_: IdError) -> Self {
        Self
    }
}

impl FromStr for Customer {
    type Err = CustomerError;

    fn from_str(text: &str) -> Result<Self, CustomerError> {
        let (tenant, customer) = text.split_once('#').ok_or(CustomerError)?;
        Ok(Self { tenant_id: TenantId::new(tenant)?, customer_id: CustomerId::new(customer)? })
    }
}
