//! What tables used and how old the oldest message is, by one [signed](shared::platform::signed) call of CloudWatch: `GetMetricData`.
//!
//! CloudWatch bills each series that is asked for. A tick asks for 7 to 23 of them, which is $0.07 to $0.23 for a thousand ticks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use shared::history::events::capacity::{AHEAD_MILLIS, Measured, TableUsage, WEEKS};
use shared::history::events::{EventSettings, EventTables};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry;
use shared::platform::signed::{HttpAnswer, HttpCall, Services, SignedError, SignedHttp};
use shared::platform::values::Timestamp;

use crate::service::{ServiceError, failure, refusal};

/// As signatures name it.
const SERVICE: &str = "monitoring";
/// The operation, and its content type.
const TARGET: &str = "GraniteServiceVersion20100801.GetMetricData";
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";
/// The most pages of an answer. It has at most 8,200 values, and a page up to 100,800.
const PAGES: usize = 4;
const HOUR_MILLIS: i64 = 3_600_000;
const WEEK_MILLIS: i64 = 7 * 24 * HOUR_MILLIS;
const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;
/// What happened within this time is recent. Metrics are two minutes late.
const RECENT_MILLIS: i64 = 7 * 60_000;

/// What CloudWatch measures.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Metric {
    /// The read units of a table.
    Reads(String),
    /// The write units of a table.
    Writes(String),
    /// The age of the oldest message of the queue.
    Oldest,
}

/// A metric, and the seconds that each of its values covers.
type Series = (Metric, u32);
/// The values of each series, by the instant at which the time that they cover begins.
type Values = BTreeMap<Series, BTreeMap<Timestamp, f64>>;

/// CloudWatch, for the tables of events and the queue of commands. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CloudWatch(Arc<CloudWatchInner>);

#[derive(Debug)]
struct CloudWatchInner {
    http: SignedHttp,
    url: String,
    /// The name of the queue.
    queue: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetMetricDataOutput {
    metric_data_results: Vec<MetricDataResult>,
    next_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MetricDataResult {
    id: String,
    /// Unix seconds.
    timestamps: Vec<f64>,
    values: Vec<f64>,
    status_code: String,
}

impl CloudWatch {
    /// The metrics of a queue with this ARN.
    pub fn new(services: &Services, queue_arn: &str) -> Self {
        let http = SignedHttp::new(SERVICE, services);
        let url = format!("{}/", http.address(None));
        let queue = queue_arn.rsplit(':').next().unwrap_or_default().to_owned();
        Self(Arc::new(CloudWatchInner { http, url, queue }))
    }

    /// What is known at an instant of the load of the current period.
    pub(crate) async fn measured(
        &self,
        tables: &EventTables,
        settings: &EventSettings,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Measured, ServiceError> {
        let table_at = |at| tables.name(settings.period_of(at));
        let (first, last) = (hour_of(now), hour_of(now.plus_millis(AHEAD_MILLIS)));
        let hours: BTreeSet<_> = [first, last]
            .into_iter()
            .flat_map(|hour| (1..=WEEKS).map(move |week| hour.plus_millis(-week * WEEK_MILLIS)))
            .collect();
        let series = hours.iter().flat_map(|hour| hourly(&table_at(*hour))).collect();
        let from = first.plus_millis(-WEEKS * WEEK_MILLIS);
        let to = last.plus_millis(HOUR_MILLIS - WEEK_MILLIS);
        let weeks = self.values(&series, (from, to), deadline).await?;
        let same_hours = hours.iter().filter_map(|hour| used(&weeks, &table_at(*hour), *hour));

        let (day_ago, current) = (first.plus_millis(-DAY_MILLIS), table_at(now));
        let reads = (Metric::Reads(current.clone()), 300);
        let writes = (Metric::Writes(current.clone()), 60);
        let oldest = (Metric::Oldest, 60);
        let tables = [current, table_at(day_ago)];
        let mut series: BTreeSet<_> = tables.iter().flat_map(|table| hourly(table)).collect();
        series.extend([reads.clone(), writes.clone(), oldest.clone()]);
        let lately = self.values(&series, (day_ago, now), deadline).await?;
        let hours = (0..24).map(|hour| day_ago.plus_millis(hour * HOUR_MILLIS));
        let last_day = hours.filter_map(|hour| used(&lately, &table_at(hour), hour));
        // The last value may not be whole yet, and the one before is.
        let most = |series: &Series| {
            let since = now.plus_millis(-(2 * i64::from(series.1) * 1_000).max(RECENT_MILLIS));
            let values = lately.get(series).into_iter().flat_map(|values| values.range(since..));
            let most = values.map(|(_, value)| *value).reduce(f64::max);
            most.unwrap_or_default() / f64::from(series.1)
        };
        let recent = TableUsage { reads: most(&reads), writes: most(&writes) };
        let since = now.plus_millis(-RECENT_MILLIS);
        let age = lately.get(&oldest).and_then(|values| values.range(since..).next_back());
        Ok(Measured {
            same_hours: same_hours.collect(),
            last_day: last_day.collect(),
            recent,
            oldest: Duration::from_secs_f64(age.map_or(0.0, |(_, seconds)| seconds.max(0.0))),
        })
    }

    /// The values of series between two instants.
    async fn values(
        &self,
        series: &BTreeSet<Series>,
        (from, to): (Timestamp, Timestamp),
        deadline: Deadline,
    ) -> Result<Values, ServiceError> {
        let series: Vec<_> = series.iter().collect();
        let queries = series.iter().enumerate();
        let queries: Vec<_> = queries.map(|(number, series)| self.query(number, series)).collect();
        let seconds = |at: Timestamp| at.unix_millis() / 1_000;
        let mut request = json!({
            "StartTime": seconds(from), "EndTime": seconds(to), "ScanBy": "TimestampAscending",
            "MetricDataQueries": queries,
        });
        let mut values = Values::new();
        for _ in 0..PAGES {
            let page = self.page(&request, deadline).await?;
            for result in page.metric_data_results {
                let number = result.id.strip_prefix('s').and_then(|id| id.parse::<usize>().ok());
                let of = number.and_then(|number| series.get(number));
                let of = of.filter(|_| ["Complete", "PartialData"].contains(&&*result.status_code));
                let of = of.ok_or_else(SignedError::unreadable)?;
                let instants = result.timestamps.iter().map(|seconds| instant(*seconds));
                let values = values.entry((*of).clone()).or_default();
                values.extend(instants.zip(result.values));
            }
            let Some(token) = page.next_token else { return Ok(values) };
            request["NextToken"] = Value::from(token);
        }
        Err(ServiceError::Unavailable("its list of values has no end".to_owned()))
    }

    fn query(&self, number: usize, (metric, seconds): &Series) -> Value {
        let (namespace, name, dimension, of, statistic) = match metric {
            Metric::Reads(table) => {
                ("AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", table, "Sum")
            }
            Metric::Writes(table) => {
                ("AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", table, "Sum")
            }
            Metric::Oldest => {
                ("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", &self.0.queue, "Maximum")
            }
        };
        json!({
            "Id": format!("s{number}"),
            "MetricStat": {
                "Metric": {
                    "Namespace": namespace, "MetricName": name,
                    "Dimensions": [{"Name": dimension, "Value": of}],
                },
                "Period": seconds, "Stat": statistic,
            },
        })
    }

    async fn page(
        &self,
        request: &Value,
        deadline: Deadline,
    ) -> Result<GetMetricDataOutput, ServiceError> {
        let call = HttpCall {
            method: "POST",
            url: &self.0.url,
            body: request.to_string().into_bytes().into(),
            content_type: Some(CONTENT_TYPE),
            target: Some(TARGET),
            attempt: retry::attempt,
        };
        let read = |answer: HttpAnswer| match refusal(&answer) {
            None => {
                serde_json::from_slice(&answer.body).map_err(|_| SignedError::unreadable().into())
            }
            Some(_) => Err(failure(&answer)),
        };
        self.0.http.call(call, deadline, read).await
    }
}

/// The units of a table, by the hour.
fn hourly(table: &str) -> [Series; 2] {
    [(Metric::Reads(table.to_owned()), 3_600), (Metric::Writes(table.to_owned()), 3_600)]
}

fn hour_of(at: Timestamp) -> Timestamp {
    at.plus_millis(-at.unix_millis().rem_euclid(HOUR_MILLIS))
}

#[allow(clippy::cast_possible_truncation, reason = "an instant has far fewer milliseconds")]
fn instant(seconds: f64) -> Timestamp {
    Timestamp::from_unix_millis((seconds * 1_000.0) as i64)
}

/// What a table used in an hour, by the second; `None` if nothing is known of it.
fn used(values: &Values, table: &str, hour: Timestamp) -> Option<TableUsage> {
    let [reads, writes] = hourly(table).map(|series| values.get(&series)?.get(&hour).copied());
    let mean = |units: Option<f64>| units.unwrap_or_default() / 3_600.0;
    (reads.is_some() || writes.is_some())
        .then(|| TableUsage { reads: mean(reads), writes: mean(writes) })
}
