//! A report of what CloudWatch has: the metrics of the functions, and the units that DynamoDB counts.
//!
//! What has no metric is not told: requests to the queues, for a metric counts messages, and invocations, since nothing names
//! the functions to the console. Dead letters are told apart by reason in the queues' view.

use maud::html;
use nagare_operator::cost::prices::Prices;
use nagare_telemetry::numbers::COMMANDS;

use super::{Kind, Line, Plot, Report};
use crate::cloudwatch::{CallError, CloudWatch, HOUR, Minutes, Source, Statistic, Wanted};
use crate::numbers::Cost;

/// How often a page asks again. CloudWatch is asked once a minute at most.
pub(super) const EVERY: &str = "every 60s";
/// Minutes of a row of a table.
const IN_ROW: usize = 5;
/// The metrics whose values are counted together, beside how commands ended.
const SUMS: [&str; 6] = [
    "EntriesWritten",
    "EntriesRepeated",
    "CallsRetried",
    "ReadsRetried",
    "Problems",
    "DeadLetters",
];
const TIMES: [&str; 3] = ["FanOutLatency", "ProjectionLag", "PageLatency"];
/// The one whose values are as many as the pages.
const PAGES: &str = "PageLatency";
/// What DynamoDB counts of each table.
const UNITS: [(&str, &str); 2] =
    [("ConsumedWriteCapacityUnits", "Units written"), ("ConsumedReadCapacityUnits", "Units read")];

/// An hour as CloudWatch has it.
struct Hour<'m> {
    minutes: &'m Minutes,
    tables: &'m [String],
}

pub(super) async fn report(
    cloudwatch: &CloudWatch,
    tables: &[String],
) -> Result<Report, CallError> {
    let minutes = cloudwatch.hour(&wanted(tables)).await?;
    let hour = Hour { minutes: &minutes, tables };
    Ok(Report {
        plots: hour.plots(),
        kinds: hour.kinds(),
        cost: hour.cost(),
        caption: html! { "What units and requests have cost in this hour (at prices of us-east-1, on demand)" },
        remark: html! {
            p class="quiet" {
                "From CloudWatch, the hour until " time { (minutes.until) } "; what functions count is there about a minute late. \
                 Units are those of everybody who calls the tables. Of a time, a row of a table has the worst minute. What functions and queues cost by the request is not known here."
            }
        },
        every: EVERY,
    })
}

fn wanted(tables: &[String]) -> Vec<Wanted> {
    let sums = COMMANDS.iter().map(|(name, _)| *name).chain(SUMS);
    let times = TIMES.iter().flat_map(|name| {
        [Statistic::Median, Statistic::P99].map(|statistic| counted(name, statistic))
    });
    let units = tables.iter().flat_map(|table| UNITS.map(|(name, _)| units(name, table)));
    sums.map(|name| counted(name, Statistic::Sum))
        .chain([counted(PAGES, Statistic::SampleCount)])
        .chain(times)
        .chain(units)
        .collect()
}

fn counted(name: &'static str, statistic: Statistic) -> Wanted {
    Wanted { name, source: Source::Functions, statistic }
}

fn units(name: &'static str, table: &str) -> Wanted {
    Wanted { name, source: Source::Table(table.to_owned()), statistic: Statistic::Sum }
}

impl Hour<'_> {
    /// What happened in each minute, of several metrics together. Where nothing is counted nothing happened.
    fn sums(&self, wanted: &[Wanted]) -> Vec<f64> {
        let mut sums = vec![0.0; HOUR];
        for metric in wanted.iter().map(|wanted| self.minutes.of(wanted)) {
            for (sum, value) in sums.iter_mut().zip(metric) {
                *sum += value.unwrap_or(0.0);
            }
        }
        sums
    }

    fn sum(&self, names: &[&'static str]) -> Vec<f64> {
        let wanted: Vec<_> = names.iter().map(|name| counted(name, Statistic::Sum)).collect();
        self.sums(&wanted)
    }

    /// The units of one kind, of all tables.
    fn units(&self, name: &'static str) -> Vec<f64> {
        let wanted: Vec<_> = self.tables.iter().map(|table| units(name, table)).collect();
        self.sums(&wanted)
    }

    fn plots(&self) -> Vec<Plot> {
        let commands = COMMANDS.map(|(name, _)| name);
        let pages = self.sums(&[counted(PAGES, Statistic::SampleCount)]);
        let [written, read] = UNITS.map(|(name, _)| self.units(name));
        vec![
            rate("Commands", &self.sum(&commands)),
            rate("Entries written", &self.sum(&["EntriesWritten"])),
            rate("Entries written again", &self.sum(&["EntriesRepeated"])),
            self.times("Publish to last entry", "FanOutLatency"),
            self.times("Fact to view", "ProjectionLag"),
            rate("Pages", &pages),
            self.times("Page, inside the reader", PAGES),
            rate("Units written", &written),
            rate("Units read", &read),
            rate("Retried calls", &self.sum(&["CallsRetried", "ReadsRetried"])),
            rate("Dead letters", &self.sum(&["DeadLetters"])),
        ]
    }

    fn times(&self, title: &'static str, metric: &'static str) -> Plot {
        let line = |name, statistic| {
            let points = self.minutes.of(&counted(metric, statistic));
            let worst = |row: &[Option<f64>]| row.iter().flatten().copied().reduce(f64::max);
            Line {
                name,
                present: points.last().copied().flatten(),
                rows: points.chunks(IN_ROW).map(worst).collect(),
                points: points.to_vec(),
            }
        };
        let lines = vec![line("median", Statistic::Median), line("p99", Statistic::P99)];
        Plot { title, unit: "ms", minutes: 60, lines }
    }

    fn kinds(&self) -> Vec<Kind> {
        let commands = COMMANDS
            .iter()
            .map(|(name, label)| ("Commands", (*label).to_owned(), self.sum(&[*name])));
        let units = UNITS.iter().flat_map(|(name, what)| {
            let of = |table: &String| (*what, table.clone(), self.sums(&[units(name, table)]));
            self.tables.iter().map(of)
        });
        let letters = ("Dead letters", String::new(), self.sum(&["DeadLetters"]));
        let rows = commands.chain(units).chain([letters]);
        let counted = |minutes: Vec<f64>| [minutes.last().copied().unwrap_or(0.0), total(&minutes)];
        let rows = rows.map(|(what, kind, minutes)| (what, kind, counted(minutes)));
        let [written, again] = ["EntriesWritten", "EntriesRepeated"].map(|name| self.sum(&[name]));
        super::kinds(rows, counted(written), counted(again))
    }

    fn cost(&self) -> Cost {
        let pages = self.sums(&[counted(PAGES, Statistic::SampleCount)]);
        let requests = total(&pages) + total(&self.sum(&["Problems"]));
        let [written, read] = UNITS.map(|(name, _)| total(&self.units(name)));
        Cost::of_hour(&Prices::default(), written, read, requests)
    }
}

fn rate(title: &'static str, minutes: &[f64]) -> Plot {
    let a_second = |minutes: &[f64]| Some(total(minutes) / (60.0 * minutes.len() as f64));
    let line = Line {
        name: title,
        points: minutes.chunks(1).map(a_second).collect(),
        present: minutes.last().map(|last| last / 60.0),
        rows: minutes.chunks(IN_ROW).map(a_second).collect(),
    };
    Plot { title, unit: "a second", minutes: 60, lines: vec![line] }
}

fn total(minutes: &[f64]) -> f64 {
    minutes.iter().sum()
}
