//! Tenants: who has events in a period, and of each tenant its customers, the names of their events, its alerts, rules and
//! scores.
//!
//! No route of the API lists tenants, since each may read itself alone. Here those are listed who have events in a period, as
//! its witnesses among the views say: eight queries for a page, however many events there are. Of the rest all is what the API
//! answers, but for two that it does not tell: what a customer did by day, of the view that the API reads too, and the
//! definitions, of the ledger.
//!
//! ```text
//! customers    the list, and one of them
//! names        names of events, and one of them
//! alerts       what rules and scores have told, and marks
//! definitions  the rules and the scores
//! days         events by day, as bars
//! ```

mod alerts;
mod customers;
mod days;
mod definitions;
mod names;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use nagare_client::clock;
use nagare_client::failure::Failure;
use serde_json::Value;
use shared::events::Period;
use shared::summaries::Summaries;
use shared::values::TenantId;

use super::fields::Fields;
use super::layout::{self, Place};
use super::reads::Read;
use super::suggestions::{self, Suggestions};
use super::{Console, Mode, PATH, commands, named};

/// Of a list.
const LIMIT: &str = "20";
/// Tenants of a page.
const TENANTS: usize = 50;
/// What is shown of a tenant: what the address says, and what it is called.
const SECTIONS: [(&str, &str); 4] =
    [("", "Customers"), ("names", "Names"), ("alerts", "Alerts"), ("rules", "Rules and scores")];

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/tenants", get(choose))
        .route("/console/tenant", get(view))
        .route("/console/customer", get(customers::view))
        .route("/console/name", get(names::view))
}

/// The page of a tenant.
pub(super) fn address(tenant: &str) -> String {
    format!("{PATH}{}", layout::address("tenant", &[("id", tenant)]))
}

/// The page of a customer of theirs.
pub(super) fn customer(tenant: &str, customer: &str) -> String {
    customers::address(tenant, customer)
}

fn section_of(tenant: &str, section: &str) -> String {
    match section {
        "" => layout::address("tenant", &[("id", tenant)]),
        _ => layout::address("tenant", &[("id", tenant), ("show", section)]),
    }
}

async fn choose(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let known = Suggestions::of(&console).await.tenants;
    let content = html! {
        p { "Whose customers send events: what they come to, and what rules and scores make of them." }
        (layout::chooser("tenant", "a tenant", ("id", "Tenant"), None, "Show"))
        (suggestions::tenants(&known))
        (layout::or_problem(with_events(&console, &fields).await))
        @if console.mode == Mode::Write {
            p { "A tenant is there as soon as one of its customers does something: " a href=(layout::address("commands", &[("type", "event.recorded")])) { "record an event" } "." }
        }
    };
    layout::page(&console, Place::Tenants, "Tenants", content).into_response()
}

/// Tenants with events in a period, page by page.
async fn with_events(console: &Console, fields: &Fields) -> Result<Markup, Failure> {
    let settings = console.remote.event_settings()?;
    let present = settings.period_of(clock::clock().now());
    let period = fields.get("period").map(str::parse::<Period>).transpose();
    let period = period.map_err(|e| Failure::Usage(e.to_string()))?.unwrap_or(present);
    let after = fields.get("after").map(TenantId::new).transpose()?;
    let summaries = Summaries::new(&console.remote.views()?);
    let page = summaries.tenants(period, after.as_ref(), TENANTS).await?;
    let of = |period: Period| layout::address("tenants", &[("period", &period.to_string())]);
    Ok(html! {
        section class="card" aria-label="Tenants" {
            h2 { "With events in " (period) }
            @if page.tenants.is_empty() { p class="quiet" { "None." } }
            ul class="talk" {
                @for (tenant, events) in &page.tenants {
                    li { a href=(address(tenant.as_str())) { (tenant) } " " span class="quiet" { (layout::counted(*events, "event", "events")) } }
                }
            }
            nav class="row" aria-label="Pages" {
                @if let Some(next) = &page.next {
                    a rel="next" href=(layout::address("tenants", &[("period", &period.to_string()), ("after", next.as_str())])) { "More" }
                }
                a href=(of(period.previous())) { "In " (period.previous()) }
                @if period < present { a href=(of(period.next())) { "In " (period.next()) } }
            }
        }
    })
}

async fn view(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let Some(tenant) = fields.get("id") else { return choose(State(console), fields).await };
    let section = fields.get("show").unwrap_or_default();
    let shown = match section {
        "" => customers::list(&console, tenant, &fields).await,
        "names" => names::list(&console, tenant, &fields).await,
        "alerts" => alerts::list(&console, tenant, &fields).await,
        "rules" => definitions::list(&console, tenant).await,
        _ => Err(Failure::Usage("There is no such section.".to_owned())),
    };
    let content = html! {
        (commands::news(&console, &fields).await)
        nav aria-label="Of this tenant" {
            ul class="chips tabs" {
                @for (name, label) in SECTIONS {
                    li { a href=(section_of(tenant, name)) aria-current=[(name == section).then_some("true")] { (label) } }
                }
            }
        }
        (layout::or_problem(shown))
        p { a href=(layout::address("audit", &[("tenant", tenant)])) { "Audit it" } }
    };
    layout::page(&console, Place::Tenants, tenant, content).into_response()
}

/// The way back to a tenant, from what is its.
fn way_back(tenant: &str, section: &str) -> Markup {
    html! { p class="quiet" { "Of " a href=(section_of(tenant, section)) { (tenant) } "." } }
}

/// A page of one of a tenant's lists.
async fn page_of<'a>(
    console: &Console,
    tenant: &'a str,
    list: &'a str,
    mut query: Vec<(&'a str, &'a str)>,
) -> Result<Read, Failure> {
    query.push(("limit", LIMIT));
    console.reads.get(&console.remote, &["v1", "tenants", tenant, list], &query).await
}

fn items(body: &Value) -> &[Value] {
    body["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The link to the rest of a list.
fn more(tenant: &str, section: &str, body: &Value) -> Markup {
    let here = [("id", tenant), ("show", section)];
    let here = if section.is_empty() { &here[..1] } else { &here[..] };
    html! {
        @if let Some(cursor) = body["next_cursor"].as_str() {
            nav aria-label="Pages" {
                a rel="next" href=(layout::address("tenant", &[here, &[("cursor", cursor)]].concat())) { "More" }
            }
        }
    }
}

/// How often something happened, and since when: `{"count" or "events","first_at","last_at"}`.
fn tally(count: u64, of: &Value) -> Markup {
    html! {
        span class="quiet" {
            (layout::counted(count, "event", "events"))
            @if let (Some(first), Some(last)) = (of["first_at"].as_str(), of["last_at"].as_str()) {
                ", the first " (named::when(first)) ", the last " (named::when(last))
            }
        }
    }
}

/// The form of a command, with members filled in.
fn form_of(command: &str, members: &[(&str, &str)]) -> String {
    let members: Vec<_> =
        members.iter().map(|(name, value)| (format!("f.{name}"), *value)).collect();
    let members = members.iter().map(|(name, value)| (name.as_str(), *value));
    layout::address("commands", &[("type", command)].into_iter().chain(members).collect::<Vec<_>>())
}
