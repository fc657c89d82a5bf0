//! `nagare status`: which stack commands talk to, whether it answers, and what waits in it.
//!
//! It asks three parts at the same time: the API, both queues, and the table of dead letters. If a part does not answer, it is named
//! with the reason, the others are shown anyway, and the exit code is 3. The command changes nothing.

use std::pin::pin;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName as Name;
use clap::Args;
use futures::StreamExt;
use nagare_client::api::Api;
use nagare_client::call_timeout::{call_timeout, late};
use nagare_client::remote::Remote;
use nagare_client::target::Target;
use serde::Serialize;
use shared::dead_letters::DeadLetters;
use shared::runtime::env;
use tokio::time::Instant;

use super::Failure;
use super::print::{counted, print_json, say};

/// Dead letters that are counted and no more: a list says how many there are beyond.
const MOST_LETTERS: u64 = 1_000;
/// The caller. Every caller that is authenticated may ask for a profile.
const ANYBODY: &str = "nagare-status";

#[derive(Debug, Args)]
pub(super) struct Status {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    /// `local` or `aws`.
    stack: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    api_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    console_url: Option<String>,
    /// Whether every part answers.
    answers: bool,
    api: Part<ApiAnswer>,
    commands: Part<QueueCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_letter_queue: Option<Part<QueueCounts>>,
    dead_letters: Part<LetterCount>,
}

/// What a part answers, or why it does not.
#[derive(Serialize)]
#[serde(untagged)]
enum Part<T> {
    Answers(T),
    Fails { error: String },
}

#[derive(Serialize)]
struct ApiAnswer {
    status: u16,
    milliseconds: u64,
}

#[derive(Serialize)]
struct QueueCounts {
    visible: u64,
    in_flight: u64,
    delayed: u64,
}

#[derive(Serialize)]
struct LetterCount {
    kept: u64,
    /// There are more than were counted.
    more: bool,
}

impl Status {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let report = Report::of(&remote).await?;
        match self.json {
            true => print_json(&report)?,
            false => report.print()?,
        }
        match report.answers {
            true => Ok(()),
            false => Err(Failure::Unreachable("the stack does not answer".to_owned())),
        }
    }
}

impl Report {
    async fn of(remote: &Remote) -> Result<Self, Failure> {
        let target = remote.target();
        let (api_url, queue) = (target.required(env::API_URL)?, target.required(env::QUEUE_URL)?);
        let letters = remote.dead_letters()?;
        let letter_queue = target.optional(env::DEAD_LETTER_QUEUE_URL);
        let of_letters = async {
            match &letter_queue {
                Some(url) => Some(part(queue_counts(remote.sqs(), url)).await),
                None => None,
            }
        };
        let (api, commands, dead_letter_queue, dead_letters) = tokio::join!(
            part(api_answer()),
            part(queue_counts(remote.sqs(), &queue)),
            of_letters,
            part(letter_count(&letters)),
        );
        let answers = api.answers()
            && commands.answers()
            && dead_letter_queue.as_ref().is_none_or(Part::answers)
            && dead_letters.answers();
        let region = remote.config().and_then(|config| config.region());
        Ok(Self {
            stack: if remote.is_local() { "local" } else { "aws" },
            pid: match target {
                Target::Local(note) => Some(note.pid()),
                Target::Environment => None,
            },
            region: region.filter(|_| !remote.is_local()).map(ToString::to_string),
            api_url,
            console_url: target.optional(nagare_console::URL),
            answers,
            api,
            commands,
            dead_letter_queue,
            dead_letters,
        })
    }

    fn print(&self) -> Result<(), Failure> {
        let place = match (&self.pid, &self.region) {
            (Some(pid), _) => format!("on this machine, process {pid}"),
            (None, Some(region)) => format!("on AWS in {region}, as the environment says"),
            (None, None) => "on this machine, as the environment says".to_owned(),
        };
        line("stack", &place)?;
        line("API", &format!("{}, {}", self.api_url, self.api.said(ApiAnswer::said)))?;
        line("commands", &self.commands.said(QueueCounts::said))?;
        if let Some(queue) = &self.dead_letter_queue {
            line("given up", &queue.said(QueueCounts::said))?;
        }
        line("dead letters", &self.dead_letters.said(LetterCount::said))?;
        match &self.console_url {
            Some(url) => line("console", url),
            None => Ok(()),
        }
    }
}

impl<T> Part<T> {
    fn answers(&self) -> bool {
        matches!(self, Self::Answers(_))
    }

    fn said(&self, say: impl FnOnce(&T) -> String) -> String {
        match self {
            Self::Answers(answer) => say(answer),
            Self::Fails { error } => format!("does not answer: {error}"),
        }
    }
}

impl ApiAnswer {
    fn said(&self) -> String {
        match self.status {
            401 | 403 => format!("answers {} (it demands to know who asks)", self.status),
            _ => format!("answers in {} ms", self.milliseconds),
        }
    }
}

impl QueueCounts {
    fn said(&self) -> String {
        let Self { visible, in_flight, delayed } = self;
        format!("{visible} waiting, {in_flight} in flight, {delayed} delayed")
    }
}

impl LetterCount {
    fn said(&self) -> String {
        match self {
            Self { kept, more: true } => {
                format!("more than {kept}; `nagare dead-letters list` groups them by reason")
            }
            Self { kept, more: false } => counted(*kept, "is kept", "are kept"),
        }
    }
}

fn line(name: &str, text: &str) -> Result<(), Failure> {
    say!("{name:<13} {text}")
}

/// The answer of a part, or the reason why there is none.
async fn part<T>(answer: impl Future<Output = Result<T, Failure>>) -> Part<T> {
    match tokio::time::timeout(call_timeout(), answer).await {
        Ok(Ok(answer)) => Part::Answers(answer),
        Ok(Err(failure)) => Part::Fails { error: failure.to_string() },
        Err(_) => Part::Fails { error: late() },
    }
}

/// Any answer but a server's error is one: an API that turns the caller away runs.
async fn api_answer() -> Result<ApiAnswer, Failure> {
    let mut api = Api::on_behalf_of(ANYBODY).await?;
    let asked_at = Instant::now();
    let status = api.status_of(&["v1", "profiles", ANYBODY]).await?;
    let milliseconds = u64::try_from(asked_at.elapsed().as_millis()).unwrap_or(u64::MAX);
    match status {
        500.. => Err(Failure::Unreachable(format!("status {status}"))),
        _ => Ok(ApiAnswer { status, milliseconds }),
    }
}

async fn queue_counts(client: &Client, url: &str) -> Result<QueueCounts, Failure> {
    let names = [
        Name::ApproximateNumberOfMessages,
        Name::ApproximateNumberOfMessagesNotVisible,
        Name::ApproximateNumberOfMessagesDelayed,
    ];
    let asked = client.get_queue_attributes().queue_url(url);
    let answer = asked.set_attribute_names(Some(names.to_vec())).send().await;
    let answer = answer.map_err(|error| {
        let error = error.into_service_error();
        Failure::Unreachable(format!("the queue {url} ({error})"))
    })?;
    let [visible, in_flight, delayed] = names.map(|name| {
        let count = answer.attributes().and_then(|counts| counts.get(&name));
        count.and_then(|count| count.parse().ok()).unwrap_or_default()
    });
    Ok(QueueCounts { visible, in_flight, delayed })
}

async fn letter_count(letters: &DeadLetters) -> Result<LetterCount, Failure> {
    let mut all = pin!(letters.all());
    let mut kept = 0;
    while let Some(letter) = all.next().await {
        letter?;
        if kept == MOST_LETTERS {
            return Ok(LetterCount { kept, more: true });
        }
        kept += 1;
    }
    Ok(LetterCount { kept, more: false })
}
