//! One message: parse it, apply it, decide what becomes of it, and log that in one line.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::Command;
use shared::platform::dead_letters::MAX_RECEIVES;
use shared::platform::dynamo::{Dynamo, Usage};
use shared::platform::message::CommandError;
use shared::platform::runtime::deadline::Deadline;
use tokio::time::Instant;

use crate::apply::apply;
use crate::command_queue::CommandQueue;
use crate::context::Context;
use crate::dead_letters::DeadLetterQueue;
use crate::delivery::Delivery;
use crate::disposition::Disposition;
use crate::failure::Failure;
use crate::log::About;
use crate::refusal::RefusedCommand;
use crate::writer::Writer;

pub(crate) struct Handled {
    pub(crate) disposition: Disposition,
    pub(crate) usage: Usage,
    /// True if it may have changed what pages of timelines show.
    pub(crate) shows: bool,
    /// True if it was refused, and names neither a viewer nor an actor nor a tenant.
    pub(crate) is_unreadable: bool,
}

/// The clients of one message, so that its usage is counted separately.
struct Connections {
    dynamo: Dynamo,
    commands: CommandQueue,
    dead_letters: DeadLetterQueue,
}

impl Connections {
    fn new(writer: &Writer, delivery: &Delivery) -> Self {
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

impl Writer {
    /// Applies one message, whose body was read, and logs its outcome in one line.
    pub(crate) async fn message(
        &self,
        id: &str,
        message: &SqsMessage,
        read: Result<Command, CommandError>,
        deadline: Deadline,
    ) -> Handled {
        let begun = Instant::now();
        // A message without a body is no command, and cannot become a dead letter here: the queue moves it.
        let body = message.body.as_deref().unwrap_or("");
        let delivery = Delivery::new(message, self.commands.first(message), deadline);
        let connections = Connections::new(self, &delivery);
        let receives = delivery.receives;
        let opened = read.clone().map(|command| delivery.clone().open(command));
        let is_shown = opened.as_ref().is_ok_and(|(command, _)| command.is_shown());
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
        let mut is_unreadable = false;
        let disposition = match applied {
            Ok(disposition) => disposition,
            Err(failure) if !failure.is_permanent() && receives < MAX_RECEIVES => {
                Disposition::Retry(failure, None)
            }
            Err(failure) => {
                let refused = RefusedCommand::new(body, read, delivery.clone());
                is_unreadable = refused.is_unreadable(&failure);
                self.give_up(&connections, (message, &delivery), &refused, failure).await
            }
        };
        let shows = is_shown && !matches!(disposition, Disposition::Unseen);
        let usage = connections.usage();
        about.log(&disposition, usage, begun.elapsed());
        Handled { disposition, usage, shows, is_unreadable }
    }

    /// Logs a message that was not applied: others stand for it, or it went back to the queue.
    pub(crate) fn unapplied(
        &self,
        id: &str,
        read: &Result<Command, CommandError>,
        disposition: Disposition,
    ) -> Handled {
        let (usage, shows) = (Usage::default(), false);
        About::new(id, 1, read.as_ref().ok()).log(&disposition, usage, Duration::ZERO);
        Handled { disposition, usage, shows, is_unreadable: false }
    }

    /// Makes a failed message a dead letter, or counts it as refused without one. If counting is only slow, the message goes back.
    async fn give_up(
        &self,
        connections: &Connections,
        (message, delivery): (&SqsMessage, &Delivery),
        refused: &RefusedCommand,
        failure: Failure,
    ) -> Disposition {
        // Time is left for sending it back, or for its letter.
        let ledger = self.ledger.over(&connections.dynamo.until(delivery.deadline));
        let refusals = connections.dead_letters.refusals(&ledger);
        match refused.is_kept(&refusals, &failure, self.clock.now()).await {
            Ok(true) => {}
            Ok(false) => return Disposition::Refused(failure),
            Err(error) => {
                let commands = &connections.commands;
                let back = commands.as_it_came(message, &delivery.origin);
                if let Some(back) = back.filter(|_| error.is_slowness())
                    && commands.send_back(&[back], delivery.hard_deadline).await.is_ok()
                {
                    return Disposition::Undecided;
                }
                // The last delivery: a letter more than there is room for is better than none.
                if delivery.receives < MAX_RECEIVES {
                    return Disposition::Retry(failure, Some(error.into()));
                }
            }
        }
        match connections.dead_letters.send(message, delivery, &failure).await {
            Ok(()) if failure.is_permanent() => Disposition::Refused(failure),
            Ok(()) => Disposition::GivenUp(failure),
            Err(error) => Disposition::Retry(failure, Some(error.into())),
        }
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
            Ok(Disposition::Undecided)
        }
        applied => applied,
    }
}
