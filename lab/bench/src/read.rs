//! `nagare-bench read`: pages of timelines of viewers who follow few or many, through the reader's own
//! code. The tables run in a process of their own, so that the CPU time is the reader's.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, Region};
use clap::Args;
use nagare::Failure;
use nagare::print::print_json;
use nagare_client::local_stack::ACCESS_KEY;
use nagare_client::local_stack::REGION;
use nagare_local::schema;
use serde::Serialize;
use serde_json::{Value, json};
use shared::platform::dynamo::{Dynamo, sdk_config};
use shared::platform::environment::Environment;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::ViewerId;
use timeline_reader::{PATIENCE, Reader};
use tokio::time::Instant;

use super::dataset::{self, many_activities, many_follows};
use super::functions;
use super::on_one_thread;
use super::report::Measurement;

/// Pages read before measuring starts.
const WARM: usize = 50;

#[derive(Debug, Args)]
pub(crate) struct Read {
    /// How many actors each viewer follows.
    #[arg(long, value_delimiter = ',', default_value = "30,300,3000,30000", value_parser = many_follows)]
    follows: Vec<u64>,
    /// How many pages are read of each viewer's timeline.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pages: u32,
    /// How many activities there are, of 50,000 actors over 25 days.
    #[arg(long, default_value_t = 1_000_000, value_parser = many_activities)]
    activities: u64,
    /// Ask for pages compressed with gzip.
    #[arg(long)]
    gzip: bool,
}

/// What the pages of one viewer cost.
#[derive(Debug, Serialize)]
struct ViewerPages {
    follows: u64,
    pages: u32,
    /// User and system time of this process per page.
    cpu_us_per_page: f64,
    /// What a caller waits, including the embedded tables' time.
    p50_ms: f64,
    p99_ms: f64,
    /// The ids on the page, so that other systems can be asked for the same.
    page: Vec<String>,
}

/// The process that serves the tables. It ends with this one.
struct Tables {
    process: Child,
    endpoint: String,
}

impl Read {
    /// Runs on one thread, as in the function.
    pub(super) async fn run(self) -> Result<(), Failure> {
        on_one_thread(|| self.measure()).await
    }

    async fn measure(self) -> Result<(), Failure> {
        let tables = Tables::start(&self.follows, self.activities)?;
        let reader = reader(&tables.endpoint).await?;
        for follows in &self.follows {
            print_json(&self.read(&reader, *follows).await?)?;
        }
        Ok(())
    }

    async fn read(&self, reader: &Reader, follows: u64) -> Result<ViewerPages, Failure> {
        let viewer = dataset::viewer(follows)?;
        let event = request(&viewer, if self.gzip { "gzip" } else { "identity" })?;
        for _ in 0..WARM {
            page(reader, &event).await?;
        }
        let (measurement, mut waited) =
            (Measurement::start()?, Vec::with_capacity(self.pages as usize));
        for _ in 0..self.pages {
            let begun = Instant::now();
            page(reader, &event).await?;
            waited.push(begun.elapsed());
        }
        let cpu = measurement.cpu_seconds()?;
        waited.sort_unstable();
        let percentile =
            |percent: usize| waited[(waited.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        Ok(ViewerPages {
            follows,
            pages: self.pages,
            cpu_us_per_page: cpu / f64::from(self.pages) * 1e6,
            p50_ms: percentile(50),
            p99_ms: percentile(99),
            page: ids(&page(reader, &request(&viewer, "identity")?).await?)?,
        })
    }
}

impl Tables {
    /// Starts the process. Returns when the tables hold everything.
    fn start(follows: &[u64], activities: u64) -> Result<Self, Failure> {
        let follows: Vec<_> = follows.iter().map(u64::to_string).collect();
        let process = Command::new(std::env::current_exe()?)
            .args(["table", "--timelines", &follows.join(",")])
            .args(["--activities", &activities.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut tables = Self { process, endpoint: String::new() };
        let output = tables.process.stdout.take().map(BufReader::new);
        for line in output.into_iter().flat_map(BufReader::lines) {
            let line = line?;
            if let Some(endpoint) = line.strip_prefix("export AWS_ENDPOINT_URL_DYNAMODB=") {
                endpoint.trim_matches('\'').clone_into(&mut tables.endpoint);
            }
            if line.starts_with(super::table::READY) {
                return Ok(tables);
            }
        }
        Err(Failure::Unreachable("the process with the tables ended".to_owned()))
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The reader over this endpoint, otherwise as the function builds it.
pub(super) async fn reader(endpoint: &str) -> Result<Reader, Failure> {
    let config = sdk_config().await;
    let config = aws_sdk_dynamodb::config::Builder::from(&config)
        .endpoint_url(endpoint)
        .region(Region::new(REGION))
        .credentials_provider(Credentials::new(ACCESS_KEY, ACCESS_KEY, None, None, "bench"));
    let environment = Environment {
        variables: functions::variables(schema::names(), []),
        dynamo: Dynamo::new(Client::from_conf(config.build())),
        metrics: Metrics::off(),
        ..Environment::of_process().await
    };
    Reader::from_env(&environment).map_err(|e| Failure::Usage(e.to_string()))
}

/// The request for the newest page of a viewer's timeline, as API Gateway sends it, in
/// this coding.
fn request(viewer: &ViewerId, coding: &str) -> Result<ApiGatewayV2httpRequest, Failure> {
    let parameter = json!({"viewer_id": viewer.as_str()});
    event(&format!("/v1/timelines/{viewer}"), parameter, "limit=20", coding)
}

/// A request as API Gateway sends it.
pub(super) fn event(
    path: &str,
    parameters: Value,
    query: &str,
    coding: &str,
) -> Result<ApiGatewayV2httpRequest, Failure> {
    let event = json!({
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"host": "api.example.com", "accept": "application/json",
            "accept-encoding": coding},
        "pathParameters": parameters,
        "requestContext": {"stage": "$default", "timeEpoch": 0, "http": {
            "method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1",
        }},
    });
    serde_json::from_value(event).map_err(|e| Failure::Usage(e.to_string()))
}

pub(super) async fn page(
    reader: &Reader,
    event: &ApiGatewayV2httpRequest,
) -> Result<ApiGatewayV2httpResponse, Failure> {
    let answer = reader.handle(event, Deadline::after(PATIENCE)).await;
    match answer.status_code {
        200 => Ok(answer),
        status => Err(Failure::Unreachable(format!("the reader answered {status}"))),
    }
}

/// The ids of the activities on a page.
fn ids(answer: &ApiGatewayV2httpResponse) -> Result<Vec<String>, Failure> {
    let answer = serde_json::to_value(answer)?;
    let body: Value = serde_json::from_str(answer["body"].as_str().unwrap_or(""))?;
    let ids = body["items"].as_array().into_iter().flatten();
    Ok(ids.filter_map(|item| item["activity_id"].as_str().map(str::to_owned)).collect())
}
