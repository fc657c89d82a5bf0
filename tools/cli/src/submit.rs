//! Sending one command: what every command that sends one prints, and `--wait`.
//!
//! `sent` means that the queue has accepted it. What became of it is looked up in the tables ([`nagare_operator::effects`] says why
//! the answer is exact), and nothing is said that is not known. A command of which nothing is known when `--timeout` ends is reported
//! as neither applied nor lost. Waiting changes nothing, so Ctrl-C ends the waiting and not the command.

use std::time::Duration;

use clap::Args;
use nagare_client::clock;
use nagare_client::remote::Remote;
use nagare_operator::effects::{CommandStatus, Effects, Watch};
use serde::Serialize;
use shared::command::Command;
use shared::platform::values::{HitId, MessageId};
use tokio::time::Instant;

use super::Failure;
use super::print::{caution, counted, print_json, printable, say};

/// How long to wait before the second look, and at most between two looks.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long to wait in all, in seconds, if nobody says.
const TIMEOUT: u64 = 60;

/// What is said of a command that is sent.
#[derive(Debug, Args)]
pub(super) struct Submission {
    /// Wait until the command is in effect, was overtaken by another, or is a dead letter (exit code 1 in
    /// the latter two cases).
    #[arg(long)]
    wait: bool,
    /// How long to wait at most [default: 60].
    #[arg(long, value_name = "SECONDS", requires = "wait", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// What is printed as JSON.
#[derive(Debug, Serialize)]
struct SubmitReport<'a> {
    message_id: &'a str,
    command: &'static str,
    /// Of a hit: the id that it has within its battle.
    #[serde(skip_serializing_if = "Option::is_none")]
    hit_id: Option<&'a str>,
    /// Of a message in a room: the id that it has there.
    #[serde(skip_serializing_if = "Option::is_none")]
    room_message_id: Option<&'a str>,
    /// `sent`, `applied`, `overtaken`, `dead-letter`, or `unknown`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    /// From sending until this was known.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

/// A command that the queue has accepted.
struct Sent {
    command: &'static str,
    hit_id: Option<HitId>,
    room_message_id: Option<MessageId>,
    message_id: String,
    began: Instant,
    json: bool,
}

impl Submission {
    /// Sends a command, says so, and follows it to its end if that is wanted.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what the writer would refuse anyway; nothing was sent then. [`Failure::No`] if the
    /// command is not in effect.
    pub(super) async fn send(self, command: Command) -> Result<(), Failure> {
        Command::parse(&command.to_body(), clock::clock().now())
            .map_err(|e| Failure::Usage(e.unredacted()))?;
        let remote = Remote::from_environment().await?;
        // What is needed to wait is looked for before anything is sent.
        let effects = if self.wait { Some(Effects::new(&remote)?) } else { None };
        let began = Instant::now();
        let message_id = remote.sender()?.send_one(&command).await?;
        let (hit_id, room_message_id) = made_ids(&command);
        let (name, json) = (command.type_name(), self.json);
        let sent = Sent { command: name, hit_id, room_message_id, message_id, began, json };
        match effects {
            None => sent.say_sent(),
            Some(effects) => {
                if !self.json {
                    sent.say_sent()?;
                }
                let watch = effects.watch(command, sent.message_id.clone());
                let timeout = Duration::from_secs(self.timeout.unwrap_or(TIMEOUT));
                sent.conclude(sent.wait(watch, timeout).await)
            }
        }
    }
}

/// The ids that are made where none is given: those of a hit and of a message in a room.
fn made_ids(command: &Command) -> (Option<HitId>, Option<MessageId>) {
    match command {
        Command::Hit(hit) => (Some(hit.hit_id.clone()), None),
        Command::Post(post) => (None, Some(post.key.message_id.clone())),
        _ => (None, None),
    }
}

impl Sent {
    /// Looks again and again, until there is something to say.
    async fn wait(&self, watch: Watch<'_>, timeout: Duration) -> Result<CommandStatus, Failure> {
        let Self { message_id, .. } = self;
        tokio::select! {
            known = tokio::time::timeout(timeout, until_known(watch)) => match known {
                Ok(standing) => standing,
                Err(_) => Err(Failure::No(format!(
                    "not in effect after {} s, and no dead letter either; the message {message_id} may still \
                     be on its way",
                    timeout.as_secs()
                ))),
            },
            _ = tokio::signal::ctrl_c() => Err(Failure::No(format!(
                "interrupted; the message {message_id} was sent, and may be in effect or not"
            ))),
        }
    }

    fn say_sent(&self) -> Result<(), Failure> {
        if self.json {
            return print_json(&self.report("sent"));
        }
        let ids = [
            self.hit_id.as_ref().map(HitId::as_str),
            self.room_message_id.as_ref().map(MessageId::as_str),
        ];
        let ids: String = ids.iter().flatten().map(|id| format!(" {id}")).collect();
        say!("sent {}{ids}, message {}", self.command, self.message_id)
    }

    fn report(&self, state: &'static str) -> SubmitReport<'_> {
        let Self { command, message_id, .. } = self;
        let hit_id = self.hit_id.as_ref().map(HitId::as_str);
        let room_message_id = self.room_message_id.as_ref().map(MessageId::as_str);
        let (entries, reason, detail, seconds) = (None, None, None, None);
        SubmitReport {
            message_id,
            command,
            hit_id,
            room_message_id,
            state,
            entries,
            reason,
            detail,
            seconds,
        }
    }

    /// Says what became of it.
    fn conclude(&self, standing: Result<CommandStatus, Failure>) -> Result<(), Failure> {
        let seconds = self.began.elapsed().as_secs_f64();
        if self.json {
            let seconds = Some((seconds * 1000.0).round() / 1000.0);
            print_json(&SubmitReport { seconds, ..self.known(standing.as_ref().ok()) })?;
        }
        match standing? {
            CommandStatus::Applied { .. } if self.json => Ok(()),
            CommandStatus::Applied { entries, remark } => {
                let entries = entries.map(|n| format!(", {}", counted(n, "entry", "entries")));
                let remark = remark.map(|remark| format!("; {remark}"));
                let is_plain = remark.is_none();
                let [entries, remark] = [entries, remark].map(Option::unwrap_or_default);
                let said = format!("applied in {seconds:.3} s{entries}{remark}");
                if is_plain { say!("{said}") } else { caution(&said) }
            }
            CommandStatus::Overtaken(why) => {
                Err(Failure::WithoutEffect(format!("without effect: {why}")))
            }
            CommandStatus::DeadLetter { reason, detail } => Err(Failure::No(printable(&format!(
                "dead letter {} ({reason}): {detail}",
                self.message_id
            )))),
            CommandStatus::Pending => Err(Failure::No("nothing is known of it".to_owned())),
        }
    }

    fn known<'a>(&'a self, standing: Option<&'a CommandStatus>) -> SubmitReport<'a> {
        match standing {
            Some(CommandStatus::Applied { entries, remark }) => {
                SubmitReport { entries: *entries, detail: *remark, ..self.report("applied") }
            }
            Some(CommandStatus::Overtaken(why)) => {
                SubmitReport { detail: Some(why), ..self.report("overtaken") }
            }
            Some(CommandStatus::DeadLetter { reason, detail }) => {
                let (reason, detail) = (Some(reason.as_str()), Some(detail.as_str()));
                SubmitReport { reason, detail, ..self.report("dead-letter") }
            }
            Some(CommandStatus::Pending) | None => self.report("unknown"),
        }
    }
}

async fn until_known(mut watch: Watch<'_>) -> Result<CommandStatus, Failure> {
    let mut pause = FIRST_PAUSE;
    loop {
        match watch.look().await? {
            CommandStatus::Pending => tokio::time::sleep(pause).await,
            known => return Ok(known),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
