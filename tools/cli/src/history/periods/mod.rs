//! Periods of events: `nagare events periods` shows them, `advance` moves the clock of a local stack on, and `verify` reads archives
//! back.

mod advance;
mod verify;

use clap::Args;
use nagare_client::clock;
use nagare_client::remote::Remote;
use nagare_operator::periods::PeriodReport;

use crate::Failure;
use crate::print::{print_json, say};

pub(crate) use advance::Advance;
pub(crate) use verify::Verify;

#[derive(Debug, Args)]
pub(crate) struct Periods {
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

impl Periods {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let events = Remote::from_environment().await?.events()?;
        let mut reports = PeriodReport::all(&events, clock::clock().now()).await?;
        reports.reverse();
        if self.json {
            return reports.iter().try_for_each(print_json);
        }
        say!(
            "{:<10}  {:<8}  {:>12}  {:>15}  {:<7}  at",
            "period",
            "state",
            "events",
            "bytes",
            "next"
        )?;
        reports.iter().try_for_each(print)
    }
}

/// Prints a period for people.
fn print(report: &PeriodReport) -> Result<(), Failure> {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let at = report.next_at.map_or_else(String::new, |at| at.to_string());
    say!(
        "{:<10}  {:<8}  {:>12}  {:>15}  {:<7}  {at}",
        report.period,
        report.state,
        number(report.events),
        number(report.bytes),
        report.next.as_deref().unwrap_or("-"),
    )?;
    match &report.dispute {
        Some(why) => say!("            disputed: {why}"),
        None => Ok(()),
    }
}
