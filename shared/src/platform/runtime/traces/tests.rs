use aws_smithy_runtime_api::client::http::HttpConnectorFuture;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::http::StatusCode;
use parking_lot::Mutex;
use tracing::{info, warn};
use tracing_subscriber::layer::SubscriberExt;

use super::*;

const ROOT: &str = "1-5759e988-bd862e3fe1be46a994272793";
const TRACE: &str = "5759e988bd862e3fe1be46a994272793";

/// A collector that keeps what it is sent, and answers with a status.
#[derive(Debug, Clone, Default)]
struct Kept {
    sent: Arc<Mutex<Vec<(String, Value)>>>,
    refuses: bool,
}

impl HttpConnector for Kept {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().expect("a body in memory");
        let body = serde_json::from_slice(body).expect("JSON");
        let url = request.uri().to_owned();
        self.sent.lock().push((url, body));
        let status = StatusCode::try_from(if self.refuses { 503 } else { 200 });
        HttpConnectorFuture::ready(
            status.map(|status| HttpResponse::new(status, SdkBody::empty())).map_err(|e| {
                aws_smithy_runtime_api::client::result::ConnectorError::other(e.into(), None)
            }),
        )
    }
}

impl Kept {
    fn traces(&self, share: &str) -> Traces {
        let share = share.parse().unwrap_or(TracedShare::ALL);
        let clock = Clock::manual(Timestamp::from_unix_millis(1_795_176_000_000));
        let connector = SharedHttpConnector::new(self.clone());
        Traces::to(connector, "http://collector:4318/", "reader".to_owned(), share, clock)
    }

    fn spans(&self) -> Vec<Value> {
        let sent = self.sent.lock();
        let of =
            |body: &Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned();
        sent.iter().flat_map(|(_, body)| of(body).unwrap_or_default()).collect()
    }
}

fn invocation() -> Invocation {
    Invocation::new("id-1", Some(&format!("Root={ROOT};Parent=557abcec3ee5a047;Sampled=0")))
}

async fn work() -> u8 {
    info!(activity_id = "live-1", entries = 3, duration_ms = 20.0, "applied");
    tokio::task::yield_now().await;
    warn!("half of it is missing");
    7
}

#[tokio::test]
async fn an_invocation_and_its_lines_are_one_trace() {
    let collector = Kept::default();
    let _lines = tracing::subscriber::set_default(tracing_subscriber::registry().with(TracedLines));
    assert_eq!(collector.traces("1").within(invocation(), work()).await, 7);
    let spans = collector.spans();
    let [root, line] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!(
        (&root["traceId"], &root["parentSpanId"]),
        (&json!(TRACE), &json!("557abcec3ee5a047"))
    );
    assert_eq!((&root["name"], &root["status"]), (&json!("reader"), &json!({"code": 2})));
    assert_eq!(root["events"][0]["name"], "half of it is missing");
    assert_eq!(root["startTimeUnixNano"], "1795176000000000000");
    assert_eq!((&line["traceId"], &line["parentSpanId"]), (&root["traceId"], &root["spanId"]));
    assert_eq!((&line["name"], &line["status"]), (&json!("applied"), &json!({})));
    let expected = json!([
        {"key": "activity_id", "value": {"stringValue": "live-1"}},
        {"key": "entries", "value": {"intValue": "3"}},
    ]);
    assert_eq!(line["attributes"], expected);
    let nanos = |name: &str| line[name].as_str().and_then(|text| text.parse::<i128>().ok());
    let took = nanos("endTimeUnixNano").zip(nanos("startTimeUnixNano"));
    assert_eq!(took.map(|(end, start)| end - start), Some(20_000_000));
    assert_eq!(collector.sent.lock()[0].0, "http://collector:4318/v1/traces");
}

#[tokio::test]
async fn what_no_collector_takes_changes_no_answer() {
    let collector = Kept { refuses: true, ..Kept::default() };
    assert_eq!(collector.traces("1").within(invocation(), async { 7 }).await, 7);
    assert_eq!(collector.spans().len(), 1);
    assert_eq!(Traces::default().within(invocation(), async { 8 }).await, 8);
}

#[tokio::test]
async fn an_invocation_without_a_trace_has_one_of_its_own() {
    let collector = Kept::default();
    collector.traces("1").within(Invocation::new("id-1", None), async {}).await;
    let spans = collector.spans();
    assert_eq!(spans[0]["traceId"].as_str().map(str::len), Some(32));
    assert_eq!(spans[0]["parentSpanId"], Value::Null);
}

#[tokio::test]
async fn a_share_of_the_invocations_is_traced() {
    let collector = Kept::default();
    for n in 0..400_u64 {
        let id = format!("Root=1-5759e988-{:024x}", u128::from(n) << 49);
        let invocation = Invocation::new("id-1", Some(&id));
        collector.traces("0.25").within(invocation, async {}).await;
    }
    // The 400 ids are spread evenly over 128 values, from 0 on.
    assert_eq!(collector.spans().len(), 32 * 3 + 16);
    for text in ["-0.1", "1.1", "NaN", "", "all"] {
        assert_eq!(text.parse::<TracedShare>(), Err(ShareError), "{text}");
    }
}

#[tokio::test]
async fn a_trace_is_bounded() {
    let collector = Kept::default();
    let _lines = tracing::subscriber::set_default(tracing_subscriber::registry().with(TracedLines));
    let many = async { (0..1_000).for_each(|n| info!(n, duration_ms = 1.0, "line")) };
    collector.traces("1").within(invocation(), many).await;
    assert_eq!(collector.spans().len(), 1 + MOST_LINES);
}
