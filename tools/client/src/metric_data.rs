//! CloudWatch's values of the last minutes, by signed calls of `GetMetricData`. CloudWatch's SDK would take two minutes of the processor to compile.

use std::collections::BTreeMap;

use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry::Backoff;

use crate::call_timeout::{call_timeout, unanswered};
use crate::failure::Failure;
use crate::proxy;
use crate::remote::Remote;
use crate::signer::Signer;

/// CloudWatch, as signatures and addresses name it.
const SERVICE: &str = "monitoring";
const TARGET: &str = "GraniteServiceVersion20100801.GetMetricData";
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";
const SECONDS_OF_A_MINUTE: i64 = 60;

/// A metric, with the statistic of each minute.
#[derive(Debug, Clone, Copy)]
pub struct Metric<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    /// The name and the value of its one dimension.
    pub dimension: (&'a str, &'a str),
    /// Such as `Sum` or `Maximum`.
    pub statistic: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    metric_data_results: Vec<MetricDataResult>,
    next_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MetricDataResult {
    id: String,
    status_code: Option<String>,
    values: Vec<f64>,
}

/// The values of the last whole minutes of each metric, the latest first. A minute in which nothing was counted has none, and CloudWatch has
/// a minute about two minutes later.
///
/// # Errors
/// [`Failure`] if CloudWatch does not answer, or not all of it.
pub async fn of_last_minutes(
    remote: &Remote,
    domain: &str,
    metrics: &[Metric<'_>],
    minutes: i64,
) -> Result<Vec<Vec<f64>>, Failure> {
    let none = || Failure::Usage("the environment names no account".to_owned());
    let config = remote.config().ok_or_else(none)?;
    let wrong = |e: &dyn std::fmt::Display| Failure::Usage(format!("CloudWatch: {e}"));
    let endpoint = config.endpoint_url().map(str::to_owned);
    let url = endpoint.unwrap_or_else(|| format!("https://{SERVICE}.{domain}"));
    let url = Url::parse(&url).map_err(|e| wrong(&e))?;
    let signer = Signer::new(config, SERVICE).map_err(|e| wrong(&e))?;
    let now = Clock::system().now().unix_millis() / 1_000;
    let until = now.div_euclid(SECONDS_OF_A_MINUTE) * SECONDS_OF_A_MINUTE;
    let queries: Vec<_> = metrics.iter().enumerate().map(|(n, metric)| metric.query(n)).collect();
    let input = json!({
        "StartTime": until - minutes * SECONDS_OF_A_MINUTE, "EndTime": until, "MetricDataQueries": queries,
    });
    let client = proxy::http_client()?;
    let deadline = Deadline::after(call_timeout());
    let mut backoff = Backoff::default();
    let output: Output = loop {
        match once(&client, &url, &signer, &input).await {
            Err(error @ Failure::Unreachable(_)) => {
                backoff.wait(deadline).await.map_err(|_| error)?;
            }
            settled => break settled?,
        }
    };
    // A missing value would look like a minute without any event.
    let is_whole =
        |found: &MetricDataResult| matches!(found.status_code.as_deref(), None | Some("Complete"));
    if output.next_token.is_some() || !output.metric_data_results.iter().all(is_whole) {
        return Err(Failure::Unreachable("CloudWatch does not answer all of it".to_owned()));
    }
    let found = output.metric_data_results.into_iter().map(|it| (it.id, it.values));
    let mut found: BTreeMap<_, _> = found.collect();
    Ok((0..metrics.len()).map(|n| found.remove(&id(n)).unwrap_or_default()).collect())
}

fn id(n: usize) -> String {
    format!("m{n}")
}

impl Metric<'_> {
    fn query(&self, n: usize) -> Value {
        let (dimension, value) = self.dimension;
        json!({
            "Id": id(n),
            "MetricStat": {
                "Metric": {
                    "Namespace": self.namespace, "MetricName": self.name, "Dimensions": [{"Name": dimension, "Value": value}],
                },
                "Period": SECONDS_OF_A_MINUTE, "Stat": self.statistic,
            },
        })
    }
}

async fn once(
    client: &reqwest::Client,
    url: &Url,
    signer: &Signer,
    input: &Value,
) -> Result<Output, Failure> {
    let body = input.to_string().into_bytes();
    let headers = [("content-type", CONTENT_TYPE), ("x-amz-target", TARGET)];
    let now = Clock::system().now();
    let signature = signer.headers("POST", url, &headers, &body, now).await;
    let signature = signature.map_err(|e| Failure::Usage(format!("CloudWatch: {e}")))?;
    let request = client.post(url.clone()).headers(signature).body(body);
    let request =
        headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let silent = |e| Failure::Unreachable(format!("CloudWatch: {}", unanswered(e)));
    let answer = request.send().await.map_err(silent)?;
    let status = answer.status();
    let body = answer.bytes().await.map_err(silent)?;
    if status.is_success() {
        let unreadable = |e| Failure::Unreachable(format!("CloudWatch: unexpected answer: {e}"));
        return serde_json::from_slice(&body).map_err(unreadable);
    }
    let said: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let code = said["__type"].as_str().unwrap_or_default().rsplit('#').next().unwrap_or_default();
    let message =
        said["message"].as_str().or(said["Message"].as_str()).unwrap_or("no reason given");
    let is_busy = status.is_server_error()
        || status == StatusCode::TOO_MANY_REQUESTS
        || code.starts_with("Throttling")
        || code == "LimitExceededException";
    let text = format!("CloudWatch: {status}: {code}: {message}");
    Err(if is_busy { Failure::Unreachable(text) } else { Failure::No(text) })
}
