//! `nagare history`: what a customer did, read through the API.

use clap::Args;
use nagare_client::api::{Api, Query};
use serde::Deserialize;
use serde_json::value::RawValue;
use shared::platform::values::{CustomerId, TenantId};

use crate::Failure;
use crate::pages::{List, Pages, unexpected};
use crate::print::{one_line, say};

#[derive(Debug, Args)]
pub(crate) struct History {
    /// Whose customer.
    tenant: TenantId,
    /// Who.
    customer: CustomerId,
    /// Keep events of this name; may be given several times.
    #[arg(long = "name", value_name = "NAME", conflicts_with = "cursor")]
    names: Vec<String>,
    #[command(flatten)]
    pages: Pages,
}

#[derive(Deserialize)]
struct ShownEvent<'a> {
    #[serde(borrow)]
    event_id: &'a str,
    name: &'a str,
    at: &'a str,
    properties: &'a RawValue,
}

impl History {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let Self { tenant, customer, names, pages } = self;
        let mut api = Api::for_tenant(&tenant).await?;
        let list = List {
            path: &["v1", "tenants", tenant.as_str(), "customers", customer.as_str(), "events"],
            always: Query::new(),
            at_first: names.into_iter().map(|name| ("name", name)).collect(),
            print: print_event,
            nothing: format!("nothing of {customer}, of {tenant}"),
        };
        pages.run(&mut api, &list).await
    }
}

/// Prints an event for people.
fn print_event(event: &RawValue) -> Result<(), Failure> {
    let ShownEvent { event_id, name, at, properties } =
        serde_json::from_str(event.get()).map_err(unexpected)?;
    say!("{at}  {name:<16} {event_id:<24} {}", one_line(properties))
}
