//! What `template.yaml` has to agree with, as the code has it. It goes to `target/observed/constants.json`, which
//! `tests/template` reads.

use std::collections::BTreeSet;
use std::fs;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_gateway::cors;
use nagare_local::faults::Faulty;
use nagare_local::{self as local, event_source, schema, stream_dead_letter, stream_source};
use nagare_operator::cost::bill::DEPLOYED;
use serde_json::{Value, json};
use shared::history::events::{EventSettings, capacity};
use shared::platform::projection::redriven;
use shared::platform::runtime::{env, metrics};
use tests::{NOW, World, api_event, follow, observed, publish, soon};

use crate::platform::redaction::logs;

#[tokio::test(start_paused = true)]
async fn what_the_template_has_to_agree_with_is_written_down() {
    let found = json!({
        "functions": functions().await,
        "api": api(),
        "tables": tables(),
        "local": local_stack(),
        "events": events(),
        "table_of_events": table_of_events().await,
        "retention_days": {
            "default": shared::platform::values::DEFAULT_RETENTION_DAYS,
            "least": env::DAYS.start(),
            "most": env::DAYS.end(),
        },
        "command_line": nagare_client::target::stack_variables(),
        "least_secret": shared::platform::crypto::seal::MIN_SECRET_LENGTH,
        "max_receives": shared::platform::dead_letters::MAX_RECEIVES,
        "marks_kept_seconds": shared::platform::projection::KEPT.as_secs(),
        "idle_days": {
            "least": shared::social::follows::idle_viewers::DAYS.start(),
            "most": shared::social::follows::idle_viewers::DAYS.end(),
        },
        "by_follower": shared::platform::ledger::BY_FOLLOWER,
        "forget_at": shared::platform::ledger::FORGET_AT,
        "bus_source": shared::platform::outbound::SOURCE,
        "metrics": {"namespace": metrics::NAMESPACE, "stage": metrics::STAGE},
        "bill": DEPLOYED,
    });
    let directory = observed::directory();
    fs::create_dir_all(&directory).unwrap();
    let text = serde_json::to_string_pretty(&found).unwrap();
    fs::write(directory.join("constants.json"), text).unwrap();
}

/// What each function reads of its environment, counts and logs, and how long the API's wait.
async fn functions() -> Value {
    let optional = [env::ONLY_SHARD];
    let of = |variables: Vec<&'static str>, counted: metrics::MetricNames| {
        let texts = counted.by.into_iter().all(|by| counted.texts.iter().any(|text| text == by));
        assert!(texts, "{counted:?}");
        let (optional, required): (Vec<_>, Vec<_>) =
            variables.into_iter().partition(|name| optional.contains(name));
        json!({"variables": required, "optional": optional, "counts": counted})
    };
    let shard = json!({"shardId": "shardId-1", "Records": []});
    let batch: ::function_stream::StreamEvent = serde_json::from_value(shard).unwrap();
    let mut found = json!({
        "DlqAlerter": of(dlq_alerter::env::all(), dlq_alerter::metric_names()),
        "EventIntake": of(event_intake::env::all(), event_intake::metric_names()),
        "FanoutWriter": of(fanout_writer::env::all(), fanout_writer::metric_names()),
        "PeriodKeeper": of(period_keeper::env::all(), period_keeper::metric_names()),
        "HistoryProjector": of(history_projector::env::all(), history_projector::metric_names()),
        "Projector": of(projector::env::all(), ::function_stream::metric_names()),
        "HistoryReader": of(history_reader::env::all(), ::function_http::reader::metric_names()),
        "TimelineReader": of(timeline_reader::env::all(), ::function_http::reader::metric_names()),
    });
    found["EventIntake"]["patience_seconds"] = event_intake::PATIENCE.as_secs().into();
    found["TimelineReader"]["patience_seconds"] = timeline_reader::PATIENCE.as_secs().into();
    found["HistoryReader"]["patience_seconds"] = history_reader::PATIENCE.as_secs().into();
    found["HistoryProjector"]["brought_back"] = redriven::PREFIX.into();
    found["Projector"]["is_told_of_the_shard"] = batch.shard_id.is_some().into();
    found["FanoutWriter"]["logs"] = json!(logged_by_writer().await);
    found["TimelineReader"]["logs"] = json!(logged_by_reader("/v1/timelines/bob").await);
    found["HistoryReader"]["logs"] = json!(logged_by_reader("/v1/tenants/acme/customers").await);
    found
}

fn api() -> Value {
    let posted = event_intake::ROUTES.iter().map(|path| format!("POST {path}"));
    let read = [timeline_reader::ROUTES, history_reader::ROUTES].concat();
    let read = read.iter().map(|path| format!("GET {path}"));
    json!({
        "routes": read.chain(posted).collect::<Vec<_>>(),
        "problems": ::function_http::problem::KINDS.iter().map(|(_, name, _)| name).collect::<BTreeSet<_>>(),
        "preflight": ::function_http::preflight::ROUTES,
        "modes": ::function_http::Authorization::MODES.map(|(name, _)| name),
        "viewer_claim": ::function_http::Claims::default().viewer(),
        "tenant_claim": ::function_http::Claims::default().tenant(),
        "cors": {
            "AllowMethods": list(cors::METHODS),
            "AllowHeaders": list(cors::HEADERS),
            "ExposeHeaders": list(cors::EXPOSED),
            "MaxAge": cors::SECONDS.parse::<u32>().unwrap(),
        },
    })
}

fn list(text: &str) -> Vec<&str> {
    text.split(',').collect()
}

/// Each table as CreateTable takes it, and the attribute by which its items expire.
fn tables() -> Value {
    let names = schema::names();
    let fields = [
        ("timelines", names.timelines),
        ("ledger", names.ledger),
        ("facts", names.facts),
        ("views", names.views),
        ("dead_letters", names.dead_letters),
    ];
    let mut found = json!({});
    for definition in schema::definitions() {
        let (field, name) =
            fields.iter().find(|(_, name)| definition["TableName"] == **name).unwrap();
        let expiry = schema::expiries().into_iter().find(|(table, ..)| table == name);
        found[field] = json!({"definition": definition, "expiry": expiry.map(|(_, by, _)| by)});
    }
    found
}

fn local_stack() -> Value {
    json!({
        "function_timeout_seconds": local::FUNCTION_TIMEOUT.as_secs(),
        "visibility_seconds": local::TEMPLATE_VISIBILITY.as_secs(),
        "dead_letter_retention_seconds": local::DEAD_LETTER_RETENTION.as_secs(),
        "messages_in_a_batch": event_source::BATCH,
        "changes_in_a_batch": stream_source::BATCH,
        "change_age_seconds": stream_dead_letter::RECORD_AGE.as_secs(),
        "change_retries": stream_dead_letter::RETRIES,
    })
}

/// How events are kept where nothing is set, and which days each variable takes.
fn events() -> Value {
    let default = EventSettings::default();
    let of = |variable: &'static str, default: u32| {
        let takes = |days: u32| {
            let value = |name| (name == variable).then(|| days.to_string());
            EventSettings::of_variables(value).is_ok()
        };
        let least = (0..).find(|days| takes(*days)).unwrap();
        let most = (least..).find(|days| !takes(days + 1)).unwrap();
        json!({"default": default, "least": least, "most": most})
    };
    let billing = ["on-demand", "provisioned"];
    assert!(billing.iter().all(|text| text.parse::<capacity::Billing>().is_ok()));
    json!({
        "prefix": shared::history::events::archive::PREFIX,
        "billing": billing,
        "behind_seconds": capacity::BEHIND.as_secs(),
        "EventLatenessDays": of(env::EVENT_LATENESS_DAYS, default.lateness_days),
        "EventDays": of(env::EVENT_DAYS, default.days),
        "EventArchiveDays": of(env::EVENT_ARCHIVE_DAYS, default.archive_days),
    })
}

/// A table that the keeper has made, as DescribeTable shows it.
async fn table_of_events() -> Value {
    let world = World::new();
    while world.keeper.tick(soon()).await.unwrap().more_due {}
    let made = format!("{}2026-11", schema::EVENTS_PREFIX);
    let (status, found) =
        world.engine.call("DescribeTable", json!({"TableName": made}).to_string().as_bytes());
    assert_eq!(status, 200, "{found}");
    serde_json::from_str::<Value>(&found).unwrap()["Table"].take()
}

/// What lines say of commands, of one that is refused too.
async fn logged_by_writer() -> BTreeSet<String> {
    let world = World::new();
    let (logs, _guard) = logs();
    let commands = [follow("bob", "anna", NOW), publish("anna", "live-1", NOW)];
    world.done(&commands).await;
    world.write(&["not json"], 1).await;
    members(&logs.lines())
}

/// What lines say of requests: of one that is answered, of one that is not understood and of one that cannot be read.
async fn logged_by_reader(path: &str) -> BTreeSet<String> {
    let faults = "errors=100%".parse().unwrap();
    let broken = World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    let (logs, _guard) = logs();
    for (world, query) in [(&World::new(), ""), (&World::new(), "limit=0"), (&broken, "")] {
        let event = api_event("GET", path, query, None);
        let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
        world.respond(&event, soon()).await;
    }
    members(&logs.lines())
}

fn members(lines: &[Value]) -> BTreeSet<String> {
    lines.iter().flat_map(|line| line.as_object().unwrap().keys().cloned()).collect()
}
