//! `nagare status`: which stack commands talk to, whether it answers, and what waits in it.
//!
//! It asks all parts at the same time: the API, both queues, and the table of dead letters. If a
//! part does not answer, it is named with the reason, the others are shown anyway, and the exit
//! code is 3. The command changes nothing.
//!
//! How far behind the stack is, a local stack says itself, and CloudWatch of one on AWS. With
//! `--check` the command says what needs attention, and what is not known does.

use std::pin::pin;

use clap::Args;
use futures::{StreamExt, TryStreamExt};
use nagare_client::api::Api;
use nagare_client::backlog::Backlog;
use nagare_client::call_timeout::{call_timeout, late};
use nagare_client::queue_counts::QueueCounts;
use nagare_client::remote::Remote;
use nagare_client::target::Target;
use serde::Serialize;
use shared::platform::dead_letters::DeadLetters;
use shared::platform::runtime::env;
use tokio::time::Instant;

use super::Failure;
use super::print::{counted, print_json, say};

/// Dead letters that are counted and no more: a list says how many there are beyond.
const MOST_LETTERS: u64 = 1_000;
/// The age of a command that needs attention, in seconds.
const OLDEST: f64 = 60.0;
/// How far views may be behind, in seconds.
const LAG: f64 = 10.0;
/// The caller. Every caller that is authenticated may ask for a profile.
const ANYBODY: &str = "nagare-status";

#[derive(Debug, Args)]
pub(super) struct Status {
    /// Exit with 1 if something needs attention: dead letters that no operator has looked at, a
    /// command that has waited for more than a minute, or views more than 10 s behind.
    #[arg(long)]
    check: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StatusReport {
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
    /// Letters that no operator has listed or shown, up to 1,000.
    unseen_dead_letters: Part<u64>,
    backlog: Part<Backlog>,
    /// What needs attention, in sentences.
    attention: Vec<String>,
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
struct LetterCount {
    kept: u64,
    /// There are more than were counted.
    more: bool,
}

impl Status {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let remote = Remote::from_environment().await?;
        let report = StatusReport::read(&remote).await?;
        match self.json {
            true => print_json(&report)?,
            false => report.print()?,
        }
        match &report {
            StatusReport { answers: false, .. } => {
                Err(Failure::Unreachable("the stack does not answer".to_owned()))
            }
            StatusReport { backlog: Part::Fails { error }, .. } if self.check => {
                Err(Failure::Unreachable(format!("it is not known how far behind it is: {error}")))
            }
            StatusReport { attention, .. } if self.check && !attention.is_empty() => {
                Err(Failure::No(attention.join("; ")))
            }
            _ => Ok(()),
        }
    }
}

impl StatusReport {
    async fn read(remote: &Remote) -> Result<Self, Failure> {
        let target = remote.target();
        let (api_url, queue) = (target.required(env::API_URL)?, target.required(env::QUEUE_URL)?);
        let letters = remote.dead_letters()?;
        let letter_queue = target.optional(env::DEAD_LETTER_QUEUE_URL);
        let of_letters = async {
            match &letter_queue {
                Some(url) => Some(part(QueueCounts::read(remote.sqs(), url)).await),
                None => None,
            }
        };
        let (api, commands, dead_letter_queue, dead_letters, unseen, backlog) = tokio::join!(
            part(api_answer()),
            part(QueueCounts::read(remote.sqs(), &queue)),
            of_letters,
            part(letter_count(&letters)),
            part(unseen_letters(&letters)),
            part(backlog(remote)),
        );
        let answers = api.answers()
            && commands.answers()
            && dead_letter_queue.as_ref().is_none_or(Part::answers)
            && dead_letters.answers();
        let attention = attention(&unseen, &backlog);
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
            unseen_dead_letters: unseen,
            backlog,
            attention,
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
        line("commands", &self.commands.said(said_of))?;
        if let Some(queue) = &self.dead_letter_queue {
            line("given up", &queue.said(said_of))?;
        }
        line("behind", &self.backlog.said(said_of_backlog))?;
        line("dead letters", &self.dead_letters.said(LetterCount::said))?;
        for sentence in &self.attention {
            line("attention", sentence)?;
        }
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

fn said_of(counts: &QueueCounts) -> String {
    let QueueCounts { visible, in_flight, delayed } = counts;
    format!("{visible} waiting, {in_flight} in flight, {delayed} delayed")
}

fn said_of_backlog(backlog: &Backlog) -> String {
    let Backlog { oldest_command_seconds, commands_per_second, projection_lag_seconds } = backlog;
    format!(
        "the oldest command is {oldest_command_seconds:.0} s old, {commands_per_second:.1} are processed a second, views are \
         {projection_lag_seconds:.0} s behind"
    )
}

/// What needs attention, as far as it is known.
fn attention(unseen: &Part<u64>, backlog: &Part<Backlog>) -> Vec<String> {
    let mut attention = Vec::new();
    if let Part::Answers(unseen @ 1..) = unseen {
        let letters = counted(*unseen, "dead letter was", "dead letters were");
        attention.push(format!("{letters} not looked at: `nagare dead-letters list` shows them"));
    }
    if let Part::Answers(backlog) = backlog {
        let Backlog { oldest_command_seconds: age, projection_lag_seconds: lag, .. } = backlog;
        if *age > OLDEST {
            attention.push(format!("a command has waited for {age:.0} s"));
        }
        if *lag > LAG {
            attention.push(format!("views are {lag:.0} s behind"));
        }
    }
    attention
}

async fn backlog(remote: &Remote) -> Result<Backlog, Failure> {
    match remote.is_local() {
        true => Backlog::of_local(remote).await,
        false => super::backlog::on_aws(remote).await,
    }
}

async fn unseen_letters(letters: &DeadLetters) -> Result<u64, Failure> {
    let unseen = letters.not_looked_at().take(MOST_LETTERS as usize);
    Ok(unseen.try_fold(0, async |count, _| Ok(count + 1)).await?)
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
