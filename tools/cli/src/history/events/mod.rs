//! Events: `nagare events record` sends one, `nagare events import` a file, `nagare history` reads them.

mod grouped;
mod history;
mod import;
mod replay;
mod rows;

use clap::{Args, Subcommand};
use shared::command::Command;
use shared::history::events::{Customer, Event, EventKey, EventRecorded};
use shared::platform::values::{
    CustomerId, EventId, EventName, Payload, PayloadError, TenantId, Timestamp,
};
use uuid::Uuid;

use crate::Failure;
use crate::history::periods::{Advance, Periods, Verify};
use crate::submit::Submission;
pub(crate) use history::History;
use nagare_client::clock;

/// Record what customers of tenants did.
#[derive(Debug, Subcommand)]
pub(crate) enum Events {
    /// CUSTOMER of TENANT did NAME.
    Record(Record),
    /// Import a file of events: one JSON object a line, or CSV with the header `tenant_id,customer_id,event_id,name,at`; either
    /// of them gzipped, too.
    Import(import::ImportEvents),
    /// Show how far each period has come, and what is next.
    Periods(Periods),
    Advance(Advance),
    Verify(Verify),
    Replay(replay::ReplayEvents),
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Whose customer.
    tenant: TenantId,
    /// Who.
    customer: CustomerId,
    /// What happened: 1 to 64 characters of A-Z a-z 0-9 . _ + -
    name: EventName,
    /// The event's id. Sent again with the same instant it is the same event. One of its own, if it is not given.
    #[arg(long, value_name = "ID")]
    event_id: Option<EventId>,
    /// When, as an RFC 3339 instant; now, if it is not given.
    #[arg(long, value_name = "T")]
    at: Option<Timestamp>,
    /// How: any JSON value of at most 4 KiB; `null`, if it is not given.
    #[arg(long, value_name = "JSON", value_parser = readable)]
    properties: Option<Payload>,
    #[command(flatten)]
    submission: Submission,
}

/// Parses properties of an event.
fn readable(text: &str) -> Result<Payload, PayloadError> {
    let properties = Payload::parse(text)?;
    properties.check_readable().map(|()| properties)
}

impl Events {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Record(record) => record.send().await,
            Self::Import(import) => import.run().await,
            Self::Periods(periods) => periods.run().await,
            Self::Advance(advance) => advance.run().await,
            Self::Verify(verify) => verify.run().await,
            Self::Replay(replay) => replay.run().await,
        }
    }
}

impl Record {
    async fn send(self) -> Result<(), Failure> {
        let Self { tenant, customer, name, event_id, at, properties, submission } = self;
        let customer = Customer { tenant_id: tenant, customer_id: customer };
        let event_id = match event_id {
            Some(event_id) => event_id,
            None => EventId::new(Uuid::new_v4().to_string())?,
        };
        let at = at.unwrap_or_else(|| clock::clock().now());
        let key = EventKey { customer, at, event_id };
        let event = Event { key, name, properties: properties.unwrap_or_default() };
        submission.send(Command::RecordEvent(EventRecorded { event })).await
    }
}
