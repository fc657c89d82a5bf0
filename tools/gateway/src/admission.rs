//! Admission, when more requests arrive than can run.
//!
//! A request first takes one of `in_flight + queued` permits or is refused at once, and then waits for
//! one of the `in_flight` that run. A refusal costs one atomic operation and one small answer, so
//! overload cannot grow memory, and the first request that ends makes room for the first that waits.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::limits::Limits;
use super::problem::Problem;

pub(super) struct Admission {
    admitted: Semaphore,
    running: Semaphore,
    queue_timeout: Duration,
}

/// A permit to run, returned when it is dropped.
pub(super) struct Permit<'a> {
    _running: SemaphorePermit<'a>,
    _admitted: SemaphorePermit<'a>,
}

impl Admission {
    pub(super) fn new(limits: &Limits) -> Self {
        let limit = limits.in_flight.saturating_add(limits.queued).min(Semaphore::MAX_PERMITS);
        Self {
            admitted: Semaphore::new(limit),
            running: Semaphore::new(limits.in_flight.min(Semaphore::MAX_PERMITS)),
            queue_timeout: limits.queue_timeout,
        }
    }

    pub(super) async fn enter(&self) -> Result<Permit<'_>, Problem> {
        let admitted = self.admitted.try_acquire().map_err(|_full| Problem::overloaded())?;
        let turn = tokio::time::timeout(self.queue_timeout, self.running.acquire()).await;
        match turn {
            Ok(Ok(running)) => Ok(Permit { _running: running, _admitted: admitted }),
            Ok(Err(_)) | Err(_) => Err(Problem::overloaded()),
        }
    }
}
