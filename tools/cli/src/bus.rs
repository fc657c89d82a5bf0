//! `nagare bus`: what a local stack has sent to its event bus.

use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use nagare_client::call_timeout::unanswered;
use nagare_client::target::Target;
use nagare_client::{loopback, proxy};
use nagare_local::bus::BusEvents;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use shared::platform::outbound::TYPES;
use shared::platform::runtime::env;
use tokio::time::Instant;

use super::Failure;
use super::print::{print_json, printable, say, tell};

/// How often it is looked for new events.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long a stack that does not answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(super) struct Bus {
    /// Go on with what comes, until Ctrl-C.
    #[arg(long)]
    follow: bool,
    /// Print each event as a rule hands it to its target, in JSON on one line.
    #[arg(long)]
    json: bool,
    /// Only events of this type.
    #[arg(long = "type", value_name = "TYPE", value_parser = PossibleValuesParser::new(TYPES))]
    kind: Option<String>,
}

/// An event, as far as it is looked at.
#[derive(Deserialize)]
struct BusEvent {
    #[serde(rename = "detail-type")]
    kind: String,
    detail: Map<String, Value>,
}

impl Bus {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let url = Target::find()?.optional(env::EVENTBRIDGE_ENDPOINT);
        let Some(url) = url.filter(|url| loopback::is_loopback(url)) else {
            return Err(Failure::Usage(
                "nagare bus shows the bus of a local stack. On AWS a rule on the bus that EventBusName names shows \
                 what is sent, with a log group as its target (docs/CLIENTS.md)"
                    .to_owned(),
            ));
        };
        let (client, mut behind, mut answered_at) = (proxy::http_client()?, 0, Instant::now());
        loop {
            match ask(&client, &url, behind).await {
                Ok(BusEvents { last, .. }) if last < behind => {
                    tell!("the stack was started anew");
                    behind = 0;
                    continue;
                }
                Ok(BusEvents { events, last }) => {
                    answered_at = Instant::now();
                    let dropped = (last - behind).saturating_sub(events.len() as u64);
                    if dropped > 0 {
                        tell!("{dropped} earlier events are not kept any more");
                    }
                    for event in &events {
                        self.print(&event.event)?;
                    }
                    behind = last;
                }
                Err(_) if self.follow && answered_at.elapsed() < PATIENCE => {}
                Err(failure) => return Err(failure),
            }
            if !self.follow {
                if behind == 0 {
                    tell!("nothing has been sent to the bus since the stack started");
                }
                return Ok(());
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    fn print(&self, event: &RawValue) -> Result<(), Failure> {
        let BusEvent { kind, mut detail } =
            serde_json::from_str(event.get()).map_err(|e| Failure::Unreachable(e.to_string()))?;
        if self.kind.as_ref().is_some_and(|wanted| *wanted != kind) {
            return Ok(());
        }
        if self.json {
            return print_json(&event);
        }
        let at = detail.remove("at").and_then(|at| at.as_str().map(ToOwned::to_owned));
        detail.retain(|name, _| !matches!(name.as_str(), "version" | "id"));
        let (at, said) = (at.unwrap_or_default(), Value::Object(detail).to_string());
        say!("{}  {:<18}  {}", printable(&at), printable(&kind), printable(&said))
    }
}

async fn ask(client: &reqwest::Client, url: &str, behind: u64) -> Result<BusEvents, Failure> {
    let unreachable =
        |e| Failure::Unreachable(format!("the stack does not answer: {}", unanswered(e)));
    let request = client.get(format!("{url}?behind={behind}"));
    let answer = request.send().await.and_then(reqwest::Response::error_for_status);
    let body = answer.map_err(unreachable)?.bytes().await.map_err(unreachable)?;
    serde_json::from_slice(&body).map_err(|e| Failure::Unreachable(e.to_string()))
}
