//! One message: parse it, apply it, decide what becomes of it, and log that in one line.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::Command;
use shared::dead_letters::MAX_RECEIVES;
use shared::dynamo::{Dynamo, Usage};
use shared::runtime::deadline::Deadline;
use tokio::time::Instant;

use crate::apply::apply;
use crate::log::About;
use crate::{CommandQueue, Context, DeadLetterQueue, Delivery, Disposition, Failure, Writer};

/// A message that was handled.
pub(crate) struct Handled {
    pub(crate) disposition: Disposition,
    pub(crate) usage: Usage,
    /// True if it may have changed what pages of timelines show.
    pub(crate) shows: bool,
}

/// The clients of one message, so that its usage is counted separately.
struct Connections {
    dynamo: Dynamo,
    commands: CommandQueue,
    dead_letters: DeadLetterQueue,
}

impl Connections {
    fn of(writer: &Writer, delivery: &Delivery) -> Self {
        Self {
            dynamo: writer.ledger.table().dynamo().for_work(delivery.deadline),
            commands: writer.commands.metered(),
            dead_letters: writer.dead_letters.metered(),
        }
    }

    fn usage(&self) -> Usage {
        let mut usage = self.dynamo.usage();
        usage.retries += self.commands.retries() + self.dead_letters.retries();
        usage
    }
}

/// True if a command changes pages of timelines or rooms, which are of one moment. Other pages are not, or show a change once it
/// is projected. An event is put once and never changes: a page that was read meanwhile may lack it, and its `newer_cursor`
/// returns it later.
fn is_shown(command: &Command) -> bool {
    match command {
        Command::Publish(_)
        | Command::Update(_)
        | Command::Delete(_)
        | Command::Follow(_)
        | Command::Tag(_)
        | Command::Post(_)
        | Command::DeleteMessage(_)
        | Command::Membership(_)
        | Command::Segment(_) => true,
        Command::Profile(_)
        | Command::Like(_)
        | Command::MarkRead(_)
        | Command::OpenPoll(_)
        | Command::ClosePoll(_)
        | Command::Vote(_)
        | Command::OpenBattle(_)
        | Command::Hit(_)
        | Command::RecordEvent(_)
        | Command::RecordEvents(_)
        | Command::UpdateCustomer(_)
        | Command::Rule(_)
        | Command::Score(_)
        | Command::ReadAlerts(_)
        | Command::Changed(_) => false,
        Command::Continued(continued) => is_shown(&continued.command),
    }
}

impl Writer {
    /// Applies one message, and logs its outcome in one line.
    pub(crate) async fn message(
        &self,
        id: &str,
        message: &SqsMessage,
        deadline: Deadline,
    ) -> Handled {
        let begun = Instant::now();
        // A message without a body is no command, and cannot become a dead letter here: the queue moves it.
        let body = message.body.as_deref().unwrap_or("");
        let delivery = Delivery::of(message, deadline);
        let connections = Connections::of(self, &delivery);
        let receives = delivery.receives;
        let opened = connections.commands.parse(body, self.clock.now());
        let opened = opened.map(|command| delivery.open(command));
        let is_shown = opened.as_ref().is_ok_and(|(command, _)| is_shown(command));
        let about = About::new(id, receives, opened.as_ref().ok().map(|(command, _)| command));
        let applied = match opened {
            Ok((command, delivery)) => {
                let (commands, letters) =
                    (connections.commands.clone(), connections.dead_letters.clone());
                let cx = Context::new(self, &connections.dynamo, commands, letters, delivery);
                apply_or_hand_on(&cx, command).await
            }
            Err(error) => Err(error.into()),
        };
        let disposition = match applied {
            Ok(disposition) => disposition,
            Err(failure) => {
                let letters = &connections.dead_letters;
                give_up(letters, id, message, receives, failure, deadline).await
            }
        };
        let shows = is_shown && !matches!(disposition, Disposition::Unseen);
        let usage = connections.usage();
        about.log(&disposition, usage, begun.elapsed());
        Handled { disposition, usage, shows }
    }

    /// Logs a message that shares what became of another one, of which it is a copy.
    pub(crate) fn copy(&self, id: &str, message: &SqsMessage, disposition: Disposition) -> Handled {
        let body = message.body.as_deref().unwrap_or("");
        let command = self.commands.parse(body, self.clock.now()).ok();
        let (usage, shows) = (Usage::default(), false);
        About::new(id, 1, command.as_ref()).log(&disposition, usage, Duration::ZERO);
        Handled { disposition, usage, shows }
    }

    /// Applies one command that came without a message.
    ///
    /// # Errors
    /// [`Failure`]; parts of the command may be in effect, and applying it again completes them.
    pub async fn apply(
        &self,
        command: Command,
        delivery: Delivery,
    ) -> Result<Disposition, Failure> {
        let dynamo = self.ledger.table().dynamo().until(delivery.deadline);
        let (commands, letters) = (self.commands.clone(), self.dead_letters.clone());
        apply(&Context::new(self, &dynamo, commands, letters, delivery), command).await
    }
}

/// Applies a command. A refused command is applied once more, because only a repeated refusal counts. A command that failed only
/// because its table was too slow, or is not made yet, is handed on as a whole; this delivery may have stopped anywhere, so the
/// next one checks what it left.
async fn apply_or_hand_on(cx: &Context, command: Command) -> Result<Disposition, Failure> {
    let mut applied = apply(cx, command.clone()).await;
    let delivery = Delivery { redelivered: true, ..cx.delivery.clone() };
    if applied.as_ref().is_err_and(Failure::is_refusal) {
        let cx = Context { delivery: delivery.clone(), ..cx.clone() };
        applied = apply(&cx, command.clone()).await;
    }
    match applied {
        Err(failure) if failure.is_slowness() || failure.waits().is_some() => {
            let (rest, delay) = (delivery.rest(command), failure.waits());
            let sent = cx.commands.send_later(&[rest], delay, delivery.hard_deadline).await;
            sent.map_err(|_| failure)?;
            Ok(Disposition::Continued)
        }
        applied => applied,
    }
}

/// Makes a failed message a dead letter, if it is time for that.
async fn give_up(
    letters: &DeadLetterQueue,
    id: &str,
    message: &SqsMessage,
    receives: u32,
    failure: Failure,
    deadline: Deadline,
) -> Disposition {
    if !failure.is_permanent() && receives < MAX_RECEIVES {
        return Disposition::Retry(failure, None);
    }
    match letters.send(id, message, receives, &failure, deadline).await {
        Ok(()) if failure.is_permanent() => Disposition::Refused(failure),
        Ok(()) => Disposition::GivenUp(failure),
        Err(error) => Disposition::Retry(failure, Some(error)),
    }
}
