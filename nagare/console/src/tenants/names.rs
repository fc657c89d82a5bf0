//! The names of a tenant's events, each with how often it happened, and one of them by day.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::super::cost;
use super::*;

/// Why a page of the list costs what it does.
const OF_LIST: &str = "Each name is spread over eight items, so that no name is too busy for one: eight queries at once.";
/// Why one name does.
const OF_NAME: &str = "One call for the eight items over which the name is spread.";

/// The page of a name.
pub(super) fn address(tenant: &str, name: &str) -> String {
    format!("{PATH}{}", layout::address("name", &[("tenant", tenant), ("name", name)]))
}

pub(super) async fn list(
    console: &Console,
    tenant: &str,
    fields: &Fields,
) -> Result<Markup, Failure> {
    let Read { body, cost: paid } =
        page_of(console, tenant, "names", fields.of(&["cursor"])).await?;
    Ok(html! {
        (cost::shown(&paid, OF_LIST))
        section class="card" aria-label="Names of events" {
            @if items(&body).is_empty() { p class="quiet" { "No event yet." } }
            ul class="talk" {
                @for item in items(&body) {
                    @let name = item["name"].as_str().unwrap_or_default();
                    li { a href=(address(tenant, name)) { (name) } " " (tally(item["count"].as_u64().unwrap_or(0), item)) }
                }
            }
            (more(tenant, "names", &body))
        }
    })
}

pub(super) async fn view(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let (tenant, name) =
        (fields.get("tenant").unwrap_or_default(), fields.get("name").unwrap_or_default());
    let content = html! {
        (way_back(tenant, "names"))
        (layout::or_problem(one(&console, tenant, name).await))
    };
    layout::page(&console, Place::Tenants, name, content).into_response()
}

async fn one(console: &Console, tenant: &str, name: &str) -> Result<Markup, Failure> {
    let path = ["v1", "tenants", tenant, "names", name];
    Ok(match console.reads.find(&console.remote, &path, &[]).await? {
        None => html! { p role="status" { "There is no event of this name yet." } },
        Some(Read { body, cost: paid }) => html! {
            (cost::shown(&paid, OF_NAME))
            section class="card" aria-label="Days" {
                p { (tally(body["count"].as_u64().unwrap_or(0), &body)) }
                (days::figure(name, &days::of_api(&body["days"])))
            }
        },
    })
}
