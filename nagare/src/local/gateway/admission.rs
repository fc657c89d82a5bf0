//! Who gets in when everybody comes at once.
//!
//! A request first takes one of `in_flight + queued` places or is refused on the spot, and then
//! waits its turn for one of the `in_flight` that run. Whoever is refused costs one atomic
//! operation and one small answer, so overload cannot grow memory, and the first request that
//! ends makes room for the first that waits.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::limits::Limits;
use super::problem::Problem;

pub(super) struct Admission {
    places: Semaphore,
    running: Semaphore,
    queue_timeout: Duration,
}

/// The right to be worked on, given back when it is dropped.
pub(super) struct Place<'a> {
    _running: SemaphorePermit<'a>,
    _place: SemaphorePermit<'a>,
}

impl Admission {
    pub(super) fn new(limits: &Limits) -> Self {
        let places = limits.in_flight.saturating_add(limits.queued).min(Semaphore::MAX_PERMITS);
        Self {
            places: Semaphore::new(places),
            running: Semaphore::new(limits.in_flight.min(Semaphore::MAX_PERMITS)),
            queue_timeout: limits.queue_timeout,
        }
    }

    pub(super) async fn enter(&self) -> Result<Place<'_>, Problem> {
        let place = self.places.try_acquire().map_err(|_full| Problem::overloaded())?;
        let turn = tokio::time::timeout(self.queue_timeout, self.running.acquire()).await;
        match turn {
            Ok(Ok(running)) => Ok(Place { _running: running, _place: place }),
            Ok(Err(_)) | Err(_) => Err(Problem::overloaded()),
        }
    }
}
