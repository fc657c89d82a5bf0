//! What all pages share: the frame, the parts that several views show, and how failures are said in place.

use std::fmt::Display;

use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use maud::{DOCTYPE, Markup, html};
use nagare_client::failure::Failure;
use serde_json::Value;

use super::fields::TOKEN;
use super::{Console, Mode, PATH, looking};

/// What htmx may do: nothing that the policy forbids, and nothing elsewhere.
const HTMX: &str = r#"{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"allowScriptTags":false,"historyCacheSize":0,"scrollIntoViewOnBoost":false}"#;

/// Where in the console a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Home,
    Timeline,
    People,
    Rooms,
    Activities,
    Commands,
    Show,
    Events,
    Tenants,
    Queues,
    Audit,
    Tables,
    Log,
    Numbers,
    Faults,
    /// Behind none of the entries of the menu.
    None,
}

/// The menu.
const MENU: [(Place, &str, &str); 15] = [
    (Place::Home, "", "Start"),
    (Place::Timeline, "timeline", "Timeline"),
    (Place::People, "people", "People"),
    (Place::Rooms, "room", "Rooms"),
    (Place::Activities, "activity", "Activities"),
    (Place::Commands, "commands", "Publish"),
    (Place::Show, "show", "Polls and battles"),
    (Place::Events, "events", "Events"),
    (Place::Tenants, "tenants", "Tenants"),
    (Place::Queues, "queues", "Queues"),
    (Place::Audit, "audit", "Audit"),
    (Place::Tables, "tables", "Tables"),
    (Place::Log, "log", "Log"),
    (Place::Numbers, "numbers", "Metrics"),
    (Place::Faults, "faults", "Faults"),
];

/// A page of the console.
pub(super) fn page(console: &Console, place: Place, title: &str, content: Markup) -> Html<String> {
    let stack = html! {
        @match &console.account {
            None => span class="tag" { "local stack" },
            Some(account) => strong class="tag account" { (account) },
        }
        @if console.mode == Mode::ReadOnly { span class="tag" { "read-only" } }
    };
    let menu = html! {
        nav aria-label="Views" {
            ul {
                @for (entry, address, name) in MENU {
                    li { a href={ (PATH) (address) } aria-current=[(entry == place).then_some("page")] { (name) } }
                }
            }
        }
    };
    frame(
        title,
        html! { a class="brand" href=(PATH) { "Nagare" } (stack) (looking::place()) (menu) },
        content,
    )
}

/// A page that says one thing.
pub(super) fn bare(title: &str, sentence: &str) -> Html<String> {
    let header = html! { a class="brand" href="/console/" { "Nagare" } };
    frame(
        title,
        header,
        html! { p role="alert" class="problem" { (sentence) } p { a href="/console/" { "To the start" } } },
    )
}

/// What is said to whoever has not shown that they may look. Nothing is loaded: they may not have that either.
pub(super) fn door(again: &str) -> Html<String> {
    plain(
        "Who looks?",
        html! {
            p { "This console opens to whoever has its address: `nagare up` and `nagare console` print it when they start, and `nagare env` has that of a local stack (NAGARE_CONSOLE_URL). It is another one each time." }
            p { "Did you come by a link of another site, and have opened the console before? Then " a href=(again) { "open this page again" } "." }
        },
    )
}

/// What is said to whoever comes by another site although they may look.
pub(super) fn elsewhere(again: &str) -> Html<String> {
    plain(
        "From another site",
        html! { p { "A page of another site led here, and nothing was done. " a href=(again) { "Open this page again" } " if you want to see it." } },
    )
}

/// A page that needs nothing else of the console.
fn plain(title: &str, content: Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Nagare" }
            }
            body { main { h1 { (title) } (content) } }
        }
    };
    Html(page.into_string())
}

fn frame(title: &str, header: Markup, content: Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="htmx-config" content=(HTMX);
                title { (title) " · Nagare" }
                link rel="stylesheet" href="/console/console.css";
                link rel="icon" href="/console/icon.svg" type="image/svg+xml";
                script src="/console/htmx.js" defer {}
            }
            body {
                a class="skip" href="#content" { "To the content" }
                header { (header) }
                main #content tabindex="-1" { h1 { (title) } (content) }
            }
        }
    };
    Html(page.into_string())
}

/// A failure as a page of its own.
pub(super) fn failed(console: &Console, place: Place, title: &str, failure: &Failure) -> Response {
    let status = match failure {
        Failure::Usage(_) => StatusCode::BAD_REQUEST,
        Failure::No(_) => StatusCode::CONFLICT,
        _ => StatusCode::BAD_GATEWAY,
    };
    (status, page(console, place, title, problem(failure))).into_response()
}

/// A failure in the place of what could not be shown.
pub(super) fn problem(failure: &impl Display) -> Markup {
    html! { p role="alert" class="problem" { (failure) } }
}

/// What is shown, or why it is not.
pub(super) fn or_problem(shown: Result<Markup, Failure>) -> Markup {
    shown.unwrap_or_else(|failure| problem(&failure))
}

/// The hidden fields of a form that changes something.
pub(super) fn token(console: &Console) -> Markup {
    html! { input type="hidden" name=(TOKEN) value=(console.token); }
}

/// A number of things.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// JSON as it is read: a text by itself, everything else as JSON.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A share of a whole as a bar with its numbers beside it.
pub(super) fn bar(label: &str, part: u64, whole: u64, kind: &str) -> Markup {
    let share = if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    html! {
        div class="bar" {
            span class="bar-label" { (label) }
            progress class=(kind) max=(whole.max(1)) value=(part) aria-label=(label) {}
            span class="bar-value" { (part) " (" (format!("{share:.1}")) " %)" }
        }
    }
}

/// A field that may be left empty, with its label and what it is for.
pub(super) fn hinted(name: &str, label: &str, hint: &str, value: Option<&str>) -> Markup {
    labelled(name, label, Some(hint), value, false)
}

/// A form that leads to the page of something: `what` it is, with its article, the field that has its id, and what stands there.
pub(super) fn chooser(
    page: &str,
    what: &str,
    (field, label): (&str, &str),
    chosen: Option<&str>,
    button: &str,
) -> Markup {
    html! {
        form method="get" action=(page) class="row" role="search" aria-label={ "Choose " (what) } {
            (input(field, label, chosen, true))
            button type="submit" { (button) }
        }
    }
}

/// A field with its label.
pub(super) fn input(name: &str, label: &str, value: Option<&str>, required: bool) -> Markup {
    labelled(name, label, None, value, required)
}

fn labelled(
    name: &str,
    label: &str,
    hint: Option<&str>,
    value: Option<&str>,
    required: bool,
) -> Markup {
    let hint_id = hint.map(|_| format!("{name}-hint"));
    html! {
        div class="field" {
            label for=(name) { (label) }
            input id=(name) name=(name) value=[value] required[required] aria-describedby=[&hint_id] autocomplete="off" autocapitalize="none" spellcheck="false";
            @if let Some(hint) = hint { p id=[&hint_id] class="hint" { (hint) } }
        }
    }
}

/// The address of a view with parameters.
pub(super) fn address(view: &str, query: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    if query.is_empty() { view.to_owned() } else { format!("{view}?{query}") }
}
