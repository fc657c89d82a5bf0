//! Which requests have a log line.

use std::time::Duration;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use function_http::LogSampling;
use nagare_local::faults::Faulty;
use serde_json::Value;
use tests::{World, api_event, soon};

use crate::platform::redaction::logs;

/// Has a request with this id answered.
async fn ask(world: &World, id: &str, query: &str) {
    let mut event = api_event("GET", "/v1/timelines/bob", query, None);
    event["requestContext"]["requestId"] = id.into();
    let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
    world.respond(&event, soon()).await;
}

/// The lines of N requests that are asked of a world which logs one in a hundred.
async fn lines(mut world: World, requests: usize, query: &str) -> Vec<Value> {
    world.reader.requests.log_sampling = "100".parse().unwrap();
    let (logs, _guard) = logs();
    for n in 0..requests {
        ask(&world, &format!("Request{n}="), query).await;
    }
    // What the tables have to say is logged, too.
    logs.lines().into_iter().filter(|line| !line["status"].is_null()).collect()
}

#[tokio::test]
async fn of_what_went_well_one_in_a_hundred_is_logged_and_says_so() {
    let found = lines(World::new(), 3_000, "").await;
    assert!((10..=90).contains(&found.len()), "{}", found.len());
    assert!(found.iter().all(|line| line["sampled"] == 100 && line["status"] == 200));
    // Whoever is asked: the id decides.
    let ids =
        |lines: &[Value]| lines.iter().map(|line| line["request_id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&lines(World::new(), 3_000, "").await), ids(&found));
}

#[tokio::test]
async fn every_problem_is_logged() {
    let found = lines(World::new(), 50, "limit=0").await;
    assert_eq!(found.len(), 50);
    assert!(found.iter().all(|line| line["sampled"] == 1 && line["status"] == 400));
}

#[tokio::test(start_paused = true)]
async fn every_page_with_repeated_calls_is_logged() {
    let faults = "errors=30%".parse().unwrap();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    let found = lines(world, 60, "").await;
    // A page that is not read after all is a problem, which says how often that was tried, too.
    let repeated = found.iter().filter(|line| line["status"] != 200 || line["retries"] != 0);
    assert!(repeated.clone().count() > 5, "{found:#?}");
    assert!(repeated.clone().all(|line| line["sampled"] == 1));
    assert_eq!(found.iter().filter(|line| line["sampled"] == 1).count(), repeated.count());
}

/// Tables that take more than a second.
#[derive(Debug)]
struct Slow(SharedHttpConnector);

impl HttpConnector for Slow {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let inside = self.0.clone();
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            inside.call(request).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn every_slow_page_is_logged() {
    let world = World::behind(|inside| SharedHttpConnector::new(Slow(inside)));
    let found = lines(world, 20, "").await;
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|line| line["sampled"] == 1 && line["status"] == 200));
}

#[tokio::test]
async fn a_local_stack_logs_every_request() {
    let world = World::new();
    assert_eq!(world.reader.requests.log_sampling, LogSampling::ALL);
    let (logs, _guard) = logs();
    for n in 0..50 {
        ask(&world, &n.to_string(), "").await;
    }
    assert_eq!(logs.lines().len(), 50);
    assert!(["0", "-1", "", "many"].iter().all(|text| text.parse::<LogSampling>().is_err()));
}
