//! Commands that were sent from here, and what has become of them.
//!
//! What has become of a command is looked up as `--wait` does ([`nagare_operator::effects`]), by a task that goes on
//! where its last look stopped, until it is known or has taken too long. Pages show what the task knows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nagare_client::clock;
use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use nagare_operator::effects::{CommandStatus, Effects};
use shared::command::Command;
use shared::platform::queue::Message;
use shared::platform::values::ActivityId;
use tokio::sync::watch;

use crate::console::Console;
use crate::sent::{Known, Sent};

/// How long to wait before the second look, and at most between two looks.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(900);

pub(super) async fn send(console: &Console, body: String) -> Result<Arc<Sent>, Failure> {
    let now = clock::clock().now();
    let command = Command::parse(&body, now).ok();
    let (name, activity) = match &command {
        None => ("no command".to_owned(), None),
        Some(command) => (command.type_name().to_owned(), activity(command)),
    };
    let (group, attributes, delay_seconds) = match command.as_ref().map(Message::from) {
        Some(message) => (message.group, message.attributes, message.delay_seconds),
        None => (None, Vec::new(), None),
    };
    let message = Message { body: body.clone(), group, attributes, delay_seconds };
    let begun = Instant::now();
    let message_id = console.remote.sender()?.send_message(&message).await?;
    let (known, _) = watch::channel(Known::OnItsWay(None));
    let sent = Sent { message_id, body, name, at: now, activity, begun, known };
    let sent = console.remember(sent);
    tokio::spawn(follow(Arc::clone(&sent), command, console.remote.clone()));
    Ok(sent)
}

fn activity(command: &Command) -> Option<ActivityId> {
    match command {
        Command::Publish(publish) => Some(publish.key().activity_id),
        Command::Delete(delete) => Some(delete.activity_id.clone()),
        _ => None,
    }
}

/// Looks until it is known what has become of it.
async fn follow(sent: Arc<Sent>, command: Option<Command>, remote: Remote) {
    let looking = async {
        let learn = |known| _ = sent.known.send_replace(known);
        let effects = match Effects::new(&remote) {
            Ok(effects) => effects,
            Err(failure) => return learn(Known::OnItsWay(Some(failure.to_string()))),
        };
        let mut watch = command.map(|command| effects.watch(command, sent.message_id.clone()));
        let mut pause = FIRST_PAUSE;
        loop {
            let looked = match &mut watch {
                Some(watch) => watch.look().await.map_err(Failure::from),
                None => letter(&remote, &sent).await,
            };
            match looked {
                Ok(CommandStatus::Pending) => learn(Known::OnItsWay(None)),
                Ok(standing) => return learn(Known::Ended(standing, sent.begun.elapsed())),
                Err(failure) => learn(Known::OnItsWay(Some(failure.to_string()))),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    if tokio::time::timeout(PATIENCE, looking).await.is_err() {
        sent.known.send_replace(Known::GivenUp);
    }
}

/// What is no command can only become a dead letter.
async fn letter(remote: &Remote, sent: &Sent) -> Result<CommandStatus, Failure> {
    let letter = remote.dead_letters()?.get(&sent.message_id).await?;
    let letter = letter.filter(|letter| letter.body == sent.body);
    Ok(letter.map_or(CommandStatus::Pending, |letter| CommandStatus::DeadLetter {
        reason: letter.reason,
        detail: letter.detail,
    }))
}
