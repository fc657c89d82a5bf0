//! Sends many commands, and waits until these are done, whatever else is on the queue.
//!
//! Each message carries a [receipt](shared::platform::receipts), which the writer notes before it
//! acknowledges the message. So the wait ends with a proof for each command, on the local stack and
//! on AWS, and does not depend on other senders, on delayed messages, or on numbers of messages,
//! which are approximate. Reading costs a read unit for each hundred commands, each time that they
//! are looked at.
//!
//! A command ends in one of these ways:
//!
//! - The writer notes that it is done, or that it is a dead letter.
//! - The writer notes that other messages do the rest: the fan-out to a large audience, or work
//!   that took longer than an invocation. Then its [effect](crate::effects) is waited for.
//! - The function died of it at each receive, and SQS has made it a dead letter, under the id of
//!   its message.
//!
//! The wait has bounds: [`NO_PROGRESS`], [`LONGEST_WORK`] and [`PATIENCE`]. What is not done then
//! is not lost: it is on the queue, and sending it again changes nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt, future, stream};
use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use nagare_client::sender::Sender;
use parking_lot::Mutex;
use shared::command::Command;
use shared::platform::dead_letters::DeadLetters;
use shared::platform::queue::{BATCH, Message};
use shared::platform::receipts::{ITEMS, MessageEnd, PER_ITEM, RECEIPT, Receipt, Receipts, RunId};
use tokio::time::Instant;
use uuid::Uuid;

use crate::effects::{CommandStatus, Effects, Watch};

/// Calls of the queue in flight at once.
const IN_FLIGHT: usize = 8;
/// Commands that wait to be done before more of a long input are sent. More would be applied no
/// sooner, a local stack keeps them in memory, and commands of others come behind them.
pub const MOST_WAITING: usize = 20_000;
/// The same, of the bytes of their bodies, which are kept here.
const MOST_BYTES: usize = 32 << 20;
/// How long to wait before the second look, and at most between two looks.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long no command is done before dead letters are looked for, and how many at once.
const QUIET: Duration = Duration::from_secs(2);
const LETTERS: usize = 100;
/// How long to wait for dead letters to be kept, so that they are listed when a command says that
/// there are some. Equal ones are only counted from some number on.
const KEPT_WITHIN: Duration = Duration::from_secs(5);
/// Lookups of effects and letters in flight at once.
const LOOKUPS: usize = 16;
/// How long to wait while no command is done: longer than a message that a dying invocation has
/// received stays hidden (360 s on AWS).
pub const NO_PROGRESS: Duration = Duration::from_secs(400);
/// The same, if only work is left that was handed on.
pub const LONGEST_WORK: Duration = Duration::from_secs(3_600);
/// How long to wait for a stack that does not answer: long enough to restart it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What became of the commands of a run.
#[derive(Debug, Default)]
pub struct Completed {
    /// All of them.
    pub sent: u64,
    /// Those that are dead letters.
    pub refused: Vec<Command>,
}

impl Completed {
    /// # Errors
    /// [`Failure::No`] if some are dead letters.
    pub fn conclude(&self) -> Result<(), Failure> {
        match self.refused.len() {
            0 => Ok(()),
            refused => Err(Failure::No(format!(
                "{refused} of {} commands became dead letters: `nagare dead-letters list` shows why",
                self.sent
            ))),
        }
    }
}

/// A command that is not known to be done, or is a dead letter.
#[derive(Clone)]
struct Waiting {
    command: Command,
    /// The bytes of its body.
    bytes: usize,
    /// The id of its message, once the queue has said it.
    message_id: String,
}

/// What has been sent, and what is not done of it.
#[derive(Default)]
struct Sent {
    waiting: BTreeMap<u32, Waiting>,
    bytes: usize,
    count: u32,
    /// Nothing more is sent.
    is_all: bool,
}

/// Sends commands, and waits for their end.
struct Run<'a> {
    id: RunId,
    sender: Sender,
    receipts: Receipts,
    letters: DeadLetters,
    effects: &'a Effects,
    sent: Mutex<Sent>,
}

/// Sends commands, in order as far as a standard queue keeps it, and returns once each of them is
/// done. Calls `done` with the number of commands that are newly done.
///
/// # Errors
/// [`Failure::Unreachable`] if the stack does not answer, or some commands are not done in time,
/// and the errors of the commands.
pub async fn complete(
    remote: &Remote,
    commands: impl Stream<Item = Result<Command, Failure>>,
    done: impl Fn(u64),
) -> Result<Completed, Failure> {
    let effects = Effects::new(remote)?;
    let run = Run {
        id: RunId(Uuid::new_v4().as_u128()),
        sender: remote.sender()?,
        receipts: Receipts::new(&remote.ledger()?),
        letters: remote.dead_letters()?,
        effects: &effects,
        sent: Mutex::default(),
    };
    let (_, refused) = future::try_join(run.send(commands), run.watch(done)).await?;
    run.await_letters(&refused).await?;
    let sent = run.sent.lock().count.into();
    Ok(Completed { sent, refused: refused.into_iter().map(|it| it.command).collect() })
}

impl Run<'_> {
    async fn send(
        &self,
        commands: impl Stream<Item = Result<Command, Failure>>,
    ) -> Result<(), Failure> {
        let numbered = commands.then(async |command| {
            while self.is_full() {
                tokio::time::sleep(FIRST_PAUSE).await;
            }
            Ok::<_, Failure>(self.numbered(command?))
        });
        let batches = numbered.try_ready_chunks(BATCH).map_err(|e| e.1);
        let sent = batches.map(|batch| async {
            let batch: Vec<(u32, Message)> = batch?;
            let (numbers, messages): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let ids = self.sender.send_batch(&messages).await?;
            let mut sent = self.sent.lock();
            for (number, id) in numbers.iter().zip(ids) {
                if let Some(waiting) = sent.waiting.get_mut(number) {
                    waiting.message_id = id;
                }
            }
            Ok::<_, Failure>(())
        });
        sent.buffered(IN_FLIGHT).try_collect::<()>().await?;
        self.sent.lock().is_all = true;
        Ok(())
    }

    fn is_full(&self) -> bool {
        let sent = self.sent.lock();
        sent.waiting.len() >= MOST_WAITING || sent.bytes >= MOST_BYTES
    }

    /// A command as a message with its receipt.
    fn numbered(&self, command: Command) -> (u32, Message) {
        let message = Message::from(&command);
        let mut sent = self.sent.lock();
        let number = sent.count;
        sent.count += 1;
        sent.bytes += message.body.len();
        let (bytes, message_id) = (message.body.len(), String::new());
        let waiting = Waiting { command, bytes, message_id };
        sent.waiting.insert(number, waiting);
        let receipt = Receipt { run: self.id, number };
        (number, Message { attributes: vec![(RECEIPT, receipt.to_string())], ..message })
    }

    /// Looks again and again, until all is sent and done. Returns the commands that are dead
    /// letters.
    async fn watch(&self, done: impl Fn(u64)) -> Result<Vec<Waiting>, Failure> {
        let (mut handed_on, mut refused) = (Vec::new(), Vec::new());
        let (mut answered_at, mut done_at, mut pause) =
            (Instant::now(), Instant::now(), FIRST_PAUSE);
        loop {
            match self.look(&mut handed_on, &mut refused, done_at.elapsed() >= QUIET).await {
                Ok(ended) => {
                    answered_at = Instant::now();
                    done(ended);
                    if ended > 0 {
                        done_at = Instant::now();
                    }
                }
                Err(Failure::Unreachable(_)) if answered_at.elapsed() < PATIENCE => {}
                Err(failure) => return Err(failure),
            }
            let (waiting, is_all) = {
                let sent = self.sent.lock();
                (sent.waiting.len(), sent.is_all)
            };
            match (waiting, handed_on.len()) {
                (0, 0) if is_all => return Ok(refused),
                (0, 0) => done_at = Instant::now(),
                (0, left) if done_at.elapsed() >= LONGEST_WORK => {
                    return Err(not_done(left, LONGEST_WORK));
                }
                (1.., left) if done_at.elapsed() >= NO_PROGRESS => {
                    return Err(not_done(waiting + left, NO_PROGRESS));
                }
                _ => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Looks once at all that is not done. Returns how many commands have ended since the last
    /// look.
    async fn look<'e>(
        &'e self,
        handed_on: &mut Vec<(Waiting, Watch<'e>)>,
        refused: &mut Vec<Waiting>,
        is_quiet: bool,
    ) -> Result<u64, Failure> {
        let mut items: Vec<_> = {
            let sent = self.sent.lock();
            sent.waiting.keys().map(|number| number / PER_ITEM).collect()
        };
        items.dedup();
        let mut ended = 0;
        for items in items.chunks(ITEMS) {
            for (number, end) in self.receipts.read(self.id, items).await? {
                let Some(waiting) = self.take(number) else { continue };
                match end {
                    MessageEnd::Done => ended += 1,
                    MessageEnd::HandedOn => {
                        let Waiting { command, message_id, .. } = waiting.clone();
                        handed_on.push((waiting, self.effects.watch(command, message_id)));
                    }
                    MessageEnd::Refused => {
                        ended += 1;
                        refused.push(waiting);
                    }
                }
            }
        }
        ended += self.look_at_work(handed_on, refused).await?;
        if is_quiet && ended == 0 {
            ended += self.look_at_letters(refused).await?;
        }
        Ok(ended)
    }

    /// Takes a command that is done, unless the answer with the id of its message is still on its
    /// way: it is taken the next time then.
    fn take(&self, number: u32) -> Option<Waiting> {
        let mut sent = self.sent.lock();
        sent.waiting.get(&number).filter(|it| !it.message_id.is_empty())?;
        let waiting = sent.waiting.remove(&number)?;
        sent.bytes -= waiting.bytes;
        Some(waiting)
    }

    /// Looks at the effects of some commands that were handed on, those that were not looked at for
    /// longest.
    async fn look_at_work(
        &self,
        handed_on: &mut Vec<(Waiting, Watch<'_>)>,
        refused: &mut Vec<Waiting>,
    ) -> Result<u64, Failure> {
        let mut ended = 0;
        for _ in 0..handed_on.len().div_ceil(LOOKUPS) {
            let (some, before) = (handed_on.len().min(LOOKUPS), ended);
            let looks = handed_on[..some].iter_mut().map(|(_, watch)| watch.look());
            let known = future::try_join_all(looks).await?;
            let looked_at: Vec<_> = handed_on.drain(..some).collect();
            for ((waiting, watch), status) in looked_at.into_iter().zip(known) {
                match status {
                    CommandStatus::Pending => handed_on.push((waiting, watch)),
                    CommandStatus::Applied { .. } | CommandStatus::Overtaken(_) => ended += 1,
                    CommandStatus::DeadLetter { .. } => {
                        ended += 1;
                        refused.push(waiting);
                    }
                }
            }
            // The others will hardly have ended sooner.
            if ended == before {
                break;
            }
        }
        Ok(ended)
    }

    /// Looks for dead letters of those that have waited longest.
    async fn look_at_letters(&self, refused: &mut Vec<Waiting>) -> Result<u64, Failure> {
        let oldest: Vec<_> = {
            let sent = self.sent.lock();
            let known = sent.waiting.iter().filter(|(_, it)| !it.message_id.is_empty());
            known.map(|(n, it)| (*n, it.message_id.clone())).take(LETTERS).collect()
        };
        let letters = oldest.into_iter().map(async |(number, id)| {
            let letter = self.letters.get(&id).await?;
            Ok::<_, Failure>(letter.map(|letter| (number, letter.body)))
        });
        let found: Vec<_> = stream::iter(letters).buffer_unordered(LOOKUPS).try_collect().await?;
        let mut ended = 0;
        for (number, body) in found.into_iter().flatten() {
            // Anybody who may send to the dead-letter queue can use any id.
            let is_own = |it: &Waiting| it.command.to_body() == body;
            let is_own = self.sent.lock().waiting.get(&number).is_some_and(is_own);
            if let Some(waiting) = is_own.then(|| self.take(number)).flatten() {
                refused.push(waiting);
                ended += 1;
            }
        }
        Ok(ended)
    }

    /// Waits until the dead letters of commands are kept, for a while.
    async fn await_letters(&self, refused: &[Waiting]) -> Result<(), Failure> {
        let end = Instant::now() + KEPT_WITHIN;
        for Waiting { message_id, .. } in refused.iter().take(LETTERS) {
            while Instant::now() < end && self.letters.head(message_id).await?.is_none() {
                tokio::time::sleep(FIRST_PAUSE).await;
            }
        }
        Ok(())
    }
}

fn not_done(left: usize, after: Duration) -> Failure {
    Failure::Unreachable(format!(
        "{left} commands are not done, and none was for {} s; they may still be on the queue, and sending them again changes nothing",
        after.as_secs()
    ))
}
