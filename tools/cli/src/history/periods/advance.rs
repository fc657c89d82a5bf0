//! `nagare events advance`: moves the clock of a local stack on.

use clap::Args;
use nagare_client::call_timeout::unanswered;
use nagare_client::local_stack::{Advance as Request, Time};
use nagare_client::remote::Remote;
use nagare_client::{loopback, proxy};
use nagare_operator::progress;
use reqwest::StatusCode;
use serde::Deserialize;
use shared::platform::runtime::env;
use shared::platform::values::Timestamp;

use crate::Failure;
use crate::print::{print_json, say};
use crate::time::instant;

const HOUR_MILLIS: i64 = 3_600_000;

/// Move the clock of a local stack on, and return when all is done that is due by then.
///
/// Messages that can be received are processed first, and delayed ones when their time has come.
/// Time then passes from each step that some period is due for to the next. Days that tenants want
/// decided are decided on the way, each two hours after its end.
#[derive(Debug, Args)]
pub(crate) struct Advance {
    /// To this instant (RFC 3339, or a date in UTC); to the next step of any period, if it is not given.
    #[arg(long, value_name = "T", value_parser = instant)]
    to: Option<Timestamp>,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

/// An error's body.
#[derive(Deserialize)]
struct Problem {
    detail: String,
}

/// The route of a local stack by which its clock is moved.
struct Control {
    client: reqwest::Client,
    url: String,
}

impl Advance {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let control = Control::new(&remote)?;
        let start = control.time().await?;
        self.check(&start)?;
        let hours =
            self.to.map_or(0, |to| to.unix_millis() - start.now.unix_millis()) / HOUR_MILLIS;
        let bar = progress::bar(u64::try_from(hours).unwrap_or(0), "hours");
        let mut continues = false;
        let end = loop {
            let Time { now, moves, .. } = control.advance(self.to, continues).await?;
            continues = moves;
            let passed = (now.unix_millis() - start.now.unix_millis()) / HOUR_MILLIS;
            bar.set_position(u64::try_from(passed).unwrap_or(0));
            if !moves && self.to.is_none_or(|to| now >= to) {
                break now;
            }
        };
        bar.finish_and_clear();
        match self.json {
            true => print_json(&Time { now: end, is_set: true, moves: false }),
            false => say!("it is {end} in the stack"),
        }
    }

    /// The stack would say the same, after its queue was worked off.
    fn check(&self, start: &Time) -> Result<(), Failure> {
        let Time { now, is_set, .. } = start;
        if !is_set {
            return Err(Failure::Usage(
                "the clock of this stack is the system's, which nobody moves on; start it with `nagare up --clock T`, \
                 and it starts at T and can be moved on from there"
                    .to_owned(),
            ));
        }
        match self.to {
            Some(to) if to < *now => Err(Failure::Usage(format!(
                "it is {now} in the stack, and time never goes back; name a later instant with --to"
            ))),
            _ => Ok(()),
        }
    }
}

impl Control {
    fn new(remote: &Remote) -> Result<Self, Failure> {
        let url = remote.target().optional(env::CLOCK_URL);
        let url = url.filter(|url| remote.is_local() && loopback::is_loopback(url));
        let url = url.ok_or_else(|| {
            Failure::Usage(format!(
                "time is only moved on a local stack, which `nagare up --clock T` starts; this one has no {}",
                env::CLOCK_URL
            ))
        })?;
        Ok(Self { client: proxy::http_client()?, url })
    }

    async fn time(&self) -> Result<Time, Failure> {
        self.answer(self.client.get(&self.url)).await
    }

    async fn advance(&self, to: Option<Timestamp>, continues: bool) -> Result<Time, Failure> {
        let request = serde_json::to_string(&Request { to, continues })?;
        let request = self.client.post(&self.url).body(request);
        self.answer(request.header("content-type", "application/json")).await
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Time, Failure> {
        let unreachable =
            |e| Failure::Unreachable(format!("the stack does not answer: {}", unanswered(e)));
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            return Ok(serde_json::from_slice(&body)?);
        }
        let problem = serde_json::from_slice::<Problem>(&body).map(|problem| problem.detail);
        let reason = problem.unwrap_or_else(|_| status.to_string());
        Err(match status {
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT => Failure::Usage(reason),
            _ => Failure::No(reason),
        })
    }
}
