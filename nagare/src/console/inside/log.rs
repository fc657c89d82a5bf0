//! What the functions say, newest first, and what became of one message.
//!
//! Everything that narrows the lines is in the address, so that it can be sent to somebody else. The newest page asks each
//! second whether there is anything new that fits, and is made again only then.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use shared::message::Subject;
use tracing::Level;

use super::{Inside, gone};
use crate::console::fields::Fields;
use crate::console::journal::{FUNCTIONS, Filter, Line, OUTCOMES};
use crate::console::layout::{self, Place};
use crate::console::{Console, PATH};

/// Lines of a page.
const PAGE: usize = 50;
/// The most lines of one message. There are five deliveries, and a dead letter.
const STORY: usize = 1_000;
/// The parameters that narrow the lines.
const FILTERS: [&str; 7] = ["about", "person", "message", "outcome", "level", "function", "text"];
const LEVELS: [&str; 3] = ["INFO", "WARN", "ERROR"];
const TITLE: &str = "Log";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/log", get(view))
        .route("/console/log-lines", get(news))
        .route("/console/log/{message}", get(story))
}

async fn view(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    console.inside_view(Place::Log, TITLE, &instead(), |inside| {
        html! {
            (form(&fields))
            (lines(inside, &fields))
        }
    })
}

/// The lines again, if there are newer ones that fit.
async fn news(State(console): State<Arc<Console>>, fields: Fields) -> Response {
    let Some(inside) = &console.inside else { return gone() };
    let seen = number(&fields, "seen").unwrap_or(0);
    if inside.journal.behind(seen, &filter(&fields), 1).lines.is_empty() {
        return StatusCode::NO_CONTENT.into_response();
    }
    Html(lines(inside, &fields).into_string()).into_response()
}

async fn story(State(console): State<Arc<Console>>, Path(message): Path<String>) -> Response {
    let title = format!("Message {message}");
    console.inside_view(Place::Log, &title, &instead(), |inside| {
        let lines = inside.journal.story(&message, STORY);
        let activity = lines.iter().find_map(|line| line.field("activity_id"));
        html! {
            @if lines.is_empty() { p role="status" { "No line is about it: it has not been received yet, or its lines are dropped." } }
            ol class="entries" aria-label="In the order of time" { @for line in &lines { (row(line)) } }
            @if let Some(activity) = activity {
                p { a href=(address("log", &[("about", activity)])) { "Everything about " (activity) } }
            }
            p { a href=(address("log", &[])) { "All lines" } }
        }
    })
}

/// Where lines are on AWS.
fn instead() -> Markup {
    html! {
        p { "On AWS each function writes these lines to its own log group. The queries for CloudWatch Logs Insights are in " code { "docs/OPERATIONS.md" }
            ", under “What the functions tell”; the dashboard of the stack shows two of them." }
    }
}

fn filter(fields: &Fields) -> Filter {
    let text = |name: &str| fields.get(name).map(str::to_owned);
    Filter {
        about: text("about"),
        person: text("person"),
        message: text("message"),
        outcome: text("outcome"),
        level: fields.get("level").and_then(|level| level.parse::<Level>().ok()),
        function: text("function"),
        text: fields.get("text").map(Into::into),
    }
}

fn number(fields: &Fields, name: &str) -> Option<u64> {
    fields.get(name)?.parse().ok()
}

fn form(fields: &Fields) -> Markup {
    let field = |name, label| layout::input(name, label, fields.get(name), false);
    html! {
        form method="get" action=(address("log", &[])) class="card" aria-label="Which lines" {
            div class="row" {
                (field("about", "Activity, poll, battle or room"))
                (field("person", "Person"))
                (field("message", "Message id"))
                (field("text", "Text"))
                (choice("outcome", "What became of it", &OUTCOMES, fields))
                (choice("level", "At least", &LEVELS, fields))
                (choice("function", "Function", &FUNCTIONS, fields))
            }
            p class="row" {
                button type="submit" { "Show" }
                a href=(address("log", &[])) { "Everything" }
            }
        }
    }
}

fn choice(name: &str, label: &str, values: &[&str], fields: &Fields) -> Markup {
    let chosen = fields.get(name);
    html! {
        div class="field" {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                option value="" { "any" }
                @for value in values { option value=(value) selected[chosen == Some(*value)] { (value) } }
            }
        }
    }
}

/// A page of lines. The newest one asks for itself again, unless it is told to stand still.
fn lines(inside: &Inside, fields: &Fields) -> Markup {
    let before = number(fields, "before");
    let is_paused = fields.get("paused").is_some();
    let page = inside.journal.newest(&filter(fields), before, PAGE);
    let (kept, dropped) = inside.journal.counts();
    let narrowed = fields.of(&FILTERS);
    let with = |view, name, value: &str| {
        let query: Vec<_> = narrowed.iter().copied().chain([(name, value)]).collect();
        address(view, &query)
    };
    let again = (before.is_none() && !is_paused)
        .then(|| with("log-lines", "seen", &page.latest.to_string()));
    let trigger = again.is_some().then_some("every 1s");
    html! {
        section #lines aria-label="Lines" hx-get=[again] hx-trigger=[trigger] hx-swap="outerHTML" {
            div class="row" {
                @if before.is_some() { a href=(address("log", &narrowed)) { "Newest" } }
                @else if is_paused { a #still href=(address("log", &narrowed)) { "Go on" } }
                @else { a #still href=(with("log", "paused", "true")) { "Stand still" } }
                span class="quiet" { (kept) " lines are kept, " (dropped) " older ones were dropped." }
            }
            @if page.lines.is_empty() { p role="status" { "No line fits." } }
            ol class="entries" aria-label="The newest first" { @for line in &page.lines { (row(line)) } }
            @if let Some(older) = page.older {
                p { a href=(with("log", "before", &older.to_string())) { "Older" } }
            }
        }
    }
}

fn row(line: &Line) -> Markup {
    let class = match line.level() {
        Level::ERROR => "tag level-error",
        Level::WARN => "tag level-warn",
        _ => "tag",
    };
    html! {
        li class="entry" {
            div class="entry-head" {
                time { (line.at) }
                span class=(class) { (line.level()) }
                span class="quiet" { (line.function()) }
                strong { (line.message()) }
            }
            p class="code" { @for (name, value) in line.fields() { span class="quiet" { (name) "=" } (linked(name, value)) " " } }
        }
    }
}

/// A value, which leads to all that is about the same.
fn linked(name: &str, value: &str) -> Markup {
    let to = match name {
        "message_id" => {
            Some(address(&format!("log/{}", utf8_percent_encode(value, NON_ALPHANUMERIC)), &[]))
        }
        "activity_id" | "poll_id" | "battle_id" | "room_id" => {
            Some(address("log", &[("about", value)]))
        }
        _ if Subject::PEOPLE.contains(&name) => Some(address("log", &[("person", value)])),
        _ => None,
    };
    html! { @match to { Some(to) => a href=(to) { (value) }, None => (value) } }
}

fn address(view: &str, query: &[(&str, &str)]) -> String {
    format!("{PATH}{}", layout::address(view, query))
}
