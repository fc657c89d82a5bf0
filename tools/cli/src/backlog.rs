//! How far behind a stack on AWS is, as CloudWatch has it: about two minutes late.

use nagare_client::backlog::Backlog;
use nagare_client::failure::Failure;
use nagare_client::metric_data::{Metric, of_last_minutes};
use nagare_client::remote::Remote;
use nagare_console::Account;
use nagare_telemetry::numbers::COMMANDS;
use shared::platform::runtime::env;
use shared::platform::runtime::metrics::{NAMESPACE, STAGE};

/// The last minutes in which something has to have been counted. SQS stops counting for a queue
/// that has been idle for hours.
const LATEST: i64 = 5;
const SECONDS_OF_A_MINUTE: f64 = 60.0;

/// How far behind a stack on AWS is. Where nothing was counted nothing waits.
///
/// # Errors
/// [`Failure`] if CloudWatch does not answer.
pub(crate) async fn on_aws(remote: &Remote) -> Result<Backlog, Failure> {
    let queue = remote.target().required(env::QUEUE_URL)?;
    let stage = remote.target().required(env::STAGE)?;
    let region = remote.config().and_then(|config| config.region()).map(ToString::to_string);
    let account = Account::of_queue(&queue, region.as_deref());
    let account = account.ok_or_else(|| Failure::Usage(format!("{queue} names no account")))?;
    let name = queue.rsplit('/').next().unwrap_or_default();
    let age = Metric {
        namespace: "AWS/SQS",
        name: "ApproximateAgeOfOldestMessage",
        dimension: ("QueueName", name),
        statistic: "Maximum",
    };
    let of_functions = |name, statistic| Metric {
        namespace: NAMESPACE,
        name,
        dimension: (STAGE, &stage),
        statistic,
    };
    let lag = of_functions("ProjectionLag", "Maximum");
    let processed = COMMANDS.iter().map(|(name, _)| of_functions(*name, "Sum"));
    let metrics: Vec<_> = [age, lag].into_iter().chain(processed).collect();
    let found = of_last_minutes(remote, &account.domain, &metrics, LATEST).await?;
    let greatest = |n: usize| found[n].iter().copied().fold(0.0, f64::max);
    let latest = found.iter().skip(2).filter_map(|values| values.first());
    Ok(Backlog {
        oldest_command_seconds: greatest(0),
        commands_per_second: latest.sum::<f64>() / SECONDS_OF_A_MINUTE,
        projection_lag_seconds: greatest(1) / 1_000.0,
    })
}
