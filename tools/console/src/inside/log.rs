//! What the functions say, newest first, and what became of one message.
//!
//! Everything that narrows the lines is in the address, so that it can be sent to somebody else. The newest page asks again
//! and again whether there is anything new that fits, and is made again only then.

use axum::extract::Path;
use nagare_telemetry::LocalTelemetry;
use nagare_telemetry::journal::{FUNCTIONS, Filter, Journal, Line, OUTCOMES};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use shared::platform::message::LogIds;
use shared::platform::values::Timestamp;
use tracing::Level;

use crate::cloudwatch::{CloudWatch, Lines};
use crate::prelude::*;
use crate::suggestions::{self, Suggestions};

const PAGE: usize = 50;
/// The most lines of one message. There are five deliveries, and a dead letter.
const STORY: usize = 1_000;
const FILTERS: [&str; 8] =
    ["about", "person", "message", "outcome", "level", "function", "text", WITHIN];
/// How far back CloudWatch is looked through: an hour where nothing is said, or the milliseconds of one of these.
const WITHIN: &str = "within";
const SPANS: [(&str, i64); 3] =
    [("six hours", 6 * HOUR), ("a day", 24 * HOUR), ("a week", 7 * 24 * HOUR)];
const AN_HOUR: (&str, i64) = ("an hour", HOUR);
const HOUR: i64 = 3_600_000;
const ANY: &str = "any";
/// How far back the lines of one message are looked for: a day, in which it is delivered or a dead letter.
const STORY_SPAN: i64 = 24 * HOUR;
const LEVELS: [&str; 3] = ["INFO", "WARN", "ERROR"];

/// Some lines, and what can be done with them.
struct Excerpt {
    lines: Vec<Arc<Line>>,
    /// Where the page of older lines begins.
    older: Option<String>,
    /// What tells whether there is anything new.
    seen: String,
    /// How often it is asked whether there is.
    every: &'static str,
    said: Markup,
}

pub(crate) async fn view(State(console): Here, fields: Fields) -> Page {
    let suggested = suggested(&console, &fields).await;
    let content = match excerpt(&console, &fields).await {
        Ok(excerpt) => {
            let names = SPANS.map(|(name, _)| name);
            // What is kept in this process is all looked through.
            let spans = console.telemetry.is_none();
            let spans = spans.then(|| choice(WITHIN, "Within", AN_HOUR.0, &names, &fields));
            html! { (form(&fields, spans)) (suggested) (section(&fields, &excerpt)) }
        }
        Err(why) => layout::problem(why),
    };
    layout::page(&console, Place::Log, "Log", content)
}

/// The lines that fit, where they are kept.
async fn excerpt<'c>(console: &'c Console, fields: &Fields) -> Result<Excerpt, &'c Failure> {
    match (&console.telemetry, &console.cloudwatch) {
        (Some(inside), _) => Ok(kept(inside, fields).await),
        (None, Ok(cloudwatch)) => Ok(found(cloudwatch, fields).await),
        (None, Err(why)) => Err(why),
    }
}

/// What lines may be about, where nothing narrows them yet.
async fn suggested(console: &Console, fields: &Fields) -> Markup {
    if !fields.of(&FILTERS).is_empty() {
        return html! {};
    }
    let known = Suggestions::of(console).await;
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
    let seen = fields.get("seen").unwrap_or_default();
    if let Some(inside) = &console.telemetry {
        let (seen, filter) = (seen.parse().unwrap_or(0), filter(&fields));
        let new = searched(inside, move |journal| journal.behind(seen, &filter, 1)).await;
        if new.lines.is_empty() {
            return StatusCode::NO_CONTENT.into_response();
        }
    }
    match excerpt(&console, &fields).await {
        Ok(same) if console.telemetry.is_none() && same.seen == seen => {
            StatusCode::NO_CONTENT.into_response()
        }
        Ok(excerpt) => layout::region(section(&fields, &excerpt)).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(crate) async fn story(State(console): Here, Path(message): Path<String>) -> Page {
    let (lines, said, none) = match (&console.telemetry, &console.cloudwatch) {
        (Some(inside), _) => {
            let message = message.clone();
            let none =
                "No line is about it: it has not been received yet, or its lines are dropped.";
            let lines = searched(inside, move |journal| journal.story(&message, STORY)).await;
            (lines, html! {}, none)
        }
        (None, Ok(cloudwatch)) => {
            let filter = Filter { message: Some(message.clone()), ..Filter::default() };
            let now = cloudwatch.clock.now().unix_millis();
            let mut found = cloudwatch.newest(&filter, (now - STORY_SPAN, now), STORY).await;
            found.lines.reverse();
            let none = "No line of the last day that could be read is about it.";
            let said = said(&found);
            (found.lines, said, none)
        }
        (None, Err(why)) => (Vec::new(), layout::problem(why), "So its lines are not shown."),
    };
    let activity = lines.iter().find_map(|line| line.field("activity_id"));
    let content = html! {
        (said)
        @if lines.is_empty() { p role="status" { (none) } }
        ol class="entries" aria-label="In the order of time" { @for line in &lines { (row(line)) } }
        @if let Some(activity) = activity {
            p { a href=(named::path("log", &[("about", activity)])) { "Everything about " (activity) } }
        }
        p { a href=(named::path("log", &[])) { "All lines" } }
    };
    layout::page(&console, Place::Log, &format!("Message {message}"), content)
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

async fn kept(inside: &LocalTelemetry, fields: &Fields) -> Excerpt {
    let (filter, before) = (filter(fields), number(fields, "before"));
    let page = searched(inside, move |journal| journal.newest(&filter, before, PAGE)).await;
    let (kept, dropped) = inside.journal.counts();
    Excerpt {
        older: page.older.map(|number| number.to_string()),
        seen: page.latest.to_string(),
        every: "every 1s",
        said: html! { span class="quiet" { (kept) " lines are kept, " (dropped) " older ones were dropped." } },
        lines: page.lines,
    }
}

async fn found(cloudwatch: &CloudWatch, fields: &Fields) -> Excerpt {
    let now = cloudwatch.clock.now().unix_millis();
    let span = fields.get(WITHIN).and_then(|name| SPANS.iter().find(|(other, _)| *other == name));
    let (name, span) = span.copied().unwrap_or(AN_HOUR);
    let before = number::<i64>(fields, "before");
    let until = before.map_or(now, |before| before.saturating_sub(1).clamp(0, now));
    let since = until.saturating_sub(span).max(0);
    let found = cloudwatch.newest(&filter(fields), (since, until), PAGE).await;
    Excerpt {
        older: (found.known_from <= until).then(|| found.known_from.to_string()),
        seen: found.fingerprint(),
        every: "every 10s",
        said: html! {
            (said(&found))
            @if found.known_from == since {
                span class="quiet" { "All lines of " (name) "." }
            } @else if !found.is_cut {
                (since_when(&found))
            }
        },
        lines: found.lines,
    }
}

/// What CloudWatch did not answer, or not to the end.
fn said(found: &Lines) -> Markup {
    html! {
        @for (function, error) in &found.unread {
            p role="alert" class="problem" { "The lines of " (function) ": " (error) }
        }
        @if found.is_cut && found.lines.is_empty() {
            p role="status" class="problem" { "CloudWatch has more to look through than a page waits for: ask for a shorter time, or for less." }
        } @else if found.is_cut {
            (since_when(found))
        }
    }
}

fn since_when(found: &Lines) -> Markup {
    let known_from = Timestamp::from_unix_millis(found.known_from);
    html! { span class="quiet" { "All lines since " time { (known_from) } "." } }
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

/// What narrows the lines, and how far back they are looked for where that is asked.
fn form(fields: &Fields, spans: Option<Markup>) -> Markup {
    let field = |name, label| layout::input(name, label, fields.get(name), false);
    html! {
        form method="get" action=(named::path("log", &[])) class="card" aria-label="Which lines" {
            div class="row" {
                (field("about", "Activity, poll, battle or room"))
                (field("person", "Person"))
                (field("message", "Message id"))
                (field("text", "Text"))
                (choice("outcome", "Outcome", ANY, &OUTCOMES, fields))
                (choice("level", "At least", ANY, &LEVELS, fields))
                (choice("function", "Function", ANY, &FUNCTIONS, fields))
                @if let Some(spans) = spans { (spans) }
            }
            p class="row" {
                button type="submit" { "Show" }
                a href=(named::path("log", &[])) { "Everything" }
            }
        }
    }
}

/// A choice of values, and what is meant where nothing is chosen.
fn choice(name: &str, label: &str, otherwise: &str, values: &[&str], fields: &Fields) -> Markup {
    let chosen = fields.get(name);
    html! {
        div class="field" {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                option value="" { (otherwise) }
                @for value in values { option value=(value) selected[chosen == Some(*value)] { (value) } }
            }
        }
    }
}

/// A page of lines. The newest one asks for itself again, unless it is paused.
fn section(fields: &Fields, excerpt: &Excerpt) -> Markup {
    let is_newest = fields.get("before").is_none();
    let is_paused = fields.get("paused").is_some();
    let narrowed = fields.of(&FILTERS);
    let with = |view, name, value: &str| {
        let query: Vec<_> = narrowed.iter().copied().chain([(name, value)]).collect();
        named::path(view, &query)
    };
    let again = (is_newest && !is_paused).then(|| with("log-lines", "seen", &excerpt.seen));
    let trigger = again.is_some().then_some(excerpt.every);
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
