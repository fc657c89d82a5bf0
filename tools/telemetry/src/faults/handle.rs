//! The settings in force. Whoever has the handle may read and change them. Code that injects faults reads one integer to see whether
//! the settings have changed, and draws no random number while nothing is set.

use std::array;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;

use super::settings::{Faults, NUMBER, SETTINGS};

/// The settings in force, and what was injected so far. Cheap to clone: clones share both.
#[derive(Debug, Clone, Default)]
pub struct FaultsHandle(Arc<InForce>);

#[derive(Debug)]
struct InForce {
    faults: Mutex<Faults>,
    /// The number of times that they were set.
    version: AtomicU64,
    is_on: AtomicBool,
    /// How often each setting has made something go wrong.
    injected: [AtomicU64; NUMBER],
}

impl Default for InForce {
    fn default() -> Self {
        Self {
            faults: Mutex::default(),
            version: AtomicU64::new(0),
            is_on: AtomicBool::new(false),
            injected: array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl From<Faults> for FaultsHandle {
    fn from(faults: Faults) -> Self {
        let handle = Self::default();
        handle.set(faults);
        handle
    }
}

impl FaultsHandle {
    /// The settings in force.
    pub fn get(&self) -> Faults {
        self.0.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the settings. If the seed has changed, random choices start again from it.
    pub fn set(&self, faults: Faults) {
        self.change(|old| *old = faults);
    }

    /// Changes some settings.
    pub fn change(&self, change: impl FnOnce(&mut Faults)) {
        let mut faults = self.0.faults.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut faults);
        self.0.is_on.store(!faults.is_off(), Ordering::Relaxed);
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// True if anything may go wrong.
    pub fn is_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    /// How often each has made something go wrong, by the name of its setting.
    pub fn injected(&self) -> Vec<(&'static str, u64)> {
        let counts = self.0.injected.iter().map(|count| count.load(Ordering::Relaxed));
        let names = SETTINGS.iter().map(|setting| setting.name);
        names.zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    pub fn count(&self, name: &str) {
        if let Some(index) = SETTINGS.iter().position(|setting| setting.name == name) {
            self.0.injected[index].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A random generator, with the settings by which it decides.
#[derive(Debug)]
pub struct Chance {
    handle: FaultsHandle,
    /// The version of the settings below.
    version: u64,
    pub faults: Faults,
    pub random: Rng,
    /// Mixed into the seed, so that not everybody draws the same.
    salt: u64,
}

impl Chance {
    pub fn new(handle: &FaultsHandle, salt: u64) -> Self {
        let (version, faults) = (handle.0.version.load(Ordering::Acquire), handle.get());
        let random = Rng::with_seed(faults.seed ^ salt);
        Self { handle: handle.clone(), version, faults, random, salt }
    }

    /// Takes over the settings if they have changed.
    pub fn refresh(&mut self) {
        let version = self.handle.0.version.load(Ordering::Acquire);
        if version == self.version {
            return;
        }
        let faults = self.handle.get();
        if faults.seed != self.faults.seed {
            self.random = Rng::with_seed(faults.seed ^ self.salt);
        }
        (self.version, self.faults) = (version, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(settings: &str) -> Faults {
        settings.parse().unwrap()
    }

    #[test]
    fn settings_change_for_whoever_has_a_clone() {
        let handle = FaultsHandle::from(faults("seed=7"));
        let mut chance = Chance::new(&handle, 0);
        assert!(!handle.is_on(), "a seed alone makes nothing go wrong");
        let first = chance.random.u64(..);
        handle.clone().set(faults("errors=5%,seed=7"));
        chance.refresh();
        assert_eq!((handle.is_on(), &chance.faults), (true, &faults("errors=5%,seed=7")));
        assert_ne!(chance.random.u64(..), first, "the same seed goes on");
        handle.set(faults("seed=8"));
        handle.set(faults("seed=7"));
        chance.refresh();
        assert_ne!(chance.random.u64(..), first, "the seed is what it was when chance last looked");
        handle.set(faults("seed=8"));
        chance.refresh();
        handle.set(faults("seed=7"));
        chance.refresh();
        assert_eq!((chance.random.u64(..), handle.is_on()), (first, false));
    }

    #[test]
    fn what_was_injected_is_counted_by_name() {
        let handle = FaultsHandle::default();
        for name in ["errors", "reads", "errors", "no such setting"] {
            handle.count(name);
        }
        assert_eq!(handle.injected(), [("errors", 2), ("reads", 1)]);
    }
}
