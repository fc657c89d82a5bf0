//! What goes wrong between a queue and its handler.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;

use super::settings::Faults;

/// The longest delay of a batch.
const LATEST: Duration = Duration::from_secs(2);

/// Chooses what goes wrong with each delivery.
#[derive(Debug, Clone)]
pub struct Deliveries(Arc<Mutex<(Faults, Rng)>>);

impl Deliveries {
    /// Faults as often as the settings say.
    #[must_use]
    pub fn new(faults: Faults) -> Self {
        // Different numbers from those that choose the calls' faults.
        let random = Rng::with_seed(!faults.seed);
        Self(Arc::new(Mutex::new((faults, random))))
    }

    /// How many records the next batch from a stream may have, of N at most: fewer, as often as batches are
    /// delivered twice.
    pub(crate) fn cut(&self, at_most: usize) -> usize {
        match self.duplicates() {
            true => self.with(|_, random| random.usize(1..=at_most.min(10))),
            false => at_most,
        }
    }

    /// How long to delay the next batch, if at all.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let share = self.happens(|faults| faults.late).then(|| self.with(|_, random| random.f64()));
        share.map(|share| LATEST.mul_f64(share))
    }

    /// Whether the next batch is delivered twice.
    pub(crate) fn duplicates(&self) -> bool {
        self.happens(|faults| faults.duplicates)
    }

    /// Whether the next message's visibility runs out while it is worked on.
    pub(crate) fn expires(&self) -> bool {
        self.happens(|faults| faults.expiries)
    }

    /// Whether the next delete is lost.
    pub(crate) fn loses_delete(&self) -> bool {
        self.happens(|faults| faults.lost_deletes)
    }

    fn happens(&self, share: fn(&Faults) -> f64) -> bool {
        self.with(|faults, random| random.f64() < share(faults))
    }

    fn with<T>(&self, draw: impl FnOnce(&Faults, &mut Rng) -> T) -> T {
        let (faults, random) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        draw(faults, random)
    }
}
