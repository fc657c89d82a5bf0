//! The customers of a tenant, and one of them: what is said of them, what they score, and what they did.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde_json::Value;
use shared::events::Customer;
use shared::projection::View;
use shared::summaries::{CustomerView, Days, NamedDays, Summaries, SummaryView};
use shared::values::{CustomerId, TenantId};

use super::super::{cost, payload};
use super::*;

/// Names of one customer that are shown.
const NAMES: usize = 40;
/// Why a page of the list costs what it does.
const OF_LIST: &str = "One query for those who did something, one for those of whom something is said, one for the scores. \
     Then a call for the views of all of the page, and one more for each customer who has more than a view holds.";
/// Why one customer does.
const OF_CUSTOMER: &str = "Three calls at once: what the customer did, what is said of them, and the scores of the tenant. How many events there \
     are makes no difference. Who has more names or days than a view holds costs a query more. Days are read once more beside it, \
     which the API does not do and is not counted here: a call.";

/// The page of a customer.
pub(super) fn address(tenant: &str, customer: &str) -> String {
    let of = [("tenant", tenant), ("id", customer)];
    format!("{PATH}{}", layout::address("customer", &of))
}

pub(super) async fn list(
    console: &Console,
    tenant: &str,
    fields: &Fields,
) -> Result<Markup, Failure> {
    let Read { body, cost: paid } =
        page_of(console, tenant, "customers", fields.of(&["cursor"])).await?;
    Ok(html! {
        (cost::shown(&paid, OF_LIST))
        @if items(&body).is_empty() { p role="status" { "No customer of " (tenant) " is known here." } }
        ul class="entries" aria-label="Customers" { @for item in items(&body) { (row(tenant, item)) } }
        (more(tenant, "", &body))
    })
}

fn row(tenant: &str, item: &Value) -> Markup {
    let id = item["customer_id"].as_str().unwrap_or_default();
    html! {
        li class="entry" {
            div class="entry-head" {
                a href=(address(tenant, id)) { strong { (id) } }
                @if !item["payload"].is_null() { span { (payload::line(&item["payload"])) } }
                @for (score, value) in item["scores"].as_object().into_iter().flatten() {
                    span class="tag" { (score) " " (value["value"].as_u64().unwrap_or(0)) }
                }
            }
            p { (tally(item["events"].as_u64().unwrap_or(0), item)) }
        }
    }
}

pub(super) async fn view(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let (tenant, id) =
        (fields.get("tenant").unwrap_or_default(), fields.get("id").unwrap_or_default());
    let content = html! {
        (commands::news(&console, &fields).await)
        (way_back(tenant, ""))
        (layout::or_problem(one(&console, tenant, id).await))
    };
    layout::page(&console, Place::Tenants, id, content).into_response()
}

async fn one(console: &Console, tenant: &str, id: &str) -> Result<Markup, Failure> {
    let path = ["v1", "tenants", tenant, "customers", id];
    let customer =
        Customer { tenant_id: TenantId::new(tenant)?, customer_id: CustomerId::new(id)? };
    let read = console.reads.find(&console.remote, &path, &[]);
    let (read, days) = futures::join!(read, days_of(console, &customer));
    let of = [("tenant", tenant), ("customer", id)];
    let (history, audit) = (layout::address("history", &of), layout::address("audit", &of));
    Ok(html! {
        @match read? {
            None => p role="status" { "Nothing is known of this customer yet." },
            Some(Read { body, cost: paid }) => {
                (cost::shown(&paid, OF_CUSTOMER))
                (summary(&body))
                @match days {
                    Ok(days) => (did(tenant, &body, &days)),
                    Err(failure) => (layout::problem(&failure)),
                }
                p { a href=(history) { "Event by event" } " · " a href=(audit) { "Audit them" } }
            }
        }
        @if console.mode == Mode::Write { (forms(console, tenant, id)) }
    })
}

/// What a customer did by name and day. The API tells no days of a customer: they are in the view that it reads.
async fn days_of(console: &Console, customer: &Customer) -> Result<NamedDays, Failure> {
    let views = console.remote.views()?;
    let key = SummaryView::Customer(customer.clone()).key();
    let view = views.read(key, View::<CustomerView>::read_from).await?;
    let summaries = Summaries::new(&views);
    let summary = summaries.since(customer, view.state, Some(days::first())).await?;
    Ok(summary.days().clone())
}

fn summary(body: &Value) -> Markup {
    let scores = body["scores"].as_object().into_iter().flatten();
    html! {
        section class="card" aria-label="Summary" {
            @if body["payload"].is_null() { p class="quiet" { "Nothing is said of this customer." } }
            (payload::shown(&body["payload"]))
            p { (tally(body["events"].as_u64().unwrap_or(0), body)) }
            @for (score, value) in scores {
                @let points = value["value"].as_u64().unwrap_or(0);
                div class="bar" {
                    span class="bar-label" { (score) }
                    progress class="score" max="100" value=(points) aria-label=(score) {}
                    span class="bar-value" { (points) " of 100" }
                }
            }
        }
    }
}

/// What they did: all of it by day, and each name.
fn did(tenant: &str, body: &Value, days: &NamedDays) -> Markup {
    let mut all = Days::default();
    days.values().for_each(|of_name| all.join(of_name));
    let names = body["names"].as_object();
    let count = names.map_or(0, |names| names.len());
    html! {
        section class="card" aria-label="Days" {
            h2 { "By day" }
            (days::figure("Events", &all))
        }
        @if count > 0 {
            section class="card" aria-label="Names" {
                h2 { "By name" }
                table class="stack" {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Days" } th scope="col" { "Events" } th scope="col" { "First" } th scope="col" { "Last" } } }
                    tbody { @for (name, of) in names.into_iter().flatten().take(NAMES) { (name_row(tenant, name, of, days)) } }
                }
                @if count > NAMES { p class="quiet" { "And " (count - NAMES) " more: " code { "nagare tenant customer" } " prints them all." } }
            }
        }
    }
}

fn name_row(tenant: &str, name: &str, of: &Value, days: &NamedDays) -> Markup {
    let of_name = days.iter().find(|(other, _)| other.as_str() == name).map(|(_, days)| days);
    let instant = |member: &str| named::when(of[member].as_str().unwrap_or_default());
    html! {
        tr {
            th scope="row" { a href=(names::address(tenant, name)) { (name) } }
            td { (days::small(name, of_name.unwrap_or(&Days::default()))) }
            td data-label="events" { (of["count"].as_u64().unwrap_or(0)) }
            td data-label="first" { (instant("first_at")) }
            td data-label="last" { (instant("last_at")) }
        }
    }
}

/// What they do next, and what there is to say of them.
fn forms(console: &Console, tenant: &str, id: &str) -> Markup {
    let of = [("tenant_id", tenant), ("customer_id", id)];
    let payload = [of[0], of[1], ("payload", r#"{"name":""}"#)];
    html! {
        form method="post" action="send" class="row" aria-label="Record an event" {
            (layout::token(console))
            input type="hidden" name="type" value="event.recorded";
            @for (member, value) in of { input type="hidden" name=(format!("f.{member}")) value=(value); }
            input type="hidden" name="back" value=(layout::address("customer", &[("tenant", tenant), ("id", id)]));
            (layout::input("f.name", "What they do", Some("login"), true))
            button type="submit" { "Record it" }
        }
        p {
            a href=(form_of("customer.updated", &payload)) { "Say something of them" } ", or "
            a href=(form_of("event.recorded", &of)) { "record an event with properties" } "."
        }
    }
}
