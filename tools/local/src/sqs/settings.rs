//! One queue: what it is called and how it is set up.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::config::QueueConfig;
use super::error::QueueError;
use super::handle::Queue;
use super::limits::{self, millis};

impl Queue {
    /// The queue's name.
    pub fn name(&self) -> &str {
        &self.config().name
    }

    /// The settings it was started with.
    pub fn config(&self) -> &QueueConfig {
        &self.state().config
    }

    /// How long a receive hides messages unless it says otherwise.
    pub fn visibility_timeout(&self) -> Duration {
        let millis = self.state().visibility_millis.load(Ordering::Relaxed);
        Duration::from_millis(millis.unsigned_abs())
    }

    /// Changes how long later receives hide messages, until the process ends.
    pub fn set_visibility_timeout(&self, timeout: Duration) -> Result<(), QueueError> {
        limits::check_visibility(timeout)?;
        self.state().visibility_millis.store(millis(timeout), Ordering::Relaxed);
        self.state().modified_at.store(self.now(), Ordering::Relaxed);
        Ok(())
    }

    /// When the queue was made, in unix milliseconds.
    pub fn created_at(&self) -> i64 {
        self.state().created_at
    }

    /// When its settings last changed, in unix milliseconds.
    pub fn modified_at(&self) -> i64 {
        self.state().modified_at.load(Ordering::Relaxed)
    }

    /// The queues whose dead letters come here.
    pub fn dead_letter_sources(&self) -> impl Iterator<Item = &str> {
        let configs = self.siblings().iter().map(|state| &state.config);
        configs.filter(|config| self.takes_dead_letters_of(config)).map(|c| c.name.as_str())
    }

    fn takes_dead_letters_of(&self, config: &QueueConfig) -> bool {
        config.redrive.as_ref().is_some_and(|redrive| redrive.dead_letter_queue == self.name())
    }
}
