//! The fixed set of queues over one storage.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::config::QueueConfig;
use super::error::QueueError;
use super::handle::Queue;
use super::state::{Clock, Shared, State};
use super::store::Store;

/// All queues of a stack. Clones share it.
#[derive(Clone)]
pub struct Queues(Arc<Shared>);

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

    /// Rewrites the file without what was deleted.
    pub fn compact(&self) -> Result<(), QueueError> {
        self.0.store().compact()
    }

    pub fn queue(&self, name: &str) -> Result<Queue, QueueError> {
        let found = self.iter().find(|queue| queue.name() == name);
        found.ok_or(QueueError::QueueDoesNotExist)
    }

    /// All queues, in the order of their configuration.
    pub fn iter(&self) -> impl Iterator<Item = Queue> {
        (0..self.0.queues.len()).map(|index| Queue::new(Arc::clone(&self.0), index))
    }
}
