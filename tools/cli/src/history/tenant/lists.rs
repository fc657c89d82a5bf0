//! What a tenant reads: customers, names of events, alerts.

use std::collections::BTreeMap;

use clap::Args;
use nagare_client::api::{Api, Query};
use serde::Deserialize;
use serde_json::value::RawValue;
use shared::platform::values::{CustomerId, EventName, TenantId};

use crate::Failure;
use crate::list_pages::ListPages;
use crate::pages::unexpected;
use crate::print::{counted, one_line, printable, say};

/// List all customers who did something, or of whom there is something to show, by id.
#[derive(Debug, Args)]
pub(crate) struct Customers {
    /// Whose customers.
    tenant: TenantId,
    #[command(flatten)]
    pages: ListPages,
}

/// Show what CUSTOMER did: how often, since when, and what they score.
#[derive(Debug, Args)]
pub(crate) struct Customer {
    /// Whose customer.
    tenant: TenantId,
    /// Who.
    customer: CustomerId,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// List the names of events, and how often each happened.
#[derive(Debug, Args)]
pub(crate) struct Names {
    /// Whose customers' events.
    tenant: TenantId,
    #[command(flatten)]
    pages: ListPages,
}

/// Show how often events of NAME happened, by day.
#[derive(Debug, Args)]
pub(crate) struct Name {
    /// Whose customers' events.
    tenant: TenantId,
    /// What happened.
    name: EventName,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// List what rules and scores have decided, the latest first.
#[derive(Debug, Args)]
pub(crate) struct Alerts {
    /// Whose.
    tenant: TenantId,
    /// Those alone that are not read.
    #[arg(long)]
    unread: bool,
    #[command(flatten)]
    pages: ListPages,
}

#[derive(Deserialize)]
struct ShownSummary {
    customer_id: String,
    payload: Option<Box<RawValue>>,
    events: u64,
    first_at: Option<String>,
    last_at: Option<String>,
    #[serde(default)]
    names: BTreeMap<String, Tally>,
    #[serde(default)]
    scores: BTreeMap<String, Scored>,
}

#[derive(Deserialize)]
struct Tally {
    #[serde(default)]
    name: String,
    count: u64,
    first_at: Option<String>,
    last_at: Option<String>,
    #[serde(default)]
    days: Vec<Day>,
}

#[derive(Deserialize)]
struct Day {
    date: String,
    count: u64,
}

#[derive(Deserialize)]
struct Scored {
    value: i64,
    as_of: String,
}

#[derive(Deserialize)]
struct Alert {
    alert_id: String,
    rule_id: Option<String>,
    score_id: Option<String>,
    customer_id: String,
    period: Option<String>,
    day: Option<String>,
    decided_at: String,
    state: String,
}

impl Customers {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let nothing = format!("no customers of {}", self.tenant);
        list(&self.pages, &self.tenant, "customers", Query::new(), print_customer, &nothing).await
    }
}

impl Names {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let nothing = format!("no events of {}", self.tenant);
        list(&self.pages, &self.tenant, "names", Query::new(), print_name, &nothing).await
    }
}

impl Alerts {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let state = self.unread.then(|| ("state", "unread".to_owned()));
        let nothing = format!("no alerts of {}", self.tenant);
        let always = state.into_iter().collect();
        list(&self.pages, &self.tenant, "alerts", always, print_alert, &nothing).await
    }
}

impl Customer {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let path = ["v1", "tenants", self.tenant.as_str(), "customers", self.customer.as_str()];
        let nobody = || format!("nothing is known of {}, of {}", self.customer, self.tenant);
        let found = find(&self.tenant, &path, nobody).await?;
        if self.json {
            return say!("{}", one_line(&found));
        }
        print_customer(&found)?;
        let summary: ShownSummary = read(&found)?;
        if let Some(payload) = &summary.payload {
            say!("  payload  {}", one_line(payload))?;
        }
        for (score, Scored { value, as_of }) in &summary.scores {
            say!("  score    {:<24} {value:>3} as of {}", printable(score), printable(as_of))?;
        }
        for (name, tally) in &summary.names {
            say!("  {}", line(name, tally))?;
        }
        Ok(())
    }
}

impl Name {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let path = ["v1", "tenants", self.tenant.as_str(), "names", self.name.as_str()];
        let nothing = || format!("no {} of {}", self.name.as_str(), self.tenant);
        let found = find(&self.tenant, &path, nothing).await?;
        if self.json {
            return say!("{}", one_line(&found));
        }
        print_name(&found)?;
        let tally: Tally = read(&found)?;
        tally
            .days
            .iter()
            .try_for_each(|Day { date, count }| say!("  {}  {count:>10}", printable(date)))
    }
}

async fn list(
    pages: &ListPages,
    tenant: &TenantId,
    list: &str,
    always: Query,
    print: fn(&RawValue) -> Result<(), Failure>,
    nothing: &str,
) -> Result<(), Failure> {
    let (api, path) = (Api::for_tenant(tenant).await?, ["v1", "tenants", tenant.as_str(), list]);
    pages.run(api, &path, &always, print, nothing).await
}

/// One thing of a tenant's.
async fn find(
    tenant: &TenantId,
    path: &[&str],
    nothing: impl FnOnce() -> String,
) -> Result<Box<RawValue>, Failure> {
    let found = Api::for_tenant(tenant).await?.find(path, &Query::new()).await?;
    found.ok_or_else(|| Failure::No(nothing()))
}

fn read<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Result<T, Failure> {
    serde_json::from_str(json.get()).map_err(unexpected)
}

fn print_customer(item: &RawValue) -> Result<(), Failure> {
    let ShownSummary { customer_id, events, first_at, last_at, .. } = read(item)?;
    let events = counted(events, "event", "events");
    say!("{:<24} {events:>16}{}", printable(&customer_id), span(&first_at, &last_at))
}

fn print_name(item: &RawValue) -> Result<(), Failure> {
    let tally: Tally = read(item)?;
    say!("{}", line(&tally.name, &tally))
}

fn line(name: &str, tally: &Tally) -> String {
    let times = counted(tally.count, "time", "times");
    format!("{:<24} {times:>16}{}", printable(name), span(&tally.first_at, &tally.last_at))
}

/// From when to when, where anything happened.
fn span(first: &Option<String>, last: &Option<String>) -> String {
    match (first, last) {
        (Some(first), Some(last)) => format!("  {} … {}", printable(first), printable(last)),
        _ => String::new(),
    }
}

fn print_alert(item: &RawValue) -> Result<(), Failure> {
    let Alert { alert_id, rule_id, score_id, customer_id, period, day, decided_at, state } =
        read(item)?;
    let of = match (&rule_id, &score_id) {
        (Some(rule), _) => format!("rule {rule}"),
        (None, Some(score)) => format!("score {score}"),
        (None, None) => String::new(),
    };
    let when = period.or(day).unwrap_or_default();
    let text = format!("{decided_at}  {state:<6} {of:<24} {customer_id:<24} {when:<10} {alert_id}");
    say!("{}", printable(&text))
}
