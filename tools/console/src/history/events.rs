//! Periods of events: how far each has come and what is next; and what a customer of a tenant did.

use nagare_client::clock;
use nagare_operator::periods::PeriodReport;

use crate::history::tenants;
use crate::prelude::*;
use crate::reads::Read;
use crate::suggested::Suggestions;
use crate::suggestions;

const LIMIT: &str = "20";
/// What the API takes, and this view hands on.
const PARAMETERS: [&str; 5] = ["cursor", "order", "from", "to", "name"];
/// Why a page of a history costs what it does.
const OF_HISTORY: &str =
    "a query of each period that the page reaches into, half a unit for each 4 KB";
/// Periods that are shown at once.
const SHOWN: usize = 60;

pub(crate) async fn view(State(console): Here) -> Page {
    let content = html! {
        p { "What customers did, event by event, and how far each period has come. What it comes to is with the " a href="tenants" { "tenants" } "." }
        (chooser(None, None))
        (suggested(&console).await)
        (shown(&console).await)
    };
    layout::page(&console, Place::Events, "Events", content)
}

pub(crate) async fn periods(State(console): Here) -> Page {
    layout::region(shown(&console).await)
}

async fn shown(console: &Console) -> Markup {
    let read = async {
        let events = console.remote.events()?;
        Ok::<_, Failure>(PeriodReport::all(&events, clock::clock().now()).await?)
    };
    let table = layout::or_problem(read.await.map(|reports| table(&reports)));
    // On an account each look is a call for each table.
    let again = console.account.is_none().then_some("periods");
    html! {
        section #periods class="card" aria-label="Periods" hx-get=[again] hx-trigger=[again.map(|_| "load delay:2s")] hx-swap="outerHTML" {
            p class="quiet" { "It is " time { (clock::clock().now().to_string()) } " in the stack." }
            (table)
        }
    }
}

/// Customers to look at. Where none is known, how one becomes known.
async fn suggested(console: &Console) -> Markup {
    let customers = Suggestions::read(console).await.customers;
    html! {
        (suggestions::customers_of(&customers))
        @if customers.is_empty() {
            p { "No customer is known here yet: " a href=(named::address("commands", &[("type", "event.recorded")])) { "record an event" } "." }
        }
    }
}

fn table(reports: &[PeriodReport]) -> Markup {
    let number = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), |it| it.to_string());
    html! {
        @if reports.is_empty() { p role="status" { "No period is planned yet: the keeper has not run." } }
        @else {
            table class="stack" {
                caption { "How far each period has come, the newest first" }
                thead { tr { th scope="col" { "Period" } th scope="col" { "State" } th scope="col" { "Events" } th scope="col" { "Bytes" } th scope="col" { "Next" } th scope="col" { "From" } } }
                tbody {
                    @for report in reports.iter().take(SHOWN) {
                        tr {
                            th scope="row" { (report.period) }
                            td { (report.state) @if let Some(why) = &report.dispute { p class="problem" { (why) } } }
                            td data-label="Events" { (number(report.events)) }
                            td data-label="Bytes" { (number(report.bytes)) }
                            td data-label="Next" { (report.next.as_deref().unwrap_or("–")) }
                            td data-label="From" { @if let Some(at) = report.next_at { (named::instant(at)) } }
                        }
                    }
                }
            }
            @if reports.len() > SHOWN { p class="quiet" { "Older ones: " code { "nagare events periods" } } }
        }
    }
}

pub(crate) async fn history(State(console): Here, fields: Fields) -> Page {
    let (tenant, customer) = (fields.get("tenant"), fields.get("customer"));
    let chooser = chooser(tenant, customer);
    let (tenant, customer) = (tenant.unwrap_or_default(), customer.unwrap_or_default());
    let shown = layout::or_problem(read(&console, tenant, customer, &fields).await);
    let title = format!("What {customer} of {tenant} did");
    layout::page(&console, Place::Events, &title, html! { (chooser) (shown) })
}

async fn read(
    console: &Console,
    tenant: &str,
    customer: &str,
    fields: &Fields,
) -> Result<Markup, Failure> {
    let query = fields.limited(&PARAMETERS, LIMIT);
    let path = ["v1", "tenants", tenant, "customers", customer, "events"];
    let Read { body, cost: paid } = console.reads.get(&path, &query).await?;
    let of = [("tenant", tenant), ("customer", customer)];
    let with = |name, value| named::address("history", &[of[0], of[1], (name, value)]);
    Ok(html! {
        (cost::shown(&paid, OF_HISTORY))
        p { a href=(tenants::customer(tenant, customer)) { "What it comes to" } ", of " a href=(named::path_of("tenant", tenant)) { (tenant) } }
        @if items(&body).is_empty() { p role="status" { "Nothing is recorded here." } }
        ol class="entries" aria-label=(format!("Events of {customer}")) {
            @for item in items(&body) { (event(item)) }
        }
        nav class="row" aria-label="Pages" {
            @if let Some(cursor) = body["next_cursor"].as_str() { a rel="next" href=(with("cursor", cursor)) { "More" } }
            @if fields.get("order") == Some("oldest") { a href=(named::address("history", &of)) { "Newest first" } }
            @else { a href=(with("order", "oldest")) { "Oldest first" } }
        }
        @if let Some(before) = body["archived_before"].as_str() {
            p class="quiet" { "What was before " (named::when(before)) " is in the archive." }
        }
    })
}

fn event(item: &Value) -> Markup {
    html! {
        li class="entry" {
            p { strong { (text(item, "name")) } " " (named::when(text(item, "at"))) " " span class="code quiet" { (text(item, "event_id")) } }
            (payload::shown_again(&item["properties"]))
        }
    }
}

fn chooser(tenant: Option<&str>, customer: Option<&str>) -> Markup {
    html! {
        form method="get" action="history" class="row card" aria-label="A customer's history" {
            (layout::input("tenant", "Tenant", tenant, true))
            (layout::input("customer", "Customer", customer, true))
            button type="submit" { "Show" }
        }
    }
}
