//! Tenants: who has events in a period, and of each tenant its customers, the names of their events, its alerts, rules and
//! scores.
//!
//! No route of the API lists tenants, since each may read itself alone. Here those are listed who have events in a period, as
//! its witnesses among the views say: eight queries for a page, however many events there are. Of the rest all is what the API
//! answers, but for two that it does not tell: what a customer did by day, of the view that the API reads too, and the
//! definitions, of the ledger.

mod alerts;
mod customers;
mod days;
mod definitions;
#[cfg(test)]
mod tests;

use nagare_client::clock;
use shared::history::events::Period;
use shared::history::summaries::Summaries;
use shared::platform::values::TenantId;

use crate::commands;
use crate::prelude::*;
use crate::reads::Read;
use crate::suggested::Suggestions;
use crate::suggestions;

pub(crate) use customers::{address as customer, view as view_customer};

const LIMIT: &str = "20";
/// Tenants of a page.
const TENANTS: usize = 50;
/// Why a page of the list costs what it does.
const OF_NAMES: &str = "Each name is spread over eight items, so that no name is too busy for one: eight queries at once.";
/// Why one name does.
const OF_NAME: &str = "One call for the eight items over which the name is spread.";
/// What is shown of a tenant: what the address says, and what it is called.
const SECTIONS: [(&str, &str); 4] =
    [("", "Customers"), ("names", "Names"), ("alerts", "Alerts"), ("rules", "Rules and scores")];

pub(crate) async fn choose(State(console): Here, fields: Fields) -> Page {
    let known = Suggestions::read(&console).await.tenants;
    let content = html! {
        p { "Whose customers send events: what they come to, and what rules and scores make of them." }
        (layout::chooser("tenant", "a tenant", ("id", "Tenant"), None, "Show"))
        (suggestions::things(&known, "tenant"))
        (layout::or_problem(with_events(&console, &fields).await))
        @if console.mode == Mode::Write {
            p { "A tenant is there as soon as one of its customers does something: " a href=(named::address("commands", &[("type", "event.recorded")])) { "record an event" } "." }
        }
    };
    layout::page(&console, Place::Tenants, "Tenants", content)
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
    let of = |period: Period| named::address("tenants", &[("period", &period.to_string())]);
    Ok(html! {
        section class="card" aria-label="Tenants" {
            h2 { "With events in " (period) }
            @if page.tenants.is_empty() { p class="quiet" { "None." } }
            ul class="talk" {
                @for (tenant, events) in &page.tenants {
                    li { a href=(named::path_of("tenant", tenant.as_str())) { (tenant) } " " span class="quiet" { (layout::counted(*events, "event", "events")) } }
                }
            }
            nav class="row" aria-label="Pages" {
                @if let Some(next) = &page.next {
                    a rel="next" href=(named::address("tenants", &[("period", &period.to_string()), ("after", next.as_str())])) { "More" }
                }
                a href=(of(period.previous())) { "In " (period.previous()) }
                @if period < present { a href=(of(period.next())) { "In " (period.next()) } }
            }
        }
    })
}

pub(crate) async fn view(State(console): Here, fields: Fields) -> Page {
    let Some(tenant) = fields.get("id") else { return choose(State(console), fields).await };
    let section = fields.get("show").unwrap_or_default();
    let shown = match section {
        "" => customers::list(&console, tenant, &fields).await,
        "names" => names(&console, tenant, &fields).await,
        "alerts" => alerts::list(&console, tenant, &fields).await,
        "rules" => definitions::list(&console, tenant).await,
        _ => Err(Failure::Usage("There is no such section.".to_owned())),
    };
    let content = html! {
        (commands::news(&console, &fields).await)
        nav aria-label="Of this tenant" {
            ul class="chips tabs" {
                @for (name, label) in SECTIONS { (layout::chip(&named::section("tenant", tenant, name), name == section, label)) }
            }
        }
        (layout::or_problem(shown))
        p { a href=(named::address("audit", &[("tenant", tenant)])) { "Audit it" } }
    };
    layout::page(&console, Place::Tenants, tenant, content)
}

/// The page of something of a tenant's, with the way back to the section that lists it.
fn page_within(
    console: &Console,
    news: Markup,
    (tenant, section): (&str, &str),
    title: &str,
    shown: Result<Markup, Failure>,
) -> Page {
    let content = html! {
        (news)
        p class="quiet" { "Of " a href=(named::section("tenant", tenant, section)) { (tenant) } "." }
        (layout::or_problem(shown))
    };
    layout::page(console, Place::Tenants, title, content)
}

async fn page_of<'a>(
    console: &Console,
    tenant: &'a str,
    list: &'a str,
    mut query: Vec<(&'a str, &'a str)>,
) -> Result<Read, Failure> {
    query.push(("limit", LIMIT));
    console.reads.get(&["v1", "tenants", tenant, list], &query).await
}

/// The link to the rest of a list.
fn more(tenant: &str, section: &str, page: &Value) -> Markup {
    let here = [("id", tenant), ("show", section)];
    let here = if section.is_empty() { &here[..1] } else { &here[..] };
    layout::more(page, |cursor| named::address("tenant", &[here, &[("cursor", cursor)]].concat()))
}

/// How often something happened, and since when: `{"count" or "events","first_at","last_at"}`.
fn tally(count: &str, of: &Value) -> Markup {
    html! {
        span class="quiet" {
            (layout::counted(number(of, count), "event", "events"))
            @if let (Some(first), Some(last)) = (of["first_at"].as_str(), of["last_at"].as_str()) {
                ", the first " (named::when(first)) ", the last " (named::when(last))
            }
        }
    }
}

/// The form of a command, with members filled in.
fn form_of(command: &str, members: &[(&str, &str)]) -> String {
    let members = members.iter().map(|(name, value)| (format!("f.{name}"), *value));
    let members: Vec<_> = [("type".to_owned(), command)].into_iter().chain(members).collect();
    let query: Vec<_> = members.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    named::address("commands", &query)
}

fn name_address(tenant: &str, name: &str) -> String {
    named::path("name", &[("tenant", tenant), ("name", name)])
}

async fn names(console: &Console, tenant: &str, fields: &Fields) -> Result<Markup, Failure> {
    let page = page_of(console, tenant, "names", fields.given(&["cursor"]));
    let Read { body, cost: paid } = page.await?;
    Ok(html! {
        (cost::shown(&paid, OF_NAMES))
        section class="card" aria-label="Names of events" {
            @if items(&body).is_empty() { p class="quiet" { "No event yet." } }
            ul class="talk" {
                @for item in items(&body) {
                    @let name = text(item, "name");
                    li { a href=(name_address(tenant, name)) { (name) } " " (tally("count", item)) }
                }
            }
            (more(tenant, "names", &body))
        }
    })
}

pub(crate) async fn view_name(State(console): Here, fields: Fields) -> Page {
    let [tenant, name] = ["tenant", "name"].map(|name| fields.get(name).unwrap_or_default());
    page_within(&console, html! {}, (tenant, "names"), name, one_name(&console, tenant, name).await)
}

async fn one_name(console: &Console, tenant: &str, name: &str) -> Result<Markup, Failure> {
    Ok(match console.reads.find(&["v1", "tenants", tenant, "names", name], &[]).await? {
        None => html! { p role="status" { "There is no event of this name yet." } },
        Some(Read { body, cost: paid }) => html! {
            (cost::shown(&paid, OF_NAME))
            section class="card" aria-label="Days" {
                p { (tally("count", &body)) }
                (days::figure(name, &days::of_api(&body["days"])))
            }
        },
    })
}
