//! What goes wrong between a queue and its handler.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use nagare_telemetry::faults::{Chance, Faults, FaultsHandle};

/// The longest delay of a batch.
const LATEST: Duration = Duration::from_secs(2);

/// Chooses what goes wrong with each delivery.
#[derive(Debug, Clone)]
pub struct Deliveries {
    handle: FaultsHandle,
    chance: Arc<Mutex<Chance>>,
}

impl Deliveries {
    /// Faults as often as the settings say.
    pub fn new(faults: Faults) -> Self {
        Self::by(&faults.into())
    }

    /// Faults as often as the settings in force say.
    pub fn by(handle: &FaultsHandle) -> Self {
        // Different numbers from those that choose the calls' faults.
        let chance = Chance::new(handle, u64::MAX);
        Self { handle: handle.clone(), chance: Arc::new(Mutex::new(chance)) }
    }

    /// How many records the next batch from a stream may have, at most `at_most`. It has fewer as often as the settings ask for batches
    /// that are delivered twice.
    pub(crate) fn cut(&self, at_most: usize) -> usize {
        match self.duplicates() {
            true => self.with(|random| random.usize(1..=at_most.min(10))),
            false => at_most,
        }
    }

    /// How long to delay the next batch, if at all.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let share =
            self.happens("late", |faults| faults.late).then(|| self.with(|random| random.f64()));
        share.map(|share| LATEST.mul_f64(share))
    }

    /// True if the next batch is delivered twice.
    pub(crate) fn duplicates(&self) -> bool {
        self.happens("duplicates", |faults| faults.duplicates)
    }

    /// True if the visibility of the next message runs out while it is processed.
    pub(crate) fn expires(&self) -> bool {
        self.happens("expiries", |faults| faults.expiries)
    }

    /// True if the next delete is lost.
    pub(crate) fn loses_delete(&self) -> bool {
        self.happens("lost-deletes", |faults| faults.lost_deletes)
    }

    fn happens(&self, name: &str, share: fn(&Faults) -> f64) -> bool {
        if !self.handle.is_on() {
            return false;
        }
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        chance.refresh();
        let happens = chance.random.f64() < share(&chance.faults);
        drop(chance);
        if happens {
            self.handle.count(name);
        }
        happens
    }

    fn with<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.chance.lock().unwrap_or_else(PoisonError::into_inner).random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_may_change_between_two_deliveries() {
        let handle = FaultsHandle::default();
        let deliveries = Deliveries::by(&handle);
        let all = || {
            let happened =
                [deliveries.duplicates(), deliveries.expires(), deliveries.loses_delete()];
            (happened, deliveries.delay().is_some())
        };
        assert_eq!(all(), ([false; 3], false));
        handle.set("all=100%".parse().unwrap());
        assert_eq!(all(), ([true; 3], true));
        assert_eq!(deliveries.cut(1), 1);
        handle.set(Faults::default());
        assert_eq!(all(), ([false; 3], false));
        let counted = [("duplicates", 2), ("late", 1), ("expiries", 1), ("lost-deletes", 1)];
        assert_eq!(handle.injected(), counted);
    }
}
