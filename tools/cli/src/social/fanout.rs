//! `nagare fanout`: the progress of a large fan-out.

use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use nagare_client::remote::Remote;
use nagare_operator::fanout::{FanOutWork, Report, work};
use nagare_operator::progress;
use shared::platform::values::ActivityId;
use shared::social::activities::ActivityKey;
use shared::social::fanout::{FanOutKind, FanOuts};
use tokio::time::Instant;

use crate::Failure;
use crate::print::{counted, print_json, say};

/// How often the ledger is asked.
const INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(crate) struct Fanout {
    /// The id of the activity.
    activity: ActivityId,
    /// Print the progress once, and do not wait for the end.
    #[arg(long)]
    no_wait: bool,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

impl Fanout {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let ledger = Remote::from_environment().await?.ledger()?;
        let unknown = || Failure::No(format!("nobody has published an activity {}", self.activity));
        let FanOutWork { key, kind } = work(&ledger, &self.activity).await?.ok_or_else(unknown)?;
        match self.watch(&FanOuts::new(&ledger), &key, kind).await? {
            Some(report) => self.print(&report)?,
            None => say!(
                "{} of {} was not cut into parts: its followers are few enough to be dealt with at once",
                key.activity_id,
                key.actor_id
            )?,
        }
        Ok(())
    }

    /// Follows the fan-out to its end, if it was cut into segments.
    async fn watch(
        &self,
        fan_outs: &FanOuts,
        key: &ActivityKey,
        kind: FanOutKind,
    ) -> Result<Option<Report>, Failure> {
        let (bar, begun) = (progress::bar(0, "timelines"), Instant::now());
        let mut at_first = None;
        loop {
            let Some(fan_out) = fan_outs.fan_out(key, kind).await? else { return Ok(None) };
            let mut report = Report::new(&key.activity_id, kind, &fan_out);
            let before = *at_first.get_or_insert(report.delivered);
            let seconds = begun.elapsed().as_secs_f64();
            if seconds > 0.0 {
                report.per_second = ((report.delivered - before) as f64 / seconds) as u64;
            }
            show(&bar, &report, before);
            if self.no_wait || report.parts_left == 0 {
                bar.finish_and_clear();
                return Ok(Some(report));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    fn print(&self, report: &Report) -> Result<(), Failure> {
        if self.json {
            return print_json(report);
        }
        let Report { activity_id, delivered, total, parts, parts_left, per_second, .. } = report;
        let about = if *parts_left > 0 { "about " } else { "" };
        say!(
            "{activity_id}: {delivered} of {about}{}, {parts_left} of {} left, {per_second} a second",
            counted(*total, "timeline", "timelines"),
            counted(*parts as u64, "part", "parts")
        )?;
        Ok(())
    }
}

fn show(bar: &ProgressBar, report: &Report, before: u64) {
    if bar.position() == 0 {
        // Entries that were there before say nothing about the rate.
        bar.set_position(before);
        bar.reset_eta();
    }
    bar.set_length(report.total);
    bar.set_position(report.delivered);
}
