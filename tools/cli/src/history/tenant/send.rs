//! `nagare tenant send`: a file of events, through the API's intake.
//!
//! Sending a file again, or after an interruption, is safe: an event with the same identity is recorded once. The whole file is read
//! before the first event is sent, so a bad line is found before anything has happened. An event that comes too late, or whose
//! identity another event has, is reported later, as a dead letter.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use event_intake::MOST_EVENTS;
use nagare_client::api::{Api, Posted};
use nagare_operator::progress;
use serde::{Deserialize, Serialize};
use shared::history::events::{Event, EventSettings};
use shared::platform::values::{TenantId, Timestamp};
use tokio::time::Instant;

use crate::Failure;
use crate::input::{Input, Line, RowError, good};
use crate::print::{counted, print_json, say};

/// The most bytes of them: API Gateway hands a body on within a document of six megabytes, in which some count twice.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// How long one request is sent again where the API says to come back later.
const PATIENCE: Duration = Duration::from_secs(300);

/// Send a file of events, one JSON object a line, through the API: `customer_id`, `event_id`, `name`, `at` and, if there is
/// more to say, `properties`. The file may be gzipped.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Who sends.
    tenant: TenantId,
    /// The file; `-` is standard input.
    file: PathBuf,
    /// Report bad lines and leave them out, instead of refusing the file.
    #[arg(long)]
    skip_bad: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct SendCounts {
    events: u64,
    requests: u64,
    /// Requests that were sent again.
    repeated: u64,
    bad_lines: u64,
}

/// What the intake says of a request that it refuses.
#[derive(Deserialize)]
struct Refusal {
    errors: Vec<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    index: Option<usize>,
    detail: String,
}

impl Send {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let input = Input::of(&self.file)?;
        let (events, bad_lines) = input.check(self.events_in(&input)?, self.skip_bad)?;
        let mut counts = SendCounts { events, bad_lines, ..SendCounts::default() };
        let mut api = Api::for_tenant(&self.tenant).await?;
        let bar = progress::bar(counts.events, "events accepted");
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for row in good(self.events_in(&input)?) {
            let Line { number, text: line } = row?;
            if batch.len() == MOST_EVENTS || (bytes + line.len() > MOST_BYTES && !batch.is_empty())
            {
                self.send(&mut api, &batch, &mut counts).await?;
                bar.inc(batch.len() as u64);
                (batch, bytes) = (Vec::new(), 0);
            }
            bytes += line.len() + 1;
            batch.push((number, line));
        }
        if !batch.is_empty() {
            self.send(&mut api, &batch, &mut counts).await?;
            bar.inc(batch.len() as u64);
        }
        bar.finish_and_clear();
        if self.json {
            return print_json(&counts);
        }
        let events = counted(counts.events, "event", "events");
        say!("{events} accepted in {}", counted(counts.requests, "request", "requests"))
    }

    /// The lines of a file that are events of this tenant, and what is wrong with the others.
    fn events_in(
        &self,
        input: &Input,
    ) -> Result<impl Iterator<Item = Result<Line, RowError>> + use<>, Failure> {
        let (lines, tenant) = (input.lines()?.of_json()?, self.tenant.clone());
        Ok(lines.map(move |line| {
            let line = line?;
            // What time it is on the clock of the stack is the stack's to know: nothing lies ahead
            // here.
            let (earliest, now) = (EventSettings::EARLIEST_BY_HAND, Timestamp::LAST);
            match Event::parse(&line.text, &tenant, earliest, now) {
                Ok(_) => Ok(line),
                Err(error) => Err(RowError::line(line.number, error.unredacted())),
            }
        }))
    }

    /// Sends one request, and again where it is to come later.
    async fn send(
        &self,
        api: &mut Api,
        batch: &[(u64, String)],
        counts: &mut SendCounts,
    ) -> Result<(), Failure> {
        let events: Vec<_> = batch.iter().map(|(_, line)| line.as_str()).collect();
        let body = format!("{{\"events\":[{}]}}", events.join(","));
        let path = ["v1", "tenants", self.tenant.as_str(), "events"];
        let began = Instant::now();
        counts.requests += 1;
        loop {
            let posted = api.post(&path, body.as_bytes()).await;
            let wait = match posted {
                Ok(Posted::Taken) => return Ok(()),
                Ok(Posted::Refused(body)) => return Err(refused(batch, &body)),
                Ok(Posted::Later(wait, failure)) if began.elapsed() + wait > PATIENCE => {
                    return Err(failure);
                }
                Ok(Posted::Later(wait, _)) => wait,
                Err(failure) => return Err(failure),
            };
            counts.repeated += 1;
            tokio::time::sleep(wait).await;
        }
    }
}

/// What the API says of the lines of a request, none of which was queued.
fn refused(batch: &[(u64, String)], body: &[u8]) -> Failure {
    let Ok(Refusal { errors }) = serde_json::from_slice(body) else {
        return Failure::Usage("the API refuses these events, and does not say why".to_owned());
    };
    let lines = errors.iter().map(|fault| {
        let line = fault.index.and_then(|index| Some(batch.get(index)?.0));
        let line = line.map(|number| format!("line {number}: ")).unwrap_or_default();
        format!("{line}{}", fault.detail)
    });
    let lines: Vec<_> = lines.collect();
    Failure::Usage(format!("the API refuses these events: {}", lines.join("; ")))
}
