//! What all pages share: the frame, the parts that several views show, and how failures are said in place.

use std::fmt::Display;

use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use maud::{DOCTYPE, Markup, html};
use nagare_client::failure::Failure;
use serde_json::Value;

use crate::address::PATH;
use crate::console::{Console, Mode};
use crate::named;

/// The field with the token.
pub(super) const TOKEN: &str = "token";
/// What htmx may do: nothing that the policy forbids, and nothing elsewhere.
const HTMX: &str = r#"{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"allowScriptTags":false,"historyCacheSize":0,"scrollIntoViewOnBoost":false}"#;

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

/// A page with its address and its name.
type PlaceEntry = (Place, &'static str, &'static str);

const HISTORY: &str = "History";
/// The pages of the social backend, of the event history, and of the platform below both.
const MENU: [(&str, &[PlaceEntry]); 3] = [
    (
        "Social",
        &[
            (Place::Timeline, "timeline", "Timeline"),
            (Place::People, "people", "People"),
            (Place::Rooms, "room", "Rooms"),
            (Place::Activities, "activity", "Activities"),
            (Place::Show, "show", "Polls and battles"),
        ],
    ),
    (HISTORY, &[(Place::Events, "events", "Events"), (Place::Tenants, "tenants", "Tenants")]),
    (
        "Platform",
        &[
            (Place::Home, "", "Start"),
            (Place::Commands, "commands", "Publish"),
            (Place::Queues, "queues", "Queues"),
            (Place::Audit, "audit", "Audit"),
            (Place::Tables, "tables", "Tables"),
            (Place::Log, "log", "Log"),
            (Place::Numbers, "numbers", "Metrics"),
            (Place::Faults, "faults", "Faults"),
        ],
    ),
];

pub(super) type Page = Html<String>;

pub(super) fn page(console: &Console, place: Place, title: &str, content: Markup) -> Page {
    let header = html! {
        a class="brand" href=(PATH) { "Nagare" }
        @match &console.account {
            None => span class="tag" { "local stack" },
            Some(account) => strong class="tag account" { (account) },
        }
        @if console.mode == Mode::ReadOnly { span class="tag" { "read-only" } }
        // It asks for what is in it (`looking.rs`).
        div #bell hx-get={ (PATH) "bell" } hx-trigger="load" hx-swap="outerHTML" { a href={ (PATH) "people" } { "Look as…" } }
        nav aria-label="Views" {
            @for (group, entries) in MENU.iter().filter(|(group, _)| *group != HISTORY || console.has_history) {
                div {
                    span { (group) }
                    ul aria-label=(group) {
                        @for (entry, address, name) in *entries {
                            li { a href={ (PATH) (address) } aria-current=[(*entry == place).then_some("page")] { (name) } }
                        }
                    }
                }
            }
        }
    };
    document(title, Some(header), content)
}

/// A part of a page that is made again by itself.
pub(super) fn region(content: Markup) -> Page {
    Html(content.into_string())
}

pub(super) fn bare(title: &str, sentence: &str) -> Page {
    let header = html! { a class="brand" href="/console/" { "Nagare" } };
    document(title, Some(header), dead_end(sentence))
}

/// A sentence, and the way on.
pub(super) fn dead_end(sentence: &str) -> Markup {
    html! { (problem(&sentence)) p { a href="/console/" { "To the start" } } }
}

/// What is said to whoever has not shown that they may look. Nothing is loaded: they may not have that either.
pub(super) fn door(again: &str) -> Page {
    let content = html! {
        p { "This console opens to whoever has its address: `nagare up` and `nagare console` print it when they start, and `nagare env` has that of a local stack (NAGARE_CONSOLE_URL). It is another one each time." }
        p { "Did you come by a link of another site, and have opened the console before? Then " a href=(again) { "open this page again" } "." }
    };
    document("Who looks?", None, content)
}

/// What is said to whoever comes by another site although they may look.
pub(super) fn elsewhere(again: &str) -> Page {
    let content = html! { p { "A page of another site led here, and nothing was done. " a href=(again) { "Open this page again" } " if you want to see it." } };
    document("From another site", None, content)
}

/// A whole page. One without a header needs nothing else of the console.
fn document(title: &str, header: Option<Markup>, content: Markup) -> Page {
    region(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if header.is_some() { meta name="htmx-config" content=(HTMX); }
                title { (title) " · Nagare" }
                @if header.is_some() {
                    link rel="stylesheet" href="/console/console.css";
                    link rel="icon" href="/console/icon.svg" type="image/svg+xml";
                    script src="/console/htmx.js" defer {}
                }
            }
            body {
                @match header {
                    None => main { h1 { (title) } (content) },
                    Some(header) => {
                        a class="skip" href="#content" { "To the content" }
                        header { (header) }
                        main #content tabindex="-1" { h1 { (title) } (content) }
                    }
                }
            }
        }
    })
}

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

/// A choice among several: a link that says whether it is chosen.
pub(super) fn chip(address: &str, is_chosen: bool, label: impl Display) -> Markup {
    html! { li { a href=(address) aria-current=[is_chosen.then_some("true")] { (label.to_string()) } } }
}

/// The link to the rest of a list, if its page says that there is one.
pub(super) fn more(page: &Value, address: impl FnOnce(&str) -> String) -> Markup {
    html! {
        @if let Some(cursor) = page["next_cursor"].as_str() {
            nav aria-label="Pages" { a rel="next" href=(address(cursor)) { "More" } }
        }
    }
}

/// A form that sends a command, with what is given and what is asked for; nothing where the console only looks.
pub(super) fn command(
    console: &Console,
    (class, label): (Option<&str>, Option<&str>),
    given: &[(&str, &str)],
    asked: Markup,
) -> Markup {
    html! {
        @if console.mode == Mode::Write {
            form method="post" action="send" class=[class] aria-label=[label] { (token(console)) (hidden(given)) (asked) }
        }
    }
}

/// Fields that a form sends and does not show.
pub(super) fn hidden(fields: &[(impl AsRef<str>, impl AsRef<str>)]) -> Markup {
    html! { @for (name, value) in fields { input type="hidden" name=(name.as_ref()) value=(value.as_ref()); } }
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

pub(super) fn input(name: &str, label: &str, value: Option<&str>, required: bool) -> Markup {
    labelled((name, name), label, None, value, required)
}

/// The same with an id of its own, to be filled in.
pub(super) fn blank(id: &str, name: &str, label: &str) -> Markup {
    labelled((id, name), label, None, None, true)
}

/// A field that may be left empty, with its label and what it is for.
pub(super) fn hinted(name: &str, label: &str, hint: &str, value: Option<&str>) -> Markup {
    labelled((name, name), label, Some(hint), value, false)
}

fn labelled(
    (id, name): (&str, &str),
    label: &str,
    hint: Option<&str>,
    value: Option<&str>,
    required: bool,
) -> Markup {
    let hint_id = hint.map(|_| format!("{name}-hint"));
    html! {
        div class="field" {
            label for=(id) { (label) }
            input id=(id) name=(name) value=[value] required[required] aria-describedby=[&hint_id] autocomplete="off" autocapitalize="none" spellcheck="false";
            @if let Some(hint) = hint { p id=[&hint_id] class="hint" { (hint) } }
        }
    }
}

/// A text of an answer of the API; empty where there is none.
pub(super) fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

/// A number of it; 0 where there is none.
pub(super) fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}

pub(super) fn items(page: &Value) -> &[Value] {
    page["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What the account of an activity begins with: who, what, and when.
pub(super) fn entry_head(activity: &Value) -> Markup {
    html! {
        div class="entry-head" {
            (named::person(text(activity, "actor_id"))) (kind(activity)) (named::when(text(activity, "published_at")))
        }
    }
}

pub(super) fn kind(activity: &Value) -> Markup {
    let kind = text(activity, "kind");
    html! { span class={ "tag kind-" (kind) } { (kind) } }
}
