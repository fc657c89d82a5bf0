//! What the functions say, newest first, and what became of one message.
//!
//! Everything that narrows the lines is in the address, so that it can be sent to somebody else. The newest page asks again
//! and again whether there is anything new that fits, and is made again only then.

use axum::extract::Path;
use nagare_telemetry::LocalTelemetry;
use nagare_telemetry::journal::{FUNCTIONS, Filter, Journal, Line, OUTCOMES};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use shared::platform::message::LogIds;
use tracing::Level;

use super::elsewhere;
use crate::prelude::*;
use crate::suggested::Suggestions;
use crate::suggestions;

const PAGE: usize = 50;
/// The most lines of one message. There are five deliveries, and a dead letter.
const STORY: usize = 1_000;
const FILTERS: [&str; 7] = ["about", "person", "message", "outcome", "level", "function", "text"];
const LEVELS: [&str; 3] = ["INFO", "WARN", "ERROR"];

/// Some lines, and what can be done with them.
struct Excerpt {
    lines: Vec<Arc<Line>>,
    /// Where the page of older lines begins.
    older: Option<String>,
    /// What tells whether there is anything new.
    seen: String,
    said: Markup,
}

pub(crate) async fn view(State(console): Here, fields: Fields) -> Page {
    let suggested = suggested(&console, &fields).await;
    let content = match &console.telemetry {
        Some(inside) => {
            let excerpt = excerpt(inside, &fields).await;
            html! { (form(&fields)) (suggested) (section(&fields, &excerpt)) }
        }
        None => layout::problem(&elsewhere(&console)),
    };
    layout::page(&console, Place::Log, "Log", content)
}

/// What lines may be about, where nothing narrows them yet.
async fn suggested(console: &Console, fields: &Fields) -> Markup {
    if !fields.given(&FILTERS).is_empty() {
        return html! {};
    }
    let known = Suggestions::read(console).await;
    let kinds = [
        ("People: ", &*known.people, "person"),
        ("Activities: ", &known.activities, "about"),
        ("Polls: ", &known.polls, "about"),
        ("Battles: ", &known.battles, "about"),
    ];
    suggestions::few(&kinds, |field, id| named::address("log", &[(field, id)]))
}

/// The lines again, if there are newer ones that fit.
pub(crate) async fn news(State(console): Here, fields: Fields) -> Response {
    let Some(inside) = &console.telemetry else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let (seen, filter) = (number(&fields, "seen").unwrap_or(0), filter(&fields));
    let new = searched(inside, move |journal| journal.behind(seen, &filter, 1)).await;
    match new.lines.is_empty() {
        true => StatusCode::NO_CONTENT.into_response(),
        false => layout::region(section(&fields, &excerpt(inside, &fields).await)).into_response(),
    }
}

pub(crate) async fn story(State(console): Here, Path(message): Path<String>) -> Page {
    let content = match &console.telemetry {
        Some(inside) => {
            let message = message.clone();
            let lines = searched(inside, move |journal| journal.story(&message, STORY)).await;
            told(&lines)
        }
        None => layout::problem(&elsewhere(&console)),
    };
    layout::page(&console, Place::Log, &format!("Message {message}"), content)
}

/// The lines of one message.
fn told(lines: &[Arc<Line>]) -> Markup {
    let activity = lines.iter().find_map(|line| line.field("activity_id"));
    html! {
        @if lines.is_empty() {
            p role="status" { "No line is about it: it has not been received yet, or its lines are dropped." }
        }
        ol class="entries" aria-label="In the order of time" { @for line in lines { (row(line)) } }
        @if let Some(activity) = activity {
            p { a href=(named::path("log", &[("about", activity)])) { "Everything about " (activity) } }
        }
        p { a href=(named::path("log", &[])) { "All lines" } }
    }
}

/// What somebody looks for among lines that are kept in this process. Of many it takes long, and nobody else shall wait for it.
async fn searched<T: Send + 'static>(
    inside: &LocalTelemetry,
    look: impl FnOnce(&Journal) -> T + Send + 'static,
) -> T {
    let journal = inside.journal.clone();
    let search = tokio::task::spawn_blocking(move || look(&journal)).await;
    search.unwrap_or_else(|ended| std::panic::resume_unwind(ended.into_panic()))
}

/// The lines that fit.
async fn excerpt(inside: &LocalTelemetry, fields: &Fields) -> Excerpt {
    let (filter, before) = (filter(fields), number(fields, "before"));
    let page = searched(inside, move |journal| journal.newest(&filter, before, PAGE)).await;
    let (kept, dropped) = inside.journal.counts();
    Excerpt {
        older: page.older.map(|number| number.to_string()),
        seen: page.latest.to_string(),
        said: html! { span class="quiet" { (kept) " lines are kept, " (dropped) " older ones were dropped." } },
        lines: page.lines,
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

fn number<N: std::str::FromStr>(fields: &Fields, name: &str) -> Option<N> {
    fields.get(name)?.parse().ok()
}

/// The form that narrows the lines.
fn form(fields: &Fields) -> Markup {
    let field = |name, label| layout::input(name, label, fields.get(name), false);
    html! {
        form method="get" action=(named::path("log", &[])) class="card" aria-label="Which lines" {
            div class="row" {
                (field("about", "Activity, poll, battle or room"))
                (field("person", "Person"))
                (field("message", "Message id"))
                (field("text", "Text"))
                (choice("outcome", "Outcome", &OUTCOMES, fields))
                (choice("level", "At least", &LEVELS, fields))
                (choice("function", "Function", &FUNCTIONS, fields))
            }
            p class="row" {
                button type="submit" { "Show" }
                a href=(named::path("log", &[])) { "Everything" }
            }
        }
    }
}

/// A choice of values, or of none.
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

/// A page of lines. The newest one asks for itself again, unless it is paused.
fn section(fields: &Fields, excerpt: &Excerpt) -> Markup {
    let is_newest = fields.get("before").is_none();
    let is_paused = fields.get("paused").is_some();
    let narrowed = fields.given(&FILTERS);
    let with = |view, name, value: &str| {
        let query: Vec<_> = narrowed.iter().copied().chain([(name, value)]).collect();
        named::path(view, &query)
    };
    let again = (is_newest && !is_paused).then(|| with("log-lines", "seen", &excerpt.seen));
    let trigger = again.is_some().then_some("every 1s");
    html! {
        section #lines aria-label="Lines" hx-get=[again] hx-trigger=[trigger] hx-swap="outerHTML" {
            div class="row" {
                @if !is_newest { a href=(named::path("log", &narrowed)) { "Newest" } }
                @else if is_paused { a #still href=(named::path("log", &narrowed)) { "Resume" } }
                @else { a #still href=(with("log", "paused", "true")) { "Pause" } }
                (excerpt.said)
            }
            @if excerpt.lines.is_empty() { p role="status" { "No line fits." } }
            ol class="entries" aria-label="The newest first" { @for line in &excerpt.lines { (row(line)) } }
            @if let Some(older) = &excerpt.older {
                p { a href=(with("log", "before", older)) { "Older" } }
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
            Some(named::path(&format!("log/{}", utf8_percent_encode(value, NON_ALPHANUMERIC)), &[]))
        }
        "activity_id" | "poll_id" | "battle_id" | "room_id" => {
            Some(named::path("log", &[("about", value)]))
        }
        _ if LogIds::PEOPLE.contains(&name) => Some(named::path("log", &[("person", value)])),
        _ => None,
    };
    html! { @match to { Some(to) => a href=(to) { (value) }, None => (value) } }
}
