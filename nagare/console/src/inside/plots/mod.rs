//! The numbers of the last hour as small plots, and what they cost.
//!
//! ```text
//! counted  a report of what was counted in this process
//! read     the same of what CloudWatch has
//! figure   a plot, and its table
//! ```

mod counted;
mod figure;
mod read;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};

use super::gone;
use crate::layout::{self, Place};
use crate::numbers::Cost;
use crate::{Console, PATH};

const TITLE: &str = "Metrics";

/// What there is to tell of the last hour.
struct Report {
    plots: Vec<Plot>,
    kinds: Vec<Kind>,
    cost: Cost,
    /// What the cost is.
    caption: Markup,
    /// What to know of these numbers.
    remark: Markup,
    /// How often it is made again.
    every: &'static str,
}

/// One plot: one line, or several of one unit.
struct Plot {
    title: &'static str,
    unit: &'static str,
    /// How far back it begins.
    minutes: usize,
    lines: Vec<Line>,
}

/// A line of a plot. A value is none where there is nothing to tell.
struct Line {
    name: &'static str,
    /// At equal distances, the oldest first. The hour is theirs.
    points: Vec<Option<f64>>,
    /// In the last minute.
    present: Option<f64>,
    /// In each five minutes, the oldest first.
    rows: Vec<Option<f64>>,
}

/// A number by what it is told apart by.
struct Kind {
    what: &'static str,
    kind: String,
    minute: String,
    hour: String,
    /// Since the start, where that is known.
    ever: Option<String>,
}

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/numbers", get(view)).route("/console/numbers-now", get(now))
}

/// The report, or why there is none; nothing where another process has it.
async fn report(console: &Console) -> Option<Result<Report, Markup>> {
    match (&console.telemetry, &console.cloudwatch) {
        (Some(inside), _) => Some(Ok(counted::report(&inside.numbers))),
        (None, Ok(cloudwatch)) => {
            let report = read::report(cloudwatch, &console.tables()).await;
            Some(report.map_err(|error| layout::problem(&error)))
        }
        (None, Err(_)) => None,
    }
}

async fn view(State(console): State<Arc<Console>>) -> Response {
    let content = match (report(&console).await, &console.cloudwatch) {
        (Some(Ok(report)), _) => html! {
            (region(&report))
            h2 { "As tables" }
            @for plot in &report.plots { (figure::table(plot)) }
            p class="quiet" { "As of when the page was loaded, in steps of five minutes." }
        },
        (Some(Err(problem)), _) => problem,
        (None, Err(why)) => layout::problem(why),
        (None, Ok(_)) => html! {},
    };
    layout::page(&console, Place::Numbers, TITLE, content).into_response()
}

async fn now(State(console): State<Arc<Console>>) -> Response {
    match report(&console).await {
        Some(Ok(report)) => Html(region(&report).into_string()).into_response(),
        Some(Err(problem)) => Html(unread(&problem).into_string()).into_response(),
        None => gone(),
    }
}

fn region(report: &Report) -> Markup {
    let now = format!("{PATH}numbers-now");
    html! {
        div #numbers hx-get=(now) hx-trigger=(report.every) hx-swap="outerHTML" {
            (report.remark)
            div class="plots" { @for plot in &report.plots { (figure::figure(plot)) } }
            (kinds(&report.kinds))
            (cost(report))
        }
    }
}

/// In the place of a region that could not be made again. It is tried again.
fn unread(problem: &Markup) -> Markup {
    let now = format!("{PATH}numbers-now");
    html! { div #numbers hx-get=(now) hx-trigger=(read::EVERY) hx-swap="outerHTML" { (problem) } }
}

/// Commands by how they ended, units by table, dead letters by reason.
fn kinds(kinds: &[Kind]) -> Markup {
    let since_start = kinds.iter().any(|kind| kind.ever.is_some());
    html! {
        table class="stack" {
            caption { "By kind" }
            thead { tr {
                th scope="col" { "What" } th scope="col" { "Kind" } th scope="col" { "Last minute" }
                th scope="col" { "Last hour" } @if since_start { th scope="col" { "Since the start" } }
            } }
            tbody {
                @for kind in kinds {
                    tr {
                        th scope="row" { (kind.what) } td { (kind.kind) }
                        td data-label="Last minute" { (kind.minute) } td data-label="Last hour" { (kind.hour) }
                        @if let Some(ever) = &kind.ever { td data-label="Since the start" { (ever) } }
                    }
                }
            }
        }
    }
}

fn cost(report: &Report) -> Markup {
    let cost = &report.cost;
    html! {
        table class="stack" {
            caption { (report.caption) }
            thead { tr { th scope="col" { "Service" } th scope="col" { "What" } th scope="col" { "Number" } th scope="col" { "US dollars" } } }
            tbody {
                @for line in &cost.lines {
                    tr {
                        th scope="row" { (line.service) } td { (line.what) }
                        td data-label="Number" { (short(line.amount * 1e6)) } td data-label="US dollars" { (format!("{:.6}", line.dollars)) }
                    }
                }
                tr { th scope="row" { "Total" } td {} td {} td data-label="US dollars" { strong { (format!("{:.6}", cost.dollars)) } } }
                tr { th scope="row" { "A month of hours like the last" } td {} td {} td data-label="US dollars" { strong { (format!("{:.2}", cost.month)) } } }
            }
        }
        p class="quiet" {
            "Computing, storage, logs and what every month costs are not among it: " code { "nagare estimate" } " has these."
        }
    }
}

/// How often an entry was sent, of those written and those sent again.
fn sends(written: f64, again: f64) -> String {
    if written > 0.0 { format!("{:.3}", (written + again) / written) } else { "–".to_owned() }
}

/// A number with three digits or so.
fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        small if small < 10.0 => format!("{small:.2}"),
        small if small < 100.0 => format!("{small:.1}"),
        large => format!("{large:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.5, 9.0, 12.34, 1234.5].map(short);
        assert_eq!(shown, ["0", "0.50", "9.00", "12.3", "1234"]);
    }
}
