//! The numbers of the last hour as small plots, and what they cost.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};

use super::gone;
use crate::console::layout::Place;
use crate::console::numbers::{
    COMMANDS, Numbers, POINTS, Point, QUEUE_REQUESTS, READ_UNITS, WRITE_UNITS,
};
use crate::console::{Console, PATH};
use crate::cost::prices::Prices;

const TITLE: &str = "Numbers";
/// Size of a plot, in its own units: a unit for each half minute, and room for the line.
const PLOT: (usize, usize) = (POINTS - 1, 40);
/// Points of a row of a table: five minutes.
const IN_ROW: usize = 10;
/// Points of what is shown as the present value: a minute. The last point has begun just now.
const PRESENT: usize = 2;

/// Makes lines of plots, each with what it is called.
type Lines = Vec<(&'static str, Vec<Point>, Value)>;
/// What is plotted of a point, or of several together. None where there is nothing to tell.
type Value = fn(&Point) -> Option<f64>;

/// One plot.
struct Plot {
    title: &'static str,
    unit: &'static str,
    lines: Lines,
}

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/numbers", get(view)).route("/console/numbers-now", get(now))
}

async fn view(State(console): State<Arc<Console>>) -> Response {
    let instead = html! { p { "On AWS they are on the stack's dashboard in CloudWatch, which " code { "docs/OPERATIONS.md" } " explains." } };
    console.inside_view(Place::Numbers, TITLE, &instead, |inside| {
        let numbers = &inside.numbers;
        html! {
            (region(numbers))
            h2 { "As tables" }
            @for plot in plots(numbers) { (table(&plot)) }
            p class="quiet" { "As of when the page was loaded, in steps of five minutes." }
        }
    })
}

async fn now(State(console): State<Arc<Console>>) -> Response {
    match &console.inside {
        Some(inside) => Html(region(&inside.numbers).into_string()).into_response(),
        None => gone(),
    }
}

fn region(numbers: &Numbers) -> Markup {
    let now = format!("{PATH}numbers-now");
    html! {
        div #numbers hx-get=(now) hx-trigger="every 5s" hx-swap="outerHTML" {
            div class="plots" { @for plot in plots(numbers) { (figure(&plot)) } }
            div class="scroll" { (kinds(numbers)) }
            div class="scroll" { (cost(numbers)) }
        }
    }
}

fn plots(numbers: &Numbers) -> Vec<Plot> {
    let one =
        |title, unit, points, value| Plot { title, unit, lines: vec![(title, points, value)] };
    let times = |title, name| {
        let points = numbers.hour(name, None);
        let lines: Lines = vec![("half of them", points.clone(), half), ("99 %", points, most)];
        Plot { title, unit: "ms", lines }
    };
    let sum = |names: &[&str]| {
        let hours = names.iter().map(|name| numbers.hour(name, None));
        let empty = vec![Point::default(); POINTS];
        hours.fold(empty, |sum, hour| {
            sum.into_iter().zip(hour).map(|(a, b)| Point::all(&[a, b])).collect()
        })
    };
    vec![
        one("Commands", "a second", sum(&COMMANDS.map(|(name, _)| name)), rate),
        one("Entries written", "a second", numbers.hour("EntriesWritten", None), rate),
        one(
            "Entries sent again or in vain",
            "a second",
            numbers.hour("EntriesRepeated", None),
            rate,
        ),
        times("Publish to last entry", "FanOutLatency"),
        times("Fact to view", "ProjectionLag"),
        one("Pages", "a second", numbers.hour("PageLatency", None), frequency),
        times("Page, inside the reader", "PageLatency"),
        one("Units written", "a second", numbers.hour(WRITE_UNITS, None), rate),
        one("Units read", "a second", numbers.hour(READ_UNITS, None), rate),
        one("Requests to queues", "a second", numbers.hour(QUEUE_REQUESTS, None), rate),
        one("Calls made again", "a second", sum(&["CallsRetried", "ReadsRetried"]), rate),
        one("Dead letters", "a second", numbers.hour("DeadLetters", None), rate),
    ]
}

fn rate(point: &Point) -> Option<f64> {
    Some(point.total.sum / Point::SECONDS)
}

fn frequency(point: &Point) -> Option<f64> {
    Some(point.total.count as f64 / Point::SECONDS)
}

fn half(point: &Point) -> Option<f64> {
    point.percentile(0.5)
}

fn most(point: &Point) -> Option<f64> {
    point.percentile(0.99)
}

/// What several points come to: a rate is their average, a percentile that of all their values.
fn over(points: &[Point], unit: &str, value: Value) -> Option<f64> {
    let all = value(&Point::all(points))?;
    Some(if unit == "a second" { all / points.len() as f64 } else { all })
}

fn figure(plot: &Plot) -> Markup {
    let shown: Vec<Vec<_>> =
        plot.lines.iter().map(|(_, points, value)| points.iter().map(value).collect()).collect();
    let highest = shown.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let present: Vec<_> = plot
        .lines
        .iter()
        .map(|(name, points, value)| {
            (
                *name,
                over(&points[POINTS - PRESENT..], plot.unit, *value)
                    .map_or("none".to_owned(), short),
            )
        })
        .collect();
    let said: Vec<_> = present.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let label = format!(
        "{}, {}, over the last hour. In the last minute: {}. At most {}.",
        plot.title,
        plot.unit,
        said.join(", "),
        short(highest)
    );
    let (width, height) = PLOT;
    html! {
        figure class="card" {
            figcaption { (plot.title) span class="quiet" { ", " (plot.unit) } }
            p class="now" {
                @for (name, value) in &present {
                    strong { (value) } " "
                    @if present.len() > 1 { span class="quiet" { (name) " " } }
                }
            }
            svg class="plot" role="img" viewBox=(format!("0 0 {width} {height}")) preserveAspectRatio="none" aria-label=(label) {
                @for (index, line) in shown.iter().enumerate() {
                    path class=(format!("line-{index}")) d=(path(line, highest)) {}
                }
            }
            p class="quiet hint" { "an hour ago to now, at most " (short(highest)) }
        }
    }
}

/// A line through the values, with gaps where there is none.
fn path(values: &[Option<f64>], highest: f64) -> String {
    let height = PLOT.1 as f64;
    let (mut path, mut is_drawing) = (String::new(), false);
    for (x, value) in values.iter().enumerate() {
        let Some(value) = value else {
            is_drawing = false;
            continue;
        };
        let y = height - 1.0 - value / highest.max(f64::MIN_POSITIVE) * (height - 2.0);
        // A single value is a dash.
        let start = if is_drawing { format!("L{x} {y:.1}") } else { format!("M{x} {y:.1}h.5") };
        path.push_str(&start);
        is_drawing = true;
    }
    path
}

fn table(plot: &Plot) -> Markup {
    let rows = POINTS / IN_ROW;
    html! {
        details {
            summary { (plot.title) ", " (plot.unit) }
            div class="scroll" {
                table {
                    thead { tr { th scope="col" { "Minutes ago" } @for (name, ..) in &plot.lines { th scope="col" { (name) } } } }
                    tbody {
                        @for row in (0..rows).rev() {
                            tr {
                                th scope="row" { (5 * (rows - row)) " to " (5 * (rows - row - 1)) }
                                @for (_, points, value) in &plot.lines {
                                    td { (over(&points[row * IN_ROW..(row + 1) * IN_ROW], plot.unit, *value).map_or("–".to_owned(), short)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Commands by how they ended, units by table, dead letters by reason.
fn kinds(numbers: &Numbers) -> Markup {
    let commands = COMMANDS.iter().map(|(name, label)| ("Commands", *label, *name, None));
    let by = |title, name: &'static str| {
        numbers.kinds(name).into_iter().map(move |kind| (title, kind, name, Some(kind)))
    };
    let tables = by("Units written", WRITE_UNITS).chain(by("Units read", READ_UNITS));
    let rows = commands.chain(tables).chain(by("Dead letters", "DeadLetters"));
    let sends = |total: fn(&Numbers, &str) -> f64| {
        let (written, again) =
            (total(numbers, "EntriesWritten"), total(numbers, "EntriesRepeated"));
        if written > 0.0 { format!("{:.3}", (written + again) / written) } else { "–".to_owned() }
    };
    let ever: fn(&Numbers, &str) -> f64 = |numbers, name| numbers.ever(name, None).sum;
    html! {
        table {
            caption { "By kind" }
            thead { tr {
                th scope="col" { "What" } th scope="col" { "Kind" } th scope="col" { "Last minute" }
                th scope="col" { "Last hour" } th scope="col" { "Since the start" }
            } }
            tbody {
                @for (title, label, name, kind) in rows {
                    @let ever = numbers.ever(name, kind).sum;
                    @if ever > 0.0 {
                        tr {
                            td { (title) } td { (label) }
                            td { (short(numbers.recent(name, kind, 1).sum)) }
                            td { (short(numbers.recent(name, kind, 60).sum)) }
                            td { (short(ever)) }
                        }
                    }
                }
                tr {
                    td { "Sends an entry" } td {}
                    td { (sends(|numbers, name| numbers.recent(name, None, 1).sum)) }
                    td { (sends(|numbers, name| numbers.recent(name, None, 60).sum)) }
                    td { (sends(ever)) }
                }
            }
        }
    }
}

fn cost(numbers: &Numbers) -> Markup {
    let cost = numbers.cost(&Prices::default());
    html! {
        table {
            caption { "What units and requests would have cost on AWS (us-east-1, on demand) since " time { (numbers.since()) } }
            thead { tr { th scope="col" { "Service" } th scope="col" { "What" } th scope="col" { "Number" } th scope="col" { "US dollars" } } }
            tbody {
                @for line in &cost.lines {
                    tr { td { (line.service) } td { (line.what) } td { (short(line.amount * 1e6)) } td { (format!("{:.6}", line.dollars)) } }
                }
                tr { th scope="row" { "Together" } td {} td {} td { strong { (format!("{:.6}", cost.dollars)) } } }
                tr { th scope="row" { "A month of hours like the last" } td {} td {} td { strong { (format!("{:.2}", cost.month)) } } }
            }
        }
        p class="quiet" {
            "Computing, storage, logs and what every month costs are not among it: " code { "nagare estimate" } " has these. Calls of functions count; \
             those of the command line and this console do not, but for what they ask of the queues and the API."
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
    fn lines_have_gaps_where_there_is_nothing() {
        let values = [Some(0.0), Some(10.0), None, Some(5.0)];
        assert_eq!(path(&values, 10.0), "M0 39.0h.5L1 1.0M3 20.0h.5");
        assert_eq!(path(&[None, None], 0.0), "");
        assert_eq!(path(&[Some(0.0)], 0.0), "M0 39.0h.5");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.5, 9.0, 12.34, 1234.5].map(short);
        assert_eq!(shown, ["0", "0.50", "9.00", "12.3", "1234"]);
    }
}
