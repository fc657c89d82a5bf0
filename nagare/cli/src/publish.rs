//! `nagare publish`: one activity, or a file of commands.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use nagare_client::clock;
use nagare_client::remote::Remote;
use nagare_client::sender::commands;
use nagare_operator::progress;
use serde::Serialize;
use shared::activities;
use shared::command::Command;
use shared::values::{ActivityId, ActorId, Kind, Payload, Timestamp};

use super::input::Input;
use super::print::{counted, print_json, say};
use super::submit::Submission;
use super::{Failure, lines};

#[derive(Debug, Args)]
#[command(
    override_usage = "nagare publish --actor <ACTOR> --activity <ACTIVITY> [OPTIONS]\n       nagare publish --file <FILE> [--json]"
)]
pub(super) struct Publish {
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
    /// Send a file of commands instead, one JSON object a line; `-` is standard input.
    #[arg(long, conflicts_with_all = ["actor", "activity", "kind", "at", "payload", "wait"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    submission: Submission,
}

/// What is printed of a file as JSON.
#[derive(Serialize)]
struct Sent {
    commands: u64,
}

impl Publish {
    pub(super) async fn run(self) -> Result<(), Failure> {
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
    let read_through =
        |name: &str, input| commands_in(name, input, now).try_for_each(|line| line.map(drop));
    let input = Input::of(path, read_through)?;
    let name = input.to_string();
    let mut total = 0;
    for line in commands_in(&name, input.open()?, now) {
        line?;
        total += 1;
    }
    let sender = Remote::from_environment().await?.sender()?;
    let bar = progress::bar(total, "commands sent");
    let sent = sender
        .send_all(commands(commands_in(&name, input.open()?, now)), |accepted| bar.inc(accepted))
        .await?;
    bar.finish_and_clear();
    if json {
        return print_json(&Sent { commands: sent });
    }
    say!("{} sent", counted(sent, "command", "commands"))
}

fn commands_in(
    name: &str,
    input: impl Read,
    now: Timestamp,
) -> impl Iterator<Item = Result<Command, Failure>> {
    let lines = lines::numbered(BufReader::new(input));
    let lines = lines.filter(|(_, line)| !line.as_ref().is_ok_and(|text| text.trim().is_empty()));
    lines.map(move |(number, line)| {
        let command = match line {
            Ok(text) => Command::parse(&text, now).map_err(|e| e.unredacted()),
            Err(unreadable) => Err(unreadable.to_string()),
        };
        command.map_err(|problem| {
            Failure::Usage(format!("{name}: line {number}: {problem}; nothing was sent"))
        })
    })
}
