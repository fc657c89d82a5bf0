//! The numbers of the last hour as small plots, and what they cost.

mod counted;
mod figure;

use shared::platform::values::Timestamp;

use super::elsewhere;
use crate::numbers::Cost;
use crate::prelude::*;

const SPANS: [&str; 3] = ["Last minute", "Last hour", "Since the start"];

/// What there is to tell of the last hour.
struct Report {
    plots: Vec<Plot>,
    kinds: Vec<CountedKind>,
    cost: Cost,
    since: Timestamp,
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
    present: Option<f64>,
    /// In each five minutes, the oldest first.
    rows: Vec<Option<f64>>,
}

/// A number by what it is told apart by: in each of the [`SPANS`].
struct CountedKind {
    what: &'static str,
    kind: String,
    numbers: Vec<String>,
}

pub(crate) async fn view(State(console): Here) -> Page {
    let content = match &console.telemetry {
        Some(inside) => {
            let report = counted::report(&inside.numbers);
            html! {
                (region(&report))
                h2 { "As tables" }
                @for plot in &report.plots { (figure::table(plot)) }
                p class="quiet" { "As of when the page was loaded, in steps of five minutes." }
            }
        }
        None => layout::problem(&elsewhere(&console)),
    };
    layout::page(&console, Place::Numbers, "Metrics", content)
}

/// The region without the page around it.
pub(crate) async fn now(State(console): Here) -> Response {
    match &console.telemetry {
        Some(inside) => layout::region(region(&counted::report(&inside.numbers))).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn region(report: &Report) -> Markup {
    html! {
        div #numbers hx-get={ (PATH) "numbers-now" } hx-trigger="every 5s" hx-swap="outerHTML" {
            p class="quiet" {
                "Calls of functions count; those of the command line and this console do not, but for what they ask of the queues and the API. What was dated back by more than ten minutes is left out of \"Publish to last entry\"."
            }
            div class="plots" { @for plot in &report.plots { (figure::figure(plot)) } }
            (by_kind(&report.kinds))
            (cost(report))
        }
    }
}

/// Commands by how they ended, units by table, dead letters by reason: those of which there were any. And how often an
/// entry was sent, of those written and those sent again.
fn kinds(
    rows: impl Iterator<Item = (&'static str, String, [f64; SPANS.len()])>,
    written: [f64; SPANS.len()],
    again: [f64; SPANS.len()],
) -> Vec<CountedKind> {
    let some = rows.filter(|(_, _, numbers)| numbers.last().is_some_and(|all| *all > 0.0));
    let some = some.map(|(what, kind, numbers)| CountedKind {
        what,
        kind,
        numbers: numbers.map(short).into(),
    });
    let sends = written.iter().zip(again).map(|(written, again)| match *written > 0.0 {
        true => format!("{:.3}", (written + again) / written),
        false => "–".to_owned(),
    });
    let sends =
        CountedKind { what: "Sends an entry", kind: String::new(), numbers: sends.collect() };
    some.chain([sends]).collect()
}

fn by_kind(kinds: &[CountedKind]) -> Markup {
    html! {
        table class="stack" {
            caption { "By kind" }
            thead { tr {
                th scope="col" { "What" } th scope="col" { "Kind" }
                @for span in SPANS { th scope="col" { (span) } }
            } }
            tbody {
                @for kind in kinds {
                    tr {
                        th scope="row" { (kind.what) } td { (kind.kind) }
                        @for (span, number) in SPANS.iter().zip(&kind.numbers) { td data-label=(span) { (number) } }
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
            caption { "What units and requests would have cost on AWS (us-east-1, on demand) since " time { (report.since) } }
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
