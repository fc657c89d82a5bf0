//! An event, and its line in an archive.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};

use super::Tally;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::message::{CommandError, Member, Members, members};
use crate::platform::values::{
    CustomerId, EventId, EventName, IdError, Payload, SortKey, TenantId, Timestamp,
};

const PROPERTIES: &str = "properties";

members! {
    /// A customer of a tenant. Written `tenant#customer`: no id has a `#`.
    Customer: PartialOrd, Ord, Hash {
        /// The tenant.
        tenant_id: TenantId,
        /// The customer of the tenant.
        customer_id: CustomerId,
    }
}

members! {
    /// The identity of an event. Its order is that of an archive, within a tenant.
    EventKey: PartialOrd, Ord, Hash {
        customer: Customer,
        /// The instant of the event. It is part of its identity: send the same instant on every
        /// try.
        at: Timestamp = at [Timestamp::schema()],
        /// The event's id, unique among the customer's events of that instant.
        event_id: EventId,
    }
}

members! {
    /// Something that a customer did.
    Event {
        key: EventKey,
        /// The name of the event.
        name: EventName,
        properties: Payload = properties [Payload::schema()],
    }
}

/// Only the period's tables know whether the clock was set by hand, so years before 2015 are read.
pub(super) fn at(members: &Members<'_>) -> Result<Timestamp, CommandError> {
    members.instant_by_hand("at")
}

pub(super) fn properties(members: &Members<'_>) -> Result<Payload, CommandError> {
    let properties = Payload::read(members, PROPERTIES)?;
    properties
        .check_readable()
        .map_err(|e| CommandError::Malformed { member: PROPERTIES, problem: e.into() })?;
    Ok(properties)
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
