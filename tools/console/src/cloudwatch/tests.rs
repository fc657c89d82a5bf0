//! What a console shows of a CloudWatch whose holdings are known.

mod fake;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use axum::http::StatusCode;
use fastrand::Rng;
use nagare_telemetry::journal::{FUNCTIONS, Filter};
use serde_json::{Value, json};
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;

use super::CallError;
use crate::tests::{Fixture, HTML, Page, account};
use fake::{Held, serve};

/// 2026-11-24T08:00:30Z
const NOW: i64 = 1_795_507_230_000;
const MINUTE: i64 = 60_000;

/// A line as functions log it.
fn line(message: &str, fields: &Value) -> String {
    let mut line = json!({ "timestamp": "2026-11-24T08:00:00.123456Z", "level": "INFO", "message": message, "target": "fanout_writer::log", "spans": [] });
    let members = fields.as_object().unwrap().clone();
    line.as_object_mut().unwrap().extend(members);
    line.to_string()
}

fn applied(message_id: &str, activity_id: &str) -> String {
    line(
        "applied",
        &json!({ "message_id": message_id, "activity_id": activity_id, "duration_ms": 1.234_56 }),
    )
}

const METRICS: &str = r#"{"_aws":{"Timestamp":1},"CommandsApplied":1,"Stage":"dev"}"#;

/// Page after page, every line that fits is shown once, the newest first, however CloudWatch cuts its answers.
#[tokio::test]
async fn pages_have_every_line_once() {
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let mut held = Held { at_once: rng.usize(3..8), ..Held::new() };
        // In some groups hardly any line fits, and some have several in each millisecond.
        let fitting = FUNCTIONS.map(|_| *rng.choice(&[2, 50, 100]).unwrap());
        let span = *rng.choice(&[30, 60, 400]).unwrap();
        let enough = rng.usize(1..30);
        let mut expected = Vec::new();
        for n in 0..rng.usize(0..400) {
            let at = NOW - rng.i64(0..span);
            let group = rng.usize(0..FUNCTIONS.len());
            let fits = rng.u32(0..100) < fitting[group];
            let person = if fits { "bob" } else { "eve" };
            let text =
                line("applied", &json!({ "message_id": n.to_string(), "viewer_id": person }));
            let is_metrics = rng.u8(0..5) == 0;
            held.say(FUNCTIONS[group], at, if is_metrics { METRICS.to_owned() } else { text });
            if fits && !is_metrics {
                expected.push((at, n.to_string()));
            }
        }
        let since = NOW - rng.i64(0..span + 100);
        expected.retain(|(at, _)| *at >= since);
        expected.sort();
        let (cloudwatch, _, _) = serve(held).await;
        let bobs = Filter { person: Some("bob".to_owned()), ..Filter::default() };
        let (mut shown, mut until) = (Vec::new(), NOW);
        while until >= since {
            let page = cloudwatch.newest(&bobs, (since, until), enough).await;
            assert!(page.unread.is_empty(), "seed {seed}: {:?}", page.unread);
            assert!(page.known_from <= until, "seed {seed}: no way on from {until}");
            let times: Vec<_> = page.lines.iter().map(|line| line.at).collect();
            assert!(times.is_sorted_by(|a, b| a >= b), "seed {seed}");
            let ids = page.lines.iter().map(|line| line.field("message_id").unwrap().to_owned());
            shown.extend(page.lines.iter().map(|line| line.at.unix_millis()).zip(ids));
            until = page.known_from - 1;
        }
        shown.sort();
        assert_eq!(shown, expected, "seed {seed}");
    }
}

#[tokio::test]
async fn a_busy_service_is_asked_again_and_the_oldest_first_is_no_answer() {
    let mut held = Held { turns: false, busy: AtomicUsize::new(3), ..Held::new() };
    (0..5).for_each(|n| held.say("projector", NOW - n, applied(&n.to_string(), "live-1")));
    let (cloudwatch, served, _) = serve(held).await;
    let page = cloudwatch.newest(&Filter::default(), (NOW - 10, NOW), 3).await;
    let ids: Vec<_> = page.lines.iter().map(|line| line.field("message_id").unwrap()).collect();
    assert_eq!((ids, page.is_cut), (vec!["0", "1", "2"], false), "{:?}", page.unread);
    assert_eq!(served.times_asked("FilterLogEvents"), FUNCTIONS.len() + 3);

    let mut held = Held { turns: false, at_once: 4, ..Held::new() };
    (0..5).for_each(|n| held.say("projector", NOW - n, applied(&n.to_string(), "live-1")));
    let page = serve(held).await.0.newest(&Filter::default(), (NOW - 10, NOW), 3).await;
    assert!(matches!(&*page.unread, [("projector", CallError::OldestFirst)]), "{:?}", page.unread);
}

impl Fixture {
    /// A console of an account whose CloudWatch holds this.
    async fn with_cloudwatch(held: Held) -> (Self, Arc<Held>, Clock) {
        let (cloudwatch, held, clock) = serve(held).await;
        (Self::reading(account(), cloudwatch).await, held, clock)
    }

    async fn shows(&self, path: &str) -> String {
        let Page { status, text, .. } = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        assert!(!text.contains(HTML), "{path}: {text}");
        text
    }
}

/// A page without its form, which names all outcomes.
fn lines_of(page: &str) -> &str {
    page.split_once("<section").unwrap().1
}

#[tokio::test]
async fn the_log_is_read_with_its_filters_and_goes_on_by_itself() {
    let mut held = Held::new();
    held.say("fanout_writer", NOW - 3_000, applied("m-1", "live-1"));
    held.say(
        "fanout_writer",
        NOW - 2_000,
        line(&format!("refused: {HTML}"), &json!({ "message_id": "m-2", "level": "WARN" })),
    );
    held.say(
        "dlq_alerter",
        NOW - 1_500,
        line("dead letter", &json!({ "message_id": "m-2", "dead_letter": "m-2" })),
    );
    held.say("fanout_writer", NOW - 1_000, METRICS);
    held.say("projector", NOW - 500, line("set aside", &json!({ "view": "activity#live-1" })));
    held.say(
        "timeline_reader",
        NOW - 400,
        r#"{"time":"2026","type":"platform.report","record":{"status":"timeout"}}"#,
    );
    held.say("timeline_reader", NOW - 90 * MINUTE, applied("m-0", "live-0"));
    let (console, held, _) = Fixture::with_cloudwatch(held).await;

    let all = console.shows("/console/log").await;
    let lines = lines_of(&all);
    let found = ["platform.report", "set aside", "dead letter", "refused", "applied"]
        .map(|text| lines.find(text));
    assert!(found.is_sorted() && found[0].is_some(), "{found:?}: {lines}");
    assert!(all.contains("duration_ms=</span>1.235") && !all.contains("CommandsApplied"), "{all}");
    assert!(!all.contains("live-0") && all.contains("All lines of an hour"), "{all}");
    assert!(console.shows("/console/log?within=a+day").await.contains("live-0"));
    let older = format!("before={}", NOW - 60 * MINUTE);
    assert!(all.contains(&older), "{all}");
    assert!(console.shows(&format!("/console/log?{older}")).await.contains("live-0"));

    let about = console.shows("/console/log?about=live-1").await;
    assert!(
        about.contains("m-1") && about.contains("set aside") && !about.contains("m-2"),
        "{about}"
    );
    let warnings = console.shows("/console/log?level=WARN").await;
    let warnings = lines_of(&warnings);
    assert!(
        warnings.contains("refused") && warnings.contains("timeout") && !warnings.contains("m-1")
    );
    let one = console.shows("/console/log?function=dlq_alerter").await;
    let one = lines_of(&one);
    assert!(one.contains("dead letter") && !one.contains("refused"), "{one}");
    let patterns: Vec<_> = held
        .asked
        .lock()
        .unwrap()
        .iter()
        .map(|(_, input)| input["filterPattern"].clone())
        .collect();
    assert!(patterns.iter().any(|pattern| {
        pattern.as_str().is_some_and(|text| text.contains(r#"$.activity_id = "live-1""#))
    }));

    let story = console.shows("/console/log/m-2").await;
    assert!(story.find("refused") < story.find("dead letter"), "{story}");

    let again = all.split_once("hx-get=\"/console/log-lines").unwrap().1.split_once('"').unwrap().0;
    assert!(all.contains("every 10s") && again.contains("seen="), "{again}");
    let again = format!("/console/log-lines{again}");
    assert_eq!(console.get(&again).await.status, StatusCode::NO_CONTENT);
    assert!(
        console.shows("/console/log-lines?seen=other").await.starts_with("<section id=\"lines\"")
    );
    assert!(!console.shows("/console/log?paused=true").await.contains("log-lines"));
    console.stack.shut_down().await;
}

#[tokio::test]
async fn what_is_not_permitted_says_so_and_the_rest_stands() {
    let mut held = Held::new();
    held.say("fanout_writer", NOW, applied("m-1", "live-1"));
    held.forbidden = Some("/aws/lambda/nagare-dev-projector".to_owned());
    let (console, _, _) = Fixture::with_cloudwatch(held).await;
    let page = console.shows("/console/log").await;
    assert!(page.contains("The lines of projector: not permitted: User:"), "{page}");
    assert!(page.contains("logs:FilterLogEvents") && page.contains("m-1"), "{page}");
    for path in ["/console/numbers", "/console/numbers-now"] {
        let page = console.shows(path).await;
        assert!(
            page.contains("not permitted: not authorized to perform: cloudwatch:GetMetricData"),
            "{page}"
        );
    }
    console.stack.shut_down().await;
}

#[tokio::test]
async fn numbers_are_read_once_a_minute_and_plotted() {
    let mut held = Held { at_once: 7, ..Held::new() };
    held.count("Nagare CommandsApplied Stage=dev Sum", &[(0, 120.0), (1, 60.0), (59, 6.0)]);
    held.count("Nagare CommandsRefused Stage=dev Sum", &[(0, 60.0)]);
    held.count("Nagare EntriesWritten Stage=dev Sum", &[(0, 600.0)]);
    held.count("Nagare EntriesRepeated Stage=dev Sum", &[(0, 6.0)]);
    held.count("Nagare PageLatency Stage=dev SampleCount", &[(3, 2_000_000.0)]);
    held.count("Nagare PageLatency Stage=dev p50", &[(3, 4.0), (4, 7.0)]);
    held.count("Nagare PageLatency Stage=dev p99", &[(3, 9.5)]);
    let (console, held, clock) = Fixture::with_cloudwatch(held).await;
    let page = console.shows("/console/numbers").await;
    for says in [
        "Commands, a second, over the last hour. In the last minute: Commands 3.00. At most 3.00.",
        "Page, inside the reader, ms, over the last hour. In the last minute: median none, p99 none. At most 9.50.",
        "viewBox=\"0 0 59 40\"",
        "2026-11-24T07:59:00",
        "1.010",
        "<th scope=\"row\">API Gateway</th><td>requests</td><td data-label=\"Number\">2000000</td><td data-label=\"US dollars\">2.000000</td>",
        "A month of hours like the last",
        "<th scope=\"row\">5 to 0</th><td>7.00</td><td>9.50</td>",
    ] {
        assert!(page.contains(says), "{says}: {page}");
    }
    assert!(!page.contains("Since the start"), "{page}");
    // Functions have 21 metrics here, five tables two each, seven in an answer.
    let answers = held.times_asked("GetMetricData");
    assert_eq!(answers, 5, "{answers}");
    assert!(console.shows("/console/numbers-now").await.starts_with("<div id=\"numbers\""));
    assert_eq!(held.times_asked("GetMetricData"), answers, "what was read a moment ago is kept");
    clock.set(Timestamp::from_unix_millis(NOW + MINUTE));
    console.shows("/console/numbers-now").await;
    assert_eq!(held.times_asked("GetMetricData"), 2 * answers);
    console.stack.shut_down().await;
}

/// A metric that is not known is not one of which there was nothing.
#[tokio::test]
async fn a_metric_that_cannot_be_had_is_no_zero() {
    let held = Held { broken: Some("DeadLetters"), ..Held::new() };
    let (console, _, _) = Fixture::with_cloudwatch(held).await;
    let page = console.shows("/console/numbers").await;
    assert!(page.contains("DeadLetters: InternalError"), "{page}");
    assert!(!page.contains("over the last hour"), "{page}");
    console.stack.shut_down().await;
}
