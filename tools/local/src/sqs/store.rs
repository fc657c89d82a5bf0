//! What a call does, as one transaction.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};
use uuid::Uuid;

use super::error::QueueError;
use super::limits::millis;
use super::message::{MessageId, NewMessage, ReceivedMessage};
use super::receipt::ReceiptHandle;
use super::rows::{self, QuietFrom, Ready};
use super::schema::{self, QueueKey};
use crate::engine::compact::rewrite;

/// How many messages a queue holds, by what can be done with them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Can be received now.
    pub visible: u64,
    /// Received, hidden and not deleted.
    pub in_flight: u64,
    /// Sent with a delay that is not over.
    pub delayed: u64,
}

impl Counts {
    /// Whether the queue is drained: nothing to receive now or later.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A queue and the time of the call: what every transaction starts from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    pub(super) queue: QueueKey,
    pub(super) now: i64,
    /// Messages that were sent at this time or before have expired.
    pub(super) expired_until: i64,
}

/// How to receive.
pub(super) struct Delivery<'a> {
    pub(super) max: usize,
    pub(super) visible_at: i64,
    pub(super) dead_letters: Option<DeadLetters<'a>>,
}

/// Where messages go that have been received too often.
pub(super) struct DeadLetters<'a> {
    pub(super) max_receives: u32,
    pub(super) target: QueueKey,
    pub(super) source_name: &'a str,
}

/// What a receive did.
pub(super) struct Delivered {
    pub(super) messages: Vec<ReceivedMessage>,
    pub(super) moved: bool,
}

pub(super) struct Store {
    connection: Connection,
    /// The database file; `None` in memory.
    file: Option<PathBuf>,
    /// How many pages messages may fill; a file has no limit of its own.
    max_pages: Option<u64>,
    quiet_from: Option<QuietFrom>,
}

impl Store {
    pub(super) fn in_memory() -> Result<Self, QueueError> {
        let max_pages = Some(schema::MEMORY_PAGES);
        let connection = schema::open_in_memory()?;
        Ok(Self { connection, file: None, max_pages, quiet_from: None })
    }

    pub(super) fn open(path: &Path) -> Result<Self, QueueError> {
        let connection = schema::open_file(path).map_err(|error| error.in_file(Some(path)))?;
        Ok(Self { connection, file: Some(path.to_owned()), max_pages: None, quiet_from: None })
    }

    pub(super) fn register(&self, name: &str, now: i64) -> Result<(QueueKey, i64), QueueError> {
        rows::register(&self.connection, name, now)
    }

    pub(super) fn send(
        &mut self,
        scope: Scope,
        messages: &[NewMessage],
    ) -> Result<Vec<MessageId>, QueueError> {
        let max_pages = self.max_pages;
        self.transact(scope, |db| {
            if let Some(max) = max_pages
                && rows::used_pages(db)? >= max
            {
                return Err(QueueError::Full);
            }
            let send = |message: &NewMessage| {
                let visible_at = scope.now.saturating_add(millis(message.delay));
                rows::insert(db, scope.queue, message, scope.now, visible_at)
            };
            let ids = messages.iter().map(send).collect::<Result<Vec<_>, _>>()?;
            rows::add_to_total(db, scope.queue, length(&ids))?;
            Ok(ids)
        })
    }

    pub(super) fn receive(
        &mut self,
        scope: Scope,
        delivery: &Delivery<'_>,
    ) -> Result<Delivered, QueueError> {
        let nonce = Uuid::new_v4().into_bytes();
        let mut quiet_from = self.quiet_from.take();
        let delivered = self.transact(scope, |db| {
            let (ready, moved) = next_after_moves(db, scope, delivery, &mut quiet_from)?;
            let deliver = |message: &Ready| {
                let receipt = ReceiptHandle { queue: scope.queue, seq: message.seq, nonce };
                rows::deliver(db, receipt, scope.now, delivery.visible_at)
            };
            let messages = ready.iter().map(deliver).collect::<Result<_, _>>()?;
            Ok(Delivered { messages, moved })
        });
        self.quiet_from = quiet_from;
        delivered
    }

    pub(super) fn delete(
        &mut self,
        scope: Scope,
        receipts: &[ReceiptHandle],
    ) -> Result<(), QueueError> {
        self.transact(scope, |db| {
            let mut deleted = 0;
            for receipt in receipts.iter().filter(|receipt| receipt.queue == scope.queue) {
                deleted += i64::from(rows::delete(db, receipt)?);
            }
            rows::add_to_total(db, scope.queue, -deleted)
        })
    }

    pub(super) fn change_visibility(
        &mut self,
        scope: Scope,
        receipt: &ReceiptHandle,
        visible_at: i64,
    ) -> Result<(), QueueError> {
        self.transact(scope, |db| rows::hide_until(db, receipt, scope.now, visible_at))
    }

    pub(super) fn release_in_flight(&mut self, scope: Scope) -> Result<(), QueueError> {
        self.transact(scope, |db| rows::show_in_flight(db, scope.queue, scope.now))
    }

    pub(super) fn counts(&mut self, scope: Scope) -> Result<Counts, QueueError> {
        self.transact(scope, |db| {
            let total = rows::total(db, scope.queue)?;
            let hidden = rows::hidden(db, scope.queue, scope.now)?;
            let (in_flight, delayed) = (hidden.in_flight, hidden.delayed);
            Ok(Counts { visible: total - in_flight - delayed, in_flight, delayed })
        })
    }

    pub(super) fn purge(&mut self, scope: Scope) -> Result<(), QueueError> {
        self.transact(scope, |db| {
            let purged = rows::purge(db, scope.queue)?;
            rows::add_to_total(db, scope.queue, -purged)
        })
    }

    pub(super) fn compact(&self) -> Result<(), QueueError> {
        match &self.file {
            Some(file) => rewrite(&self.connection)
                .map_err(|error| QueueError::from(error).in_file(Some(file))),
            None => Ok(()),
        }
    }

    pub(super) fn last(&self) -> Result<i64, QueueError> {
        rows::last(&self.connection).map_err(|error| error.in_file(self.file.as_deref()))
    }

    pub(super) fn unfinished(&mut self, scope: Scope, until: i64) -> Result<u64, QueueError> {
        self.transact(scope, |db| rows::unfinished(db, scope.queue, scope.now, until))
    }

    pub(super) fn oldest_sent_at(&mut self, scope: Scope) -> Result<Option<i64>, QueueError> {
        self.transact(scope, |db| rows::oldest_sent_at(db, scope.queue, scope.now))
    }

    pub(super) fn first_delayed_at(&mut self, scope: Scope) -> Result<Option<i64>, QueueError> {
        self.transact(scope, |db| rows::first_delayed_at(db, scope.queue, scope.now))
    }

    pub(super) fn first_visible_at(&self, queue: QueueKey) -> Result<Option<i64>, QueueError> {
        let first = rows::first_visible_at(&self.connection, queue);
        first.map_err(|error| error.in_file(self.file.as_deref()))
    }

    /// Runs a call on the messages that have not expired. If it fails, it has no effect.
    fn transact<T>(
        &mut self,
        scope: Scope,
        call: impl FnOnce(&Connection) -> Result<T, QueueError>,
    ) -> Result<T, QueueError> {
        let outcome = self.transact_somewhere(scope, call);
        outcome.map_err(|error| error.in_file(self.file.as_deref()))
    }

    fn transact_somewhere<T>(
        &mut self,
        scope: Scope,
        call: impl FnOnce(&Connection) -> Result<T, QueueError>,
    ) -> Result<T, QueueError> {
        // Ends a transaction that could not even be rolled back, as on a full disk.
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        let expired = rows::expire(&transaction, scope.queue, scope.expired_until)?;
        rows::add_to_total(&transaction, scope.queue, -expired)?;
        let answer = call(&transaction)?;
        transaction.commit()?;
        Ok(answer)
    }
}

/// The messages to hand out, after moving those that have had all their receives.
///
/// It looks again after every move, before anything is handed out: a receive that hides for zero
/// seconds would otherwise meet its own messages again.
fn next_after_moves(
    db: &Connection,
    scope: Scope,
    delivery: &Delivery<'_>,
    quiet_from: &mut Option<QuietFrom>,
) -> Result<(Vec<Ready>, bool), QueueError> {
    let mut moved = false;
    loop {
        let ready = rows::ready(db, scope.queue, scope.now, delivery.max, quiet_from)?;
        let Some(dead_letters) = &delivery.dead_letters else {
            return Ok((ready, moved));
        };
        let exhausted = |message: &&Ready| message.receives >= dead_letters.max_receives;
        let dead: Vec<_> = ready.iter().filter(exhausted).collect();
        if dead.is_empty() {
            return Ok((ready, moved));
        }
        move_to_dead_letters(db, scope, dead_letters, &dead)?;
        moved = true;
    }
}

fn move_to_dead_letters(
    db: &Connection,
    scope: Scope,
    dead_letters: &DeadLetters<'_>,
    dead: &[&Ready],
) -> Result<(), QueueError> {
    for message in dead {
        rows::move_to(db, message.seq, dead_letters.target, dead_letters.source_name, scope.now)?;
    }
    rows::add_to_total(db, scope.queue, -length(dead))?;
    rows::add_to_total(db, dead_letters.target, length(dead))
}

fn length<T>(items: &[T]) -> i64 {
    i64::try_from(items.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(queue: QueueKey) -> Scope {
        Scope { queue, now: 1, expired_until: -1 }
    }

    #[test]
    fn a_transaction_that_was_left_open_has_not_happened() {
        let mut store = Store::in_memory().unwrap();
        let (queue, _) = store.register("work", 0).unwrap();
        store.send(scope(queue), &[NewMessage::new("before").unwrap()]).unwrap();
        // As after a commit and a rollback that both failed, on a full disk.
        store.connection.execute_batch("BEGIN; DELETE FROM messages").unwrap();
        store.send(scope(queue), &[NewMessage::new("after").unwrap()]).unwrap();
        assert_eq!(store.counts(scope(queue)).unwrap().visible, 2);
        assert!(rows::first_visible_at(&store.connection, queue).unwrap().is_some());
    }

    #[test]
    fn a_failure_names_the_file_and_the_cause() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("queues.sqlite");
        let mut store = Store::open(&path).unwrap();
        let (queue, _) = store.register("work", 0).unwrap();
        // What a full disk says, by a limit of SQLite's own.
        store.connection.pragma_update(None, "max_page_count", 1).unwrap();
        let messages = vec![NewMessage::new("x".repeat(100_000)).unwrap(); 10];
        let failure = store.send(scope(queue), &messages).unwrap_err();
        let said = format!("{}: database or disk is full (SQLite 13)", path.display());
        assert_eq!(failure.unredacted(), format!("the queue's storage failed: {said}"));
        assert!(!failure.to_string().contains("queues.sqlite"), "that is not for clients");
    }
}
