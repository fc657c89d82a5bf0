//! The fan-out writer: takes commands from the queue and makes timelines agree with them.
//!
//! ```text
//! handle            a batch of messages in, the ids of the unfinished ones out
//!   merging         commands of a batch that make no difference next to others of it
//!   shares          how much of a process's time one person has
//!   receipts        messages whose producers wait for them
//!   message         one message: parse, apply, and decide between acknowledged, retry, dead letter
//!     delivery      its deadlines, and what may have happened before
//!     context       the handles that it may use
//!     apply/        one file for each feature, and the dispatch to them
//!     fanout/
//!       start       every follower: few at once, many in segments that many invocations work on
//!       segment     a range of followers, page after page, handed on when time is up
//!       page        some followers' timelines: insert an entry or remove it, and check again
//!       recheck     what crashed deliveries may have left in a range
//!     command_queue the rest of long work goes back to the queue of commands
//!     dead_letters  what cannot be applied goes to the dead-letter queue with its reason
//!     refusal       a command that can never be applied: is it a letter, or only counted?
//!     disposition   the outcome of the message
//!     log           the log line about it
//!   metrics         the metrics of a batch
//! ```
//!
//! Long work never fails for being long. Half of an invocation's time is for beginning work, the other half for ending what
//! has begun, and the rest of the work goes back to the queue as a message of its own. Receives count failures only.
//!
//! Each command first states its fact in the ledger, and then makes timelines agree with what the ledger says now.
//! [`shared::social::fanout`] argues why that ends right whatever happens at the same time.

mod apply;
mod command_queue;
mod context;
mod dead_letters;
mod delivery;
mod disposition;
pub mod env;
mod failure;
mod fanout;
mod log;
mod merging;
mod message;
mod metrics;
mod receipts;
mod refusal;
mod shares;

use std::collections::HashMap;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::{BoxFuture, join_all};
use shared::command::{Command, InternalSeal};
use shared::history::events::{EventSettings, EventTables, Events};
use shared::history::switch::HistorySwitch;
use shared::platform::dead_letters::LetterSeal;
use shared::platform::dynamo::PacedTable;
use shared::platform::environment::Environment;
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::outbound::Bus;
use shared::platform::projection::Views;
use shared::platform::queue::{BatchError, Message, message_ids};
use shared::platform::receipts::RECEIPT;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;
use shared::platform::runtime::hold::Hold;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::Retention;
use shared::social::WriteQueues;
use shared::social::activities::ChangeLog;
use shared::social::activities::changes::Copies;
use shared::social::follows::Parking;
use shared::social::timelines::Timelines;

pub use command_queue::CommandQueue;
pub(crate) use context::Context;
pub use dead_letters::DeadLetterQueue;
pub use delivery::Delivery;
pub use disposition::{Disposition, FanOutEnd, NotGivenUp};
pub use failure::Failure;
pub use fanout::FanOutLimits;
use merging::{shared, stand_ins, target};
use message::Handled;
pub use metrics::metric_names;
use shares::Admission;
pub use shares::Shares;

/// The writer. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Writer {
    /// What must not be lost.
    pub ledger: Ledger,
    /// The facts that views are folded from.
    pub facts: Facts,
    /// The views, which say what viewers were notified of when they mark it as read.
    pub views: Views,
    pub timelines: Timelines,
    /// Where segments of large fan-outs go.
    pub commands: CommandQueue,
    /// The queue for commands that cannot be applied.
    pub dead_letters: DeadLetterQueue,
    pub limits: FanOutLimits,
    pub retention: Retention,
    /// Whether viewers are parked. Clones share what they remember of who is not.
    pub parking: Parking,
    pub metrics: Metrics,
    pub clock: Clock,
    /// The change log that tells readers of edits. Shared by all deliveries of a process.
    pub change_log: ChangeLog,
    /// The work that waits for a group commit. Shared by all deliveries of a process, too.
    pub queues: WriteQueues,
    /// Where events are recorded; `None` if the event history is off.
    pub events: Option<Events>,
    /// How long a batch waits before it is acknowledged; the same as the readers' hold.
    pub hold: Hold,
    pub bus: Bus,
    /// How much of the time of this process one person has.
    pub shares: Shares,
}

impl Writer {
    /// As its environment says.
    ///
    /// # Errors
    /// [`EnvError`] names the variable.
    pub fn of(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, dynamo, metrics, clock, .. } = environment;
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let timelines = PacedTable::new(environment.table(env::TIMELINES_TABLE)?);
        let events = match variables.parsed_or(env::HISTORY, HistorySwitch::On)? {
            HistorySwitch::On => {
                let prefix = variables.required(env::EVENTS_TABLE_PREFIX)?;
                let settings = EventSettings::among(variables, &env::EVENT_SETTINGS)?;
                Some(Events::new(settings, &EventTables::new(dynamo, &prefix), &ledger))
            }
            HistorySwitch::Off => None,
        };
        let secrets = variables.secrets(env::INTERNAL_SECRETS)?;
        let letters = environment.sender(env::DEAD_LETTER_QUEUE_URL)?;
        Ok(Self {
            timelines: Timelines::new(timelines, &ledger),
            facts: Facts::new(environment.table(env::FACTS_TABLE)?),
            views: Views::new(environment.table(env::VIEWS_TABLE)?),
            commands: CommandQueue::new(
                environment.sender(env::QUEUE_URL)?,
                InternalSeal::new(&secrets),
            ),
            dead_letters: DeadLetterQueue::new(letters, LetterSeal::new(&secrets)),
            limits: FanOutLimits::default(),
            retention: variables.days(env::RETENTION_DAYS)?,
            parking: variables.parsed_or(env::IDLE_DAYS, Parking::off())?,
            metrics: metrics.clone(),
            clock: clock.clone(),
            change_log: ChangeLog::new(
                variables.parsed_or(env::CHANGE_LOG_COPIES, Copies::default())?,
            ),
            queues: WriteQueues::default(),
            events,
            hold: Hold::default(),
            bus: environment.bus(env::EVENT_BUS_NAME),
            shares: Shares::default(),
            ledger,
        })
    }

    /// Applies a batch of messages, each on its own. The response names those that have to be
    /// delivered again; all others are done, or kept as dead letters. It is returned a
    /// [hold](shared::platform::runtime::hold) after the last write that timelines show, so that pages are of
    /// one moment.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    ///
    /// # Errors [`BatchError`]: nothing was applied.
    pub fn handle(
        &self,
        event: SqsEvent,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<SqsBatchResponse, BatchError>> {
        Box::pin(async move {
            let ids =
                message_ids(event.records.iter().map(|message| message.message_id.as_deref()))?;
            let mut handled = self.messages(&ids, &event.records, deadline).await;
            if handled.iter().any(|handled| handled.shows) {
                self.hold.wait().await;
            }
            receipts::note(self, &event.records, &mut handled, deadline).await;
            let refused = self.bus.take_refused();
            metrics::count(&self.metrics, &handled, refused, self.clock.now());
            let mut response = SqsBatchResponse::default();
            for (id, _) in ids.into_iter().zip(&handled).filter(|(_, h)| h.disposition.is_retry()) {
                let mut failure = BatchItemFailure::default();
                failure.item_identifier = id;
                response.batch_item_failures.push(failure);
            }
            Ok(response)
        })
    }

    /// Handles messages side by side, except those that others of the batch stand for, and those of
    /// people beyond their share, which go back to the queue.
    async fn messages(
        &self,
        ids: &[String],
        messages: &[SqsMessage],
        deadline: Deadline,
    ) -> Vec<Handled> {
        let now = self.clock.now();
        let (mut by_body, mut read) = (HashMap::new(), Vec::with_capacity(messages.len()));
        for body in messages.iter().map(|message| message.body.as_deref().unwrap_or("")) {
            let parsed = by_body.entry(body).or_insert_with(|| self.commands.parse(body, now));
            read.push(parsed.clone());
        }
        let commands: Vec<_> = read.iter().map(|read| read.as_ref().ok()).collect();
        let stand_ins = stand_ins(messages, &commands);
        let admitted =
            messages.iter().zip(&commands).map(|(m, command)| self.admitted(m, *command));
        let admitted: Vec<_> = admitted.collect();
        let can_be_refused = |index: usize| commands[index].and_then(target).is_none();
        let is_back = |index: usize| {
            let stand_ins = &stand_ins[index];
            admitted[index].is_back()
                && (stand_ins.is_empty() || can_be_refused(index))
                && stand_ins.iter().all(|index| admitted[*index].is_back())
        };
        let back: Vec<_> = (0..messages.len()).filter(|index| is_back(*index)).collect();
        let back = self.sent_back(messages, &admitted, &back, deadline).await;
        let each = ids.iter().zip(messages).zip(&read).enumerate();
        let first = each.map(async |(index, ((id, m), read))| match stand_ins[index].is_empty() {
            _ if back.contains(&index) => Some(self.unapplied(id, read, Disposition::Undecided)),
            true => Some(self.message(id, m, read.clone(), deadline).await),
            false => None,
        });
        let first = join_all(first).await;
        let of = |index: &usize| first[*index].as_ref().map(|handled| &handled.disposition);
        let outcomes = stand_ins.iter().enumerate().map(|(index, stand_ins)| {
            shared(can_be_refused(index), stand_ins.iter().filter_map(of))
        });
        let outcomes: Vec<_> = outcomes.collect();
        drop(admitted);
        let all = ids.iter().zip(messages).zip(read).zip(first.into_iter().zip(outcomes));
        join_all(all.map(async |(((id, m), read), handled)| match handled {
            (Some(handled), _) => handled,
            (None, Some(disposition)) => self.unapplied(id, &read, disposition),
            (None, None) => self.message(id, m, read, deadline).await,
        }))
        .await
    }

    /// Whether a message is within its person's share. A delivery that may not be the first of its
    /// message has to be applied, and one that its producer waits for is.
    fn admitted(&self, message: &SqsMessage, command: Option<&Command>) -> Admission {
        let group = message.attributes.get("MessageGroupId").map(String::as_str);
        let is_awaited = message.message_attributes.contains_key(RECEIPT);
        match command.filter(|_| !is_awaited && !Delivery::is_again(message)) {
            Some(command) => self.shares.admit(command, group),
            None => Admission::NOW,
        }
    }

    /// Sends messages back to the queue. Returns those that went; the others have to be applied.
    async fn sent_back(
        &self,
        messages: &[SqsMessage],
        admitted: &[Admission],
        back: &[usize],
        deadline: Deadline,
    ) -> Vec<usize> {
        let message = |index: &usize| {
            let Admission::Back { group, delay_seconds } = &admitted[*index] else { return None };
            let message = &messages[*index];
            let Delivery { origin, .. } =
                Delivery::of(message, self.commands.first(message), deadline);
            let back = self.commands.as_it_came(message, &origin)?;
            let (group, delay_seconds) = (Some(group.clone()), *delay_seconds);
            Some((*index, Message { group, delay_seconds, ..back }))
        };
        let (back, messages): (Vec<_>, Vec<_>) = back.iter().filter_map(message).unzip();
        match self.commands.send_back(&messages, deadline).await {
            Ok(()) => back,
            Err(error) => {
                shared::tracing::warn!("commands of people beyond their share stay: {error}");
                Vec::new()
            }
        }
    }
}
