//! How far behind a stack on AWS is, as CloudWatch has it: about two minutes late.

use nagare_client::backlog::Backlog;
use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use nagare_telemetry::numbers::COMMANDS;
use shared::platform::runtime::env;

use crate::Account;
use crate::cloudwatch::{CloudWatch, HOUR, Minutes, Source, Statistic, Wanted};

/// The last minutes in which something has to have been counted. SQS stops counting for a queue
/// that has been idle for hours.
const LATEST: usize = 5;
const SECONDS_OF_A_MINUTE: f64 = 60.0;

/// How far behind a stack on AWS is.
///
/// # Errors
/// [`Failure`] if CloudWatch does not answer.
pub async fn backlog(remote: &Remote) -> Result<Backlog, Failure> {
    let queue = remote.target().required(env::QUEUE_URL)?;
    let region = remote.config().and_then(|config| config.region()).map(ToString::to_string);
    let account = Account::of_queue(&queue, region.as_deref());
    let account = account.ok_or_else(|| Failure::Usage(format!("{queue} names no account")))?;
    let cloudwatch = CloudWatch::of(remote, &account)?;
    let name = queue.rsplit('/').next().unwrap_or_default().to_owned();
    let age = Wanted {
        name: "ApproximateAgeOfOldestMessage",
        source: Source::Queue(name),
        statistic: Statistic::Maximum,
    };
    let lag =
        Wanted { name: "ProjectionLag", source: Source::Functions, statistic: Statistic::Maximum };
    let processed = |name| Wanted { name, source: Source::Functions, statistic: Statistic::Sum };
    let rates: Vec<_> = COMMANDS.iter().map(|(name, _)| processed(name)).collect();
    let wanted: Vec<_> = rates.iter().cloned().chain([age.clone(), lag.clone()]).collect();
    let minutes = cloudwatch.hour(&wanted).await;
    let minutes = minutes.map_err(|e| Failure::Unreachable(e.to_string()))?;
    let commands: f64 = rates.iter().map(|rate| last(&minutes, rate)).sum();
    Ok(Backlog {
        oldest_command_seconds: greatest(&minutes, &age),
        commands_per_second: commands / SECONDS_OF_A_MINUTE,
        projection_lag_seconds: greatest(&minutes, &lag) / 1_000.0,
    })
}

fn last(minutes: &Minutes, wanted: &Wanted) -> f64 {
    minutes.of(wanted).last().copied().flatten().unwrap_or_default()
}

/// The greatest of the last minutes. Where nothing was counted nothing waits.
fn greatest(minutes: &Minutes, wanted: &Wanted) -> f64 {
    let latest = minutes.of(wanted).iter().skip(HOUR - LATEST);
    latest.flatten().copied().fold(0.0, f64::max)
}
