//! The customers of a tenant, and one of them: what is said of them, what they score, and what they did.

use shared::history::events::Customer;
use shared::history::summaries::{CustomerView, Days, NamedDays, Summaries, SummaryView};
use shared::platform::projection::View;
use shared::platform::values::{CustomerId, TenantId};

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

pub(crate) fn address(tenant: &str, customer: &str) -> String {
    named::path("customer", &[("tenant", tenant), ("id", customer)])
}

pub(super) async fn list(
    console: &Console,
    tenant: &str,
    fields: &Fields,
) -> Result<Markup, Failure> {
    let page = page_of(console, tenant, "customers", fields.given(&["cursor"]));
    let Read { body, cost: paid } = page.await?;
    Ok(html! {
        (cost::shown(&paid, OF_LIST))
        @if items(&body).is_empty() { p role="status" { "No customer of " (tenant) " is known here." } }
        ul class="entries" aria-label="Customers" { @for item in items(&body) { (row(tenant, item)) } }
        (more(tenant, "", &body))
    })
}

fn row(tenant: &str, item: &Value) -> Markup {
    let id = text(item, "customer_id");
    html! {
        li class="entry" {
            div class="entry-head" {
                a href=(address(tenant, id)) { strong { (id) } }
                @if !item["payload"].is_null() { span { (payload::line(&item["payload"])) } }
                @for (score, value) in item["scores"].as_object().into_iter().flatten() {
                    span class="tag" { (score) " " (number(value, "value")) }
                }
            }
            p { (tally("events", item)) }
        }
    }
}

pub(crate) async fn view(State(console): Here, fields: Fields) -> Page {
    let [tenant, id] = ["tenant", "id"].map(|name| fields.get(name).unwrap_or_default());
    let news = commands::news(&console, &fields).await;
    page_within(&console, news, (tenant, ""), id, one(&console, tenant, id).await)
}

async fn one(console: &Console, tenant: &str, id: &str) -> Result<Markup, Failure> {
    let path = ["v1", "tenants", tenant, "customers", id];
    let customer =
        Customer { tenant_id: TenantId::new(tenant)?, customer_id: CustomerId::new(id)? };
    let read = console.reads.find(&path, &[]);
    let (read, days) = futures::join!(read, days_of(console, &customer));
    let of = [("tenant", tenant), ("customer", id)];
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
                p { a href=(named::address("history", &of)) { "Event by event" } " · " a href=(named::address("audit", &of)) { "Audit them" } }
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
            p { (tally("events", body)) }
            @for (score, value) in scores {
                @let points = number(value, "value");
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
    html! {
        tr {
            th scope="row" { a href=(name_address(tenant, name)) { (name) } }
            td { (days::picture("days small", name, of_name.unwrap_or(&Days::default()))) }
            td data-label="events" { (number(of, "count")) }
            td data-label="first" { (named::when(text(of, "first_at"))) }
            td data-label="last" { (named::when(text(of, "last_at"))) }
        }
    }
}

/// What they do next, and what there is to say of them.
fn forms(console: &Console, tenant: &str, id: &str) -> Markup {
    let of = [("tenant_id", tenant), ("customer_id", id)];
    let payload = [of[0], of[1], ("payload", r#"{"name":""}"#)];
    let back = named::address("customer", &[("tenant", tenant), ("id", id)]);
    let given = [
        ("type", "event.recorded"),
        ("f.tenant_id", tenant),
        ("f.customer_id", id),
        ("back", back.as_str()),
    ];
    let asked = html! {
        (layout::input("f.name", "What they do", Some("login"), true))
        button type="submit" { "Record it" }
    };
    html! {
        (layout::command(console, (Some("row"), Some("Record an event")), &given, asked))
        p {
            a href=(form_of("customer.updated", &payload)) { "Say something of them" } ", or "
            a href=(form_of("event.recorded", &of)) { "record an event with properties" } "."
        }
    }
}
