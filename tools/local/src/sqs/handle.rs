//! One queue: sending, receiving, deleting and counting its messages.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use super::config::QueueConfig;
use super::error::QueueError;
use super::limits::{self, millis};
use super::message::{MessageId, NewMessage, ReceivedMessage};
use super::receipt::ReceiptHandle;
use super::state::{Shared, State};
use super::store::{Counts, DeadLetters, Delivery, Scope, Store};

/// One queue of the set. Clones are the same queue.
#[derive(Clone)]
pub struct Queue {
    shared: Arc<Shared>,
    index: usize,
}

impl Queue {
    pub(super) fn new(shared: Arc<Shared>, index: usize) -> Self {
        Self { shared, index }
    }

    /// The queue's name.
    pub fn name(&self) -> &str {
        &self.config().name
    }

    /// The settings it was started with.
    pub fn config(&self) -> &QueueConfig {
        &self.state().config
    }

    /// When the queue was made, in unix milliseconds.
    pub fn created_at(&self) -> i64 {
        self.state().created_at
    }

    pub fn send(&self, message: NewMessage) -> Result<MessageId, QueueError> {
        self.check_size(message.bytes())?;
        let ids = self.store().send(self.scope(), &[message])?;
        self.state().changed.notify_waiters();
        ids.first().copied().ok_or_else(|| QueueError::Corrupt("a send made no message".into()))
    }

    /// Sends up to ten messages, all or none. The ids are in their order.
    pub fn send_batch(&self, messages: &[NewMessage]) -> Result<Vec<MessageId>, QueueError> {
        limits::check_batch_len(messages.len())?;
        let total = messages.iter().map(NewMessage::bytes).sum();
        if total > limits::MAX_BYTES {
            return Err(QueueError::BatchRequestTooLong(total));
        }
        messages.iter().try_for_each(|message| self.check_size(message.bytes()))?;
        let ids = self.store().send(self.scope(), messages)?;
        self.state().changed.notify_waiters();
        Ok(ids)
    }

    fn check_size(&self, bytes: usize) -> Result<(), QueueError> {
        let max = self.config().max_message_bytes;
        if bytes <= max {
            return Ok(());
        }
        let sentence = format!(
            "One or more parameters are invalid. Reason: Message must be shorter than {max} bytes."
        );
        Err(QueueError::InvalidParameterValue(sentence))
    }

    /// Receives what is visible now; [`receive`](Self::receive) also waits.
    pub(super) fn receive_now(
        &self,
        max: usize,
        visibility: Option<Duration>,
    ) -> Result<Vec<ReceivedMessage>, QueueError> {
        let scope = self.scope();
        let visibility = visibility.unwrap_or(self.config().visibility_timeout);
        let visible_at = scope.now.saturating_add(millis(visibility));
        let target = self.dead_letter_queue();
        let dead_letters = target.map(|(max_receives, target)| DeadLetters {
            max_receives,
            target: target.key,
            source_name: self.name(),
        });
        let delivered = self.store().receive(scope, &Delivery { max, visible_at, dead_letters })?;
        if let (true, Some((_, target))) = (delivered.moved, target) {
            target.changed.notify_waiters();
        }
        Ok(delivered.messages)
    }

    fn dead_letter_queue(&self) -> Option<(u32, &State)> {
        let redrive = self.config().redrive.as_ref()?;
        let named = |state: &&State| state.config.name == redrive.dead_letter_queue;
        self.shared.queues.iter().find(named).map(|target| (redrive.max_receives, target))
    }

    /// Deletes messages by the handles of their latest receives, and ignores other handles.
    pub fn delete_batch(&self, handles: &[ReceiptHandle]) -> Result<(), QueueError> {
        self.store().delete(self.scope(), handles)
    }

    /// Hides a message in flight for `timeout` from now on; zero shows it at once. It ignores the handle of a message that is no longer in
    /// flight, or was received again.
    pub fn change_visibility(
        &self,
        handle: &ReceiptHandle,
        timeout: Duration,
    ) -> Result<(), QueueError> {
        let scope = self.scope();
        let visible_at = scope.now.saturating_add(millis(timeout));
        self.store().change_visibility(scope, handle, visible_at)?;
        self.state().changed.notify_waiters();
        Ok(())
    }

    /// Shows all messages in flight at once, for a stack that starts: their receivers are gone. It also
    /// shows messages that are delayed for longer than any delay may be: their sender's clock was ahead.
    pub fn release_in_flight(&self) -> Result<(), QueueError> {
        self.store().release_in_flight(self.scope())?;
        self.state().changed.notify_waiters();
        Ok(())
    }

    /// How many messages there are.
    pub fn counts(&self) -> Result<Counts, QueueError> {
        self.store().counts(self.scope())
    }

    /// The place of the latest message of all queues: later ones have greater places.
    pub fn last(&self) -> Result<i64, QueueError> {
        self.store().last()
    }

    /// How many messages up to a place are visible or in flight. Delayed ones are neither.
    pub fn unfinished(&self, until: i64) -> Result<u64, QueueError> {
        self.store().unfinished(self.scope(), until)
    }

    /// The age of the oldest message that is visible or in flight, in milliseconds; 0 if there is
    /// none.
    pub fn oldest_age(&self) -> Result<i64, QueueError> {
        let oldest = self.store().oldest_sent_at(self.scope())?;
        Ok(oldest.map_or(0, |sent_at| (self.now() - sent_at).max(0)))
    }

    /// When the first delayed message becomes visible, in unix milliseconds.
    pub fn first_delayed_at(&self) -> Result<Option<i64>, QueueError> {
        self.store().first_delayed_at(self.scope())
    }

    /// Lets waiting receivers look again, because the clock was moved on.
    pub fn clock_was_moved(&self) {
        self.state().changed.notify_waiters();
    }

    /// Deletes all messages, those in flight too.
    pub fn purge(&self) -> Result<(), QueueError> {
        self.store().purge(self.scope())
    }

    /// How long until the first message is visible: zero if one is, `None` if there is none at all.
    pub(super) fn time_to_first_visible(&self) -> Result<Option<Duration>, QueueError> {
        let first = self.store().first_visible_at(self.state().key)?;
        let until = |at: i64| at.saturating_sub(self.now()).max(0).unsigned_abs();
        Ok(first.map(|at| Duration::from_millis(until(at))))
    }

    pub(super) fn state(&self) -> &State {
        &self.shared.queues[self.index]
    }

    fn scope(&self) -> Scope {
        let now = self.now();
        let expired_until = (self.shared.expiry)().saturating_sub(millis(self.config().retention));
        Scope { queue: self.state().key, now, expired_until }
    }

    pub(super) fn now(&self) -> i64 {
        (self.shared.clock)()
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.shared.store()
    }
}
