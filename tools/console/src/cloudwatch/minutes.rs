//! What was counted: an hour of each metric, minute by minute.
//!
//! A metric is paid for each time it is asked for, so there is one call a minute at most, however many pages are open. A minute
//! that CloudWatch does not have yet looks like one in which nothing happened, and functions' metrics take it about a minute to
//! have; the hour therefore ends with the last whole minute but one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::metrics::{NAMESPACE, STAGE};
use shared::platform::values::Timestamp;

use super::service::CallError;
use super::{CloudWatch, PATIENCE};

/// In milliseconds.
const MINUTE: i64 = 60_000;
pub(crate) const HOUR: usize = 60;
/// The answers that one question may have.
const ANSWERS: usize = 10;

/// What the values of a minute come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Statistic {
    Sum,
    /// How many there were.
    SampleCount,
    Maximum,
    #[serde(rename = "p50")]
    Median,
    #[serde(rename = "p99")]
    P99,
}

/// What counts a metric, and for what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// The functions of the stage.
    Functions,
    /// DynamoDB, for a table.
    Table(String),
    /// SQS, for a queue.
    Queue(String),
}

/// A metric, and what is asked of it for each minute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wanted {
    pub(crate) name: &'static str,
    pub(crate) source: Source,
    pub(crate) statistic: Statistic,
}

/// An hour of some metrics.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Minutes {
    pub(crate) until: Timestamp,
    /// Of each metric its minutes, the oldest first; none where nothing was counted.
    values: BTreeMap<Wanted, Vec<Option<f64>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    metric_data_results: Vec<Found>,
    next_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    id: String,
    status_code: Option<String>,
    timestamps: Vec<When>,
    values: Vec<f64>,
}

/// The protocol has seconds since 1970; emulators are known that write it out.
#[derive(Deserialize)]
#[serde(untagged)]
enum When {
    Seconds(f64),
    Text(String),
}

impl Wanted {
    fn query(&self, id: &str, stage: &str) -> Value {
        let (namespace, dimension, value) = match &self.source {
            Source::Functions => (NAMESPACE, STAGE, stage),
            Source::Table(table) => ("AWS/DynamoDB", "TableName", table.as_str()),
            Source::Queue(queue) => ("AWS/SQS", "QueueName", queue.as_str()),
        };
        let dimensions = [json!({ "Name": dimension, "Value": value })];
        let metric =
            json!({ "Namespace": namespace, "MetricName": self.name, "Dimensions": dimensions });
        json!({ "Id": id, "MetricStat": { "Metric": metric, "Period": MINUTE / 1_000, "Stat": self.statistic } })
    }
}

impl CloudWatch {
    /// The last hour of some metrics: of those kept, if they are not older than a minute.
    pub(crate) async fn hour(&self, wanted: &[Wanted]) -> Result<Arc<Minutes>, CallError> {
        let now = self.clock.now().unix_millis();
        let until = Timestamp::from_unix_millis((now.div_euclid(MINUTE) - 1) * MINUTE);
        // Who comes while they are read waits, and finds them.
        let mut kept = self.kept.lock().await;
        let has_all = |kept: &Minutes| wanted.iter().all(|it| kept.values.contains_key(it));
        if let Some(kept) = kept.as_ref().filter(|kept| kept.until == until && has_all(kept)) {
            return Ok(Arc::clone(kept));
        }
        let read = Arc::new(self.read(wanted, until).await?);
        Ok(Arc::clone(kept.insert(read)))
    }

    async fn read(&self, wanted: &[Wanted], until: Timestamp) -> Result<Minutes, CallError> {
        let deadline = Deadline::after(PATIENCE);
        let start = until.unix_millis() - HOUR as i64 * MINUTE;
        let ids: BTreeMap<_, _> =
            wanted.iter().enumerate().map(|(n, wanted)| (format!("m{n}"), wanted)).collect();
        let queries: Vec<_> =
            ids.iter().map(|(id, wanted)| wanted.query(id, &self.stage)).collect();
        let mut input = json!({
            "StartTime": start / 1_000,
            "EndTime": until.unix_millis() / 1_000,
            "MetricDataQueries": queries,
        });
        let nothing = wanted.iter().map(|wanted| (wanted.clone(), vec![None; HOUR]));
        let mut minutes = Minutes { until, values: nothing.collect() };
        for _ in 0..ANSWERS {
            let answer = self.metrics.call("GetMetricData", &input, deadline).await?;
            let answer: Answer =
                serde_json::from_value(answer).map_err(|e| self.metrics.unexpected(&e))?;
            for found in answer.metric_data_results {
                let Some(wanted) = ids.get(&found.id) else { continue };
                // What is not known looks like what did not happen.
                if let Some(status @ ("InternalError" | "Forbidden")) = found.status_code.as_deref()
                {
                    return Err(self.metrics.unexpected(&format!("{}: {status}", wanted.name)));
                }
                minutes.add(wanted, start, &found);
            }
            match answer.next_token {
                Some(token) => input["NextToken"] = token.into(),
                None => return Ok(minutes),
            }
        }
        Err(self.metrics.unexpected(&"it has no end"))
    }
}

impl Minutes {
    /// The minutes of a metric, the oldest first; none where nothing was counted.
    pub(crate) fn of(&self, wanted: &Wanted) -> &[Option<f64>] {
        self.values.get(wanted).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, wanted: &Wanted, start: i64, found: &Found) {
        let Some(values) = self.values.get_mut(wanted) else { return };
        for (when, value) in found.timestamps.iter().zip(&found.values) {
            let index = when.unix_millis().map(|at| (at - start).div_euclid(MINUTE));
            let index = index.and_then(|index| usize::try_from(index).ok());
            if let Some(slot) = index.and_then(|index| values.get_mut(index)) {
                *slot = Some(*value);
            }
        }
    }
}

impl When {
    fn unix_millis(&self) -> Option<i64> {
        match self {
            Self::Seconds(seconds) => Some((seconds * 1e3) as i64),
            Self::Text(text) => text.parse().ok().map(Timestamp::unix_millis),
        }
    }
}
