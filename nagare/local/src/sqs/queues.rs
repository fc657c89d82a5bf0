//! The fixed set of queues over one storage.

use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::config::{self, QueueConfig};
use super::error::QueueError;
use super::handle::Queue;
use super::store::{QueueKey, Store};

/// Says what time it is, in unix milliseconds.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// All queues of a stack. Clones share it.
#[derive(Clone)]
pub struct Queues(Arc<Shared>);

pub(super) struct Shared {
    /// Calls hold it for microseconds and never while waiting, so async callers may block on it.
    store: Mutex<Store>,
    pub(super) clock: Clock,
    /// The time by which messages expire.
    pub(super) expiry: Clock,
    pub(super) queues: Vec<State>,
}

pub(super) struct State {
    pub(super) key: QueueKey,
    pub(super) config: QueueConfig,
    pub(super) created_at: i64,
    pub(super) modified_at: AtomicI64,
    pub(super) visibility_millis: AtomicI64,
    /// Notified whenever a message may have become visible sooner than a waiting receiver expects.
    pub(super) changed: Notify,
}

impl Queues {
    /// Queues that live as long as the process.
    pub fn in_memory(configs: Vec<QueueConfig>, clock: Clock) -> Result<Self, QueueError> {
        Self::start(Store::in_memory()?, configs, clock)
    }

    /// Queues in a file, with the messages that are already in it.
    pub fn open(path: &Path, configs: Vec<QueueConfig>, clock: Clock) -> Result<Self, QueueError> {
        Self::start(Store::open(path)?, configs, clock)
    }

    fn start(store: Store, configs: Vec<QueueConfig>, clock: Clock) -> Result<Self, QueueError> {
        config::check_all(&configs)?;
        let now = clock();
        let register = |config| State::register(&store, config, now);
        let queues = configs.into_iter().map(register).collect::<Result<_, _>>()?;
        let (store, expiry) = (Mutex::new(store), Arc::clone(&clock));
        Ok(Self(Arc::new(Shared { store, clock, expiry, queues })))
    }

    /// Lets messages expire by another clock than everything else's. Without effect once there is a
    /// clone or a [`Queue`].
    #[must_use]
    pub fn expiring_by(mut self, clock: Clock) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.expiry = clock;
        }
        self
    }

    /// The queue of that name.
    pub fn queue(&self, name: &str) -> Result<Queue, QueueError> {
        let found = self.iter().find(|queue| queue.name() == name);
        found.ok_or(QueueError::QueueDoesNotExist)
    }

    /// All queues, in the order of their configuration.
    pub fn iter(&self) -> impl Iterator<Item = Queue> {
        (0..self.0.queues.len()).map(|index| Queue::new(Arc::clone(&self.0), index))
    }
}

impl Shared {
    /// A panic under the lock cannot leave it half done: SQLite has rolled the transaction back.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn register(store: &Store, config: QueueConfig, now: i64) -> Result<Self, QueueError> {
        let (key, created_at) = store.register(&config.name, now)?;
        Ok(Self {
            key,
            created_at,
            modified_at: AtomicI64::new(created_at),
            visibility_millis: AtomicI64::new(millis(config.visibility_timeout)),
            changed: Notify::new(),
            config,
        })
    }
}

/// Every duration in this module is checked to be days at most, so it always fits.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
