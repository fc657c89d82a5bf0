//! What goes wrong with the keeper of periods, and with what it puts into the archive.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use fastrand::Rng;
use nagare_telemetry::faults::{Chance, Faults, FaultsHandle};

/// Chooses what goes wrong with each tick and each object. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Keepers {
    handle: FaultsHandle,
    chance: Arc<Mutex<Chance>>,
}

impl Keepers {
    /// Faults as often as the settings in force say.
    pub fn by(handle: &FaultsHandle) -> Self {
        // Different numbers from those that choose the faults of calls and deliveries.
        let chance = Chance::new(handle, u64::MAX / 2);
        Self { handle: handle.clone(), chance: Arc::new(Mutex::new(chance)) }
    }

    /// How many milliseconds the clock of a second keeper is wrong, if one ticks beside the first.
    pub(crate) fn second_keeper(&self) -> Option<i64> {
        self.draw("keepers", |faults, random| {
            let off = i64::try_from(faults.keeper_clock.as_millis()).unwrap_or(i64::MAX);
            (random.f64() < faults.keepers).then(|| if random.bool() { off } else { -off })
        })
    }

    /// An object as it is stored: usually unchanged, otherwise with its end cut off or a bit flipped.
    pub(crate) fn mangled(&self, object: Bytes) -> Bytes {
        if object.is_empty() {
            return object;
        }
        let cut = self.draw("object-cuts", |faults, random| {
            (random.f64() < faults.object_cuts).then(|| random.usize(..object.len()))
        });
        if let Some(end) = cut {
            return object.slice(..end);
        }
        let flipped = self.draw("object-flips", |faults, random| {
            (random.f64() < faults.object_flips)
                .then(|| (random.usize(..object.len()), random.u8(..8)))
        });
        let Some((index, bit)) = flipped else { return object };
        let mut bytes = object.to_vec();
        bytes[index] ^= 1 << bit;
        bytes.into()
    }

    fn draw<T>(&self, name: &str, draw: impl FnOnce(&Faults, &mut Rng) -> Option<T>) -> Option<T> {
        if !self.handle.is_on() {
            return None;
        }
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        chance.refresh();
        let Chance { faults, random, .. } = &mut *chance;
        let drawn = draw(faults, random);
        drop(chance);
        if drawn.is_some() {
            self.handle.count(name);
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keepers(settings: &str) -> Keepers {
        Keepers::by(&FaultsHandle::from(settings.parse::<Faults>().unwrap()))
    }

    #[test]
    fn objects_are_cut_or_flipped_as_often_as_is_asked_for() {
        let object = Bytes::from_static(b"0123456789");
        assert_eq!(keepers("").mangled(object.clone()), object);
        let cut = keepers("object-cuts=100%").mangled(object.clone());
        assert!(cut.len() < object.len() && object.starts_with(&cut));
        let flipped = keepers("object-flips=100%").mangled(object.clone());
        let bits = |(a, b): (&u8, &u8)| (a ^ b).count_ones();
        assert_eq!(flipped.iter().zip(&object).map(bits).sum::<u32>(), 1);
        assert_eq!(keepers("object-cuts=100%").mangled(Bytes::new()), Bytes::new());
    }

    #[test]
    fn a_second_keeper_may_have_another_clock() {
        assert_eq!(keepers("").second_keeper(), None);
        assert_eq!(keepers("keepers=100%").second_keeper(), Some(0));
        let off = keepers("keepers=100%,keeper-clock=600000ms");
        let offs: Vec<_> = (0..50).filter_map(|_| off.second_keeper()).collect();
        assert!(offs.contains(&600_000) && offs.contains(&-600_000));
    }
}
