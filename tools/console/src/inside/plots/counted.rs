//! A report of what was counted in this process.

use nagare_operator::cost::prices::Prices;
use nagare_telemetry::numbers::{
    COMMANDS, Numbers, POINTS, Point, QUEUE_REQUESTS, READ_UNITS, WRITE_UNITS,
};

use super::{CountedKind, Line, Plot, Report};
use crate::numbers::Cost;

/// Points of a row of a table: five minutes.
const IN_ROW: usize = 10;
/// Points of the shortest plot: two minutes.
const FEWEST: usize = 4;
/// Points of what is shown as the present value: a minute. The last point has begun just now.
const PRESENT: usize = 2;

/// What is plotted of a point, or of several together. None where there is nothing to tell.
type Value = fn(&Point) -> Option<f64>;

pub(super) fn report(numbers: &Numbers) -> Report {
    Report {
        plots: since_start(plots(numbers), numbers),
        kinds: kinds(numbers),
        cost: Cost::of(numbers, &Prices::default()),
        since: numbers.since(),
    }
}

/// A stack that has run for less than an hour fills its plots: they begin when it did.
fn since_start(mut plots: Vec<Plot>, numbers: &Numbers) -> Vec<Plot> {
    let seconds = numbers.observed_millis() as f64 / 1e3;
    let points = ((seconds / Point::SECONDS).ceil() as usize + 1).clamp(FEWEST, POINTS);
    for plot in &mut plots {
        plot.minutes = (points as f64 * Point::SECONDS / 60.0).round() as usize;
        for line in &mut plot.lines {
            line.points.drain(..line.points.len().saturating_sub(points));
        }
    }
    plots
}

fn plots(numbers: &Numbers) -> Vec<Plot> {
    let rate: Value = |point| Some(point.total.sum / Point::SECONDS);
    let frequency: Value = |point| Some(point.total.count as f64 / Point::SECONDS);
    let one = |title, points: &[Point], value: Value| {
        let over =
            |points: &[Point]| value(&Point::all(points)).map(|all| all / points.len() as f64);
        Plot { title, unit: "a second", minutes: 60, lines: vec![line(title, points, value, over)] }
    };
    let times = |title, name| {
        let points = numbers.hour(name, None);
        let of =
            |name, value: Value| line(name, &points, value, |points| value(&Point::all(points)));
        let (half, most) =
            (of("median", |it| it.percentile(0.5)), of("p99", |it| it.percentile(0.99)));
        Plot { title, unit: "ms", minutes: 60, lines: vec![half, most] }
    };
    let hour = |name: &str| numbers.hour(name, None);
    let sum = |names: &[&str]| -> Vec<Point> {
        let hours = names.iter().map(|name| hour(name));
        hours.fold(vec![Point::default(); POINTS], |sum, hour| {
            sum.into_iter().zip(hour).map(|(a, b)| Point::all(&[a, b])).collect()
        })
    };
    vec![
        one("Commands", &sum(&COMMANDS.map(|(name, _)| name)), rate),
        one("Entries written", &hour("EntriesWritten"), rate),
        one("Entries written again", &hour("EntriesRepeated"), rate),
        times("Publish to last entry", "FanOutLatency"),
        times("Fact to view", "ProjectionLag"),
        one("Pages", &hour("PageLatency"), frequency),
        times("Page, inside the reader", "PageLatency"),
        one("Units written", &hour(WRITE_UNITS), rate),
        one("Units read", &hour(READ_UNITS), rate),
        one("Requests to queues", &hour(QUEUE_REQUESTS), rate),
        one("Retried calls", &sum(&["CallsRetried", "ReadsRetried"]), rate),
        one("Dead letters", &hour("DeadLetters"), rate),
    ]
}

/// A line through points, and what several of them come to.
fn line(
    name: &'static str,
    points: &[Point],
    value: Value,
    over: impl Fn(&[Point]) -> Option<f64>,
) -> Line {
    Line {
        name,
        present: over(&points[points.len().saturating_sub(PRESENT)..]),
        rows: points.chunks(IN_ROW).map(over).collect(),
        points: points.iter().map(value).collect(),
    }
}

fn kinds(numbers: &Numbers) -> Vec<CountedKind> {
    let counted = |name: &str, by: Option<&str>| {
        [numbers.recent(name, by, 1), numbers.recent(name, by, 60), numbers.ever(name, by)]
            .map(|total| total.sum)
    };
    let commands =
        COMMANDS.iter().map(|(name, label)| ("Commands", (*label).to_owned(), counted(name, None)));
    let by = |what, name| {
        let kinds = numbers.kinds(name).into_iter();
        kinds.map(move |kind| (what, kind.to_owned(), counted(name, Some(kind))))
    };
    let tables = by("Units written", WRITE_UNITS).chain(by("Units read", READ_UNITS));
    let rows = commands.chain(tables).chain(by("Dead letters", "DeadLetters"));
    super::kinds(rows, counted("EntriesWritten", None), counted("EntriesRepeated", None))
}
