//! CloudWatch as far as it is used here: what it holds is known, and how it cuts its answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use aws_config::{Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;
use tokio::net::TcpListener;

use super::NOW;
use crate::cloudwatch::CloudWatch;
use crate::tests::HTML;

/// What CloudWatch holds, and how it answers.
#[derive(Default)]
pub(super) struct Held {
    /// The lines of each log group, by time.
    pub(super) groups: BTreeMap<String, Vec<(i64, String)>>,
    /// The values of metrics, by namespace, name, dimension and statistic: minutes before the last, and the value.
    pub(super) metrics: BTreeMap<String, Vec<(i64, f64)>>,
    /// The most events, or metrics, of one answer.
    pub(super) at_once: usize,
    /// Whether it knows that the newest may be asked for first.
    pub(super) turns: bool,
    /// The log group that nobody may read; and then no metric either.
    pub(super) forbidden: Option<String>,
    /// The metric that cannot be had.
    pub(super) broken: Option<&'static str>,
    /// How many calls are still turned away because there are too many.
    pub(super) busy: AtomicUsize,
    /// What was asked, by operation.
    pub(super) asked: Mutex<Vec<(String, Value)>>,
}

impl Held {
    pub(super) fn new() -> Self {
        Self { at_once: 1_000, turns: true, ..Self::default() }
    }

    pub(super) fn say(&mut self, function: &str, at: i64, line: impl Into<String>) {
        let group = format!("/aws/lambda/nagare-dev-{}", function.replace('_', "-"));
        let lines = self.groups.entry(group).or_default();
        lines.push((at, line.into()));
        lines.sort_by_key(|(at, _)| *at);
    }

    pub(super) fn count(&mut self, metric: &str, values: &[(i64, f64)]) {
        self.metrics.insert(metric.to_owned(), values.to_vec());
    }

    pub(super) fn times_asked(&self, operation: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|(other, _)| other == operation).count()
    }

    fn events(&self, input: &Value) -> (StatusCode, Value) {
        let number = |name: &str| input[name].as_i64().unwrap();
        let group = input["logGroupName"].as_str().unwrap();
        if self.forbidden.as_deref() == Some(group) {
            let message = format!(
                "User: arn:aws:iam::123456789012:user/{HTML} is not authorized to perform: logs:FilterLogEvents on {group}"
            );
            return (
                StatusCode::BAD_REQUEST,
                json!({ "__type": "AccessDeniedException", "message": message }),
            );
        }
        let within = number("startTime")..=number("endTime");
        let lines =
            self.groups.get(group).into_iter().flatten().filter(|(at, _)| within.contains(at));
        let mut events: Vec<_> =
            lines.map(|(at, text)| json!({ "timestamp": at, "message": text })).collect();
        if self.turns && input["startFromHead"] == json!(false) {
            events.reverse();
        }
        let start: usize = input["nextToken"].as_str().map_or(0, |token| token.parse().unwrap());
        let limit = self.at_once.min(number("limit") as usize);
        let end = (start + limit).min(events.len());
        let next = (end < events.len()).then(|| end.to_string());
        (StatusCode::OK, json!({ "events": events[start..end], "nextToken": next }))
    }

    fn data(&self, input: &Value) -> (StatusCode, Value) {
        if self.forbidden.is_some() {
            let message = "not authorized to perform: cloudwatch:GetMetricData";
            return (
                StatusCode::BAD_REQUEST,
                json!({ "__type": "com.amazonaws#AccessDenied", "Message": message }),
            );
        }
        let end = input["EndTime"].as_i64().unwrap();
        let results = input["MetricDataQueries"].as_array().unwrap().iter().map(|query| {
            let metric = &query["MetricStat"]["Metric"];
            let dimension = &metric["Dimensions"][0];
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let parts = [
                text(&metric["Namespace"]),
                text(&metric["MetricName"]),
                format!("{}={}", text(&dimension["Name"]), text(&dimension["Value"])),
                text(&query["MetricStat"]["Stat"]),
            ];
            let held = self.metrics.get(&parts.join(" ")).cloned().unwrap_or_default();
            let times: Vec<_> = held.iter().map(|(ago, _)| end - (ago + 1) * 60).collect();
            let values: Vec<_> = held.iter().map(|(_, value)| *value).collect();
            let is_broken = self.broken.is_some_and(|name| metric["MetricName"] == name);
            let status = if is_broken { "InternalError" } else { "Complete" };
            json!({ "Id": query["Id"], "StatusCode": status, "Timestamps": times, "Values": values })
        });
        let results: Vec<_> = results.collect();
        let start: usize = input["NextToken"].as_str().map_or(0, |token| token.parse().unwrap());
        let stop = (start + self.at_once).min(results.len());
        let next = (stop < results.len()).then(|| stop.to_string());
        (StatusCode::OK, json!({ "MetricDataResults": results[start..stop], "NextToken": next }))
    }
}

async fn answer(
    State(held): State<Arc<Held>>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, String) {
    let signature = headers["authorization"].to_str().unwrap();
    assert!(signature.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"), "{signature}");
    assert!(signature.contains("content-type;host;x-amz-date;x-amz-target"), "{signature}");
    let target = headers["x-amz-target"].to_str().unwrap();
    let input: Value = serde_json::from_str(&body).unwrap();
    let operation = target.rsplit('.').next().unwrap().to_owned();
    held.asked.lock().unwrap().push((operation, input.clone()));
    let turn_away = |busy: usize| busy.checked_sub(1);
    if held.busy.fetch_update(SeqCst, SeqCst, turn_away).is_ok() {
        let error = json!({ "__type": "ThrottlingException", "message": "Rate exceeded" });
        return (StatusCode::BAD_REQUEST, error.to_string());
    }
    let (status, body) = match target {
        "Logs_20140328.FilterLogEvents" => held.events(&input),
        "GraniteServiceVersion20100801.GetMetricData" => held.data(&input),
        other => panic!("nothing calls {other}"),
    };
    (status, body.to_string())
}

/// What holds this, served, and a client of it.
pub(super) async fn serve(held: Held) -> (CloudWatch, Arc<Held>, Clock) {
    let held = Arc::new(held);
    let router = Router::new().route("/", post(answer)).with_state(Arc::clone(&held));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let keys = Credentials::new("AKID", "secret", None, None, "test");
    let config = SdkConfig::builder()
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(keys))
        .endpoint_url(endpoint)
        .build();
    let clock = Clock::manual(Timestamp::from_unix_millis(NOW));
    let cloudwatch = CloudWatch::new(&config, "unused", "dev".to_owned(), clock.clone()).unwrap();
    (cloudwatch, held, clock)
}
