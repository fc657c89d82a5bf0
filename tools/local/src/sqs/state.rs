//! What the queues of a stack share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::config::QueueConfig;
use super::error::QueueError;
use super::schema::QueueKey;
use super::store::Store;

/// Says what time it is, in unix milliseconds.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

pub(super) struct Shared {
    /// Calls hold it for microseconds and never while waiting, so async callers may block on it.
    pub(super) store: Mutex<Store>,
    pub(super) clock: Clock,
    /// The time by which messages expire.
    pub(super) expiry: Clock,
    pub(super) queues: Vec<State>,
}

pub(super) struct State {
    pub(super) key: QueueKey,
    pub(super) config: QueueConfig,
    pub(super) created_at: i64,
    /// Notified whenever a message may have become visible sooner than a waiting receiver expects.
    pub(super) changed: Notify,
}

impl Shared {
    /// A panic under the lock cannot leave it half done: SQLite has rolled the transaction back.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn register(
        store: &Store,
        config: QueueConfig,
        now: i64,
    ) -> Result<Self, QueueError> {
        let (key, created_at) = store.register(&config.name, now)?;
        Ok(Self { key, created_at, changed: Notify::new(), config })
    }
}
