//! `nagare publish`: one activity, or a file of commands.

use std::path::{Path, PathBuf};

use clap::Args;
use nagare_client::clock;
use nagare_client::remote::Remote;
use nagare_client::sender::commands;
use nagare_operator::progress;
use serde::Serialize;
use shared::command::Command;
use shared::platform::values::{ActivityId, ActorId, Kind, Payload, Timestamp};
use shared::social::activities;

use crate::Failure;
use crate::input::{Input, Line, RowError};
use crate::print::{counted, print_json, say};
use crate::submit::Submission;

#[derive(Debug, Args)]
#[command(
    override_usage = "nagare publish --actor <ACTOR> --activity <ACTIVITY> [OPTIONS]\n       nagare publish --file <FILE> [--json]"
)]
pub(crate) struct Publish {
    /// Who publishes.
    #[arg(long, required_unless_present = "file")]
    actor: Option<ActorId>,
    /// The activity's id, unique across actors.
    #[arg(long, required_unless_present = "file")]
    activity: Option<ActivityId>,
    /// What sort of activity it is; `post`, if it is not given.
    #[arg(long)]
    kind: Option<Kind>,
    /// When it was published, as an RFC 3339 instant; now, if it is not given.
    #[arg(long)]
    at: Option<Timestamp>,
    /// What readers are given: a JSON value of at most 4 KiB; `null`, if it is not given.
    #[arg(long)]
    payload: Option<Payload>,
    /// Send a file of commands instead, one JSON object a line, gzipped or not; `-` is standard
    /// input.
    #[arg(long, conflicts_with_all = ["actor", "activity", "kind", "at", "payload", "wait"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    submission: Submission,
}

/// What is printed of a file as JSON.
#[derive(Serialize)]
struct SentFile {
    commands: u64,
}

impl Publish {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let now = clock::clock().now();
        let sent = match (&self.file, self.actor, self.activity) {
            (Some(file), _, _) => return send_file(file, now, self.submission.json).await,
            (None, Some(actor_id), Some(activity_id)) => Command::Publish(activities::Publish {
                activity_id,
                actor_id,
                published_at: self.at.unwrap_or(now),
                kind: self.kind.unwrap_or_default(),
                payload: self.payload.unwrap_or_default(),
            }),
            // The argument parser requires them.
            _ => {
                return Err(Failure::Usage("--actor and --activity are needed".to_owned()));
            }
        };
        self.submission.send(sent).await
    }
}

/// Reads the whole file before anything is sent, so that a bad line is found in time.
async fn send_file(path: &Path, now: Timestamp, json: bool) -> Result<(), Failure> {
    let input = Input::of(path)?;
    let mut total = 0;
    for command in commands_in(&input, now)? {
        command?;
        total += 1;
    }
    let sender = Remote::from_environment().await?.sender()?;
    let bar = progress::bar(total, "commands sent");
    let sent = commands(commands_in(&input, now)?);
    let sent = sender.send_all(sent, |accepted| bar.inc(accepted)).await?;
    bar.finish_and_clear();
    if json {
        return print_json(&SentFile { commands: sent });
    }
    say!("{} sent", counted(sent, "command", "commands"))
}

fn commands_in(
    input: &Input,
    now: Timestamp,
) -> Result<impl Iterator<Item = Result<Command, Failure>> + use<>, Failure> {
    let (lines, input) = (input.lines()?.of_json()?, input.clone());
    Ok(lines.map(move |line| {
        let command = line.and_then(|Line { number, text }| {
            let command = Command::parse(&text, now);
            command.map_err(|e| {
                RowError::line(number, format!("{}; nothing was sent", e.unredacted()))
            })
        });
        command.map_err(|error| error.of(&input))
    }))
}
