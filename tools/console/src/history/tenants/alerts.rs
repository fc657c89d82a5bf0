//! What rules and scores have told of a tenant's customers, the latest first, and what marks it as read.

use serde_json::json;

use super::*;

/// Why a page costs what it does.
const OF_LIST: &str = "A query for the rules and scores, and one for each two hundred alerts that are looked at. Alerts of rules that were defined anew or \
     deleted are skipped, four queries long at most.";
const UNREAD: &str = "unread";

pub(super) async fn list(
    console: &Console,
    tenant: &str,
    fields: &Fields,
) -> Result<Markup, Failure> {
    let unread_only = fields.get("state") == Some(UNREAD);
    // A cursor says by itself of which alerts it is.
    let query = match fields.get("cursor") {
        Some(cursor) => vec![("cursor", cursor)],
        None => fields.given(&["state"]),
    };
    let Read { body, cost: paid } = page_of(console, tenant, "alerts", query).await?;
    let back = here(tenant, unread_only, None);
    let unread: Vec<_> = items(&body)
        .iter()
        .filter(|item| item["state"] == UNREAD)
        .filter_map(|item| item["alert_id"].as_str())
        .collect();
    Ok(html! {
        (cost::shown(&paid, OF_LIST))
        section class="card" aria-label="Alerts" {
            nav aria-label="Which alerts" {
                ul class="chips" {
                    (layout::chip(&here(tenant, false, None), !unread_only, "All"))
                    (layout::chip(&here(tenant, true, None), unread_only, "Unread"))
                }
            }
            @if items(&body).is_empty() { p class="quiet" { "Nothing here. " a href=(named::section("tenant", tenant, "rules")) { "Rules and scores" } " say what is told." } }
            ul class="talk" { @for item in items(&body) { (row(console, tenant, item, &back)) } }
            @if unread.len() > 1 { (mark(console, tenant, &unread, &back, &format!("Mark these {} as read", unread.len()))) }
            (layout::more(&body, |cursor| here(tenant, unread_only, Some(cursor))))
        }
    })
}

fn here(tenant: &str, unread_only: bool, cursor: Option<&str>) -> String {
    let state = unread_only.then_some(("state", UNREAD));
    let of = [("id", tenant), ("show", "alerts")];
    let all = of.into_iter().chain(state).chain(cursor.map(|cursor| ("cursor", cursor)));
    named::address("tenant", &all.collect::<Vec<_>>())
}

fn row(console: &Console, tenant: &str, item: &Value, back: &str) -> Markup {
    let text = |name| text(item, name);
    let events = number(&item["decided_on"], "events");
    html! {
        li class="alert" {
            span {
                a href=(customers::address(tenant, text("customer_id"))) { (text("customer_id")) } ": "
                @match item["rule_id"].as_str() {
                    Some(rule) => { "rule " strong { (rule) } },
                    None => { "score " strong { (text("score_id")) } },
                }
                " " span class="quiet" {
                    (when(item)) ", on " (layout::counted(events, "event", "events")) ", " (named::when(text("decided_at")))
                }
            }
            @if text("state") == UNREAD {
                span class="tag unread" { "unread" }
                (mark(console, tenant, &[text("alert_id")], back, "Mark as read"))
            }
        }
    }
}

/// Of which period or day it is. Where all of time is one period, that goes without saying.
fn when(item: &Value) -> String {
    match (item["period"].as_str(), item["day"].as_str()) {
        (Some("ever"), _) => "reached".to_owned(),
        (Some(period), _) => format!("in {period}"),
        (None, day) => format!("on {}", day.unwrap_or_default()),
    }
}

/// What marks alerts as read.
fn mark(console: &Console, tenant: &str, ids: &[&str], back: &str, label: &str) -> Markup {
    let read: Vec<_> = ids.iter().map(|id| json!({ "alert_id": id })).collect();
    let read = Value::from(read).to_string();
    let given =
        [("type", "alerts.read"), ("f.tenant_id", tenant), ("f.read", &read), ("back", back)];
    let button = html! { button type="submit" class="second" { (label) } };
    layout::command(console, (None, None), &given, button)
}
