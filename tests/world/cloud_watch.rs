//! A CloudWatch in memory: points that a test puts there, by metric and dimension, and `GetMetricData` over them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use period_keeper::CloudWatch;
use serde_json::{Map, Value, json};
use shared::platform::signed::Services;
use shared::platform::values::Timestamp;

use crate::COMMANDS;
use crate::observed::Observed;

/// Series of one answer. There are more, so that answers have pages.
const PAGE: usize = 4;

/// The points of a metric of something: values by unix seconds.
type Points = BTreeMap<i64, f64>;

/// What was measured. Clones have the same.
#[derive(Debug, Clone, Default)]
pub struct Measurements(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    points: BTreeMap<(String, String), Points>,
    refusal: Option<(u16, &'static str)>,
}

#[derive(Debug)]
struct MeasurementsConnector(Measurements);

impl Measurements {
    /// A client of these, for the keeper.
    #[must_use]
    pub fn client(&self) -> CloudWatch {
        let connector = SharedHttpConnector::new(MeasurementsConnector(self.clone()));
        let observed = Observed::of("period-keeper", &connector);
        let queue = format!("arn:aws:sqs:us-east-1:123456789012:{COMMANDS}");
        let services = Services::behind(observed, "key", "us-east-1");
        CloudWatch::new(&services.at(Some("http://monitoring.local".to_owned())), &queue)
    }

    /// Notes what was measured of a table or a queue from an instant on.
    pub fn note(&self, metric: &str, of: &str, at: Timestamp, value: f64) {
        let points = &mut self.0.lock().unwrap().points;
        let points = points.entry((metric.to_owned(), of.to_owned())).or_default();
        points.insert(at.unix_millis() / 1_000, value);
    }

    /// Refuses all calls with a status and an error, or none.
    pub fn refuse(&self, refusal: Option<(u16, &'static str)>) {
        self.0.lock().unwrap().refusal = refusal;
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let inner = self.0.lock().unwrap();
        if let Some((status, error)) = inner.refusal {
            return response(status, &json!({"__type": error, "message": "as told"}));
        }
        let target = request.headers().get("x-amz-target");
        assert_eq!(target, Some("GraniteServiceVersion20100801.GetMetricData"));
        let request: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        let seconds = |name: &str| request[name].as_i64().unwrap();
        let range = seconds("StartTime")..seconds("EndTime");
        let queries = request["MetricDataQueries"].as_array().unwrap();
        let begun = request["NextToken"].as_str().map_or(0, |token| token.parse().unwrap());
        let asked = queries.iter().skip(begun).take(PAGE);
        let results: Vec<_> = asked.map(|query| inner.result(query, &range)).collect();
        let mut answer = Map::from_iter([("MetricDataResults".to_owned(), Value::from(results))]);
        if begun + PAGE < queries.len() {
            answer.insert("NextToken".to_owned(), Value::from((begun + PAGE).to_string()));
        }
        response(200, &Value::Object(answer))
    }
}

impl Inner {
    /// The points of a query within a range, put together by its period.
    fn result(&self, query: &Value, range: &std::ops::Range<i64>) -> Value {
        let statistic = &query["MetricStat"];
        let metric = &statistic["Metric"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let of = (text(&metric["MetricName"]), text(&metric["Dimensions"][0]["Value"]));
        let period = statistic["Period"].as_i64().unwrap();
        assert_eq!(range.start % period, 0, "CloudWatch would move the start");
        let mut values = Points::new();
        for (at, value) in self.points.get(&of).into_iter().flat_map(|of| of.range(range.clone())) {
            let sum = values.entry(at - at.rem_euclid(period)).or_default();
            *sum = if statistic["Stat"] == "Sum" { *sum + value } else { value.max(*sum) };
        }
        json!({
            "Id": query["Id"], "Label": of.0, "StatusCode": "Complete",
            "Timestamps": values.keys().collect::<Vec<_>>(), "Values": values.values().collect::<Vec<_>>(),
        })
    }
}

fn response(status: u16, body: &Value) -> HttpResponse {
    let mut response =
        HttpResponse::new(StatusCode::try_from(status).unwrap(), SdkBody::from(body.to_string()));
    if let Some(error) = body["__type"].as_str() {
        response.headers_mut().insert("x-amzn-errortype", error.to_owned());
    }
    response
}

impl HttpConnector for MeasurementsConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(Ok(self.0.answer(&request)))
    }
}
