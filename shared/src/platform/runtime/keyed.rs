//! Values that the calls of a process share by key, each as long as a call holds it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;

/// The values of a process. Clones share them.
pub struct Keyed<K, V>(Arc<Mutex<HashMap<K, Arc<V>>>>);

/// A value that is held. It ends with the last that holds it.
pub struct Held<K: Hash + Eq, V> {
    all: Keyed<K, V>,
    key: K,
    value: Arc<V>,
}

impl<K: Hash + Eq + Clone, V: Default> Keyed<K, V> {
    /// The value of a key, which begins with its default.
    pub fn hold(&self, key: K) -> Held<K, V> {
        let value = Arc::clone(self.0.lock().entry(key.clone()).or_default());
        Held { all: self.clone(), key, value }
    }
}

impl<K: Hash + Eq, V> Deref for Held<K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<K: Hash + Eq, V> Drop for Held<K, V> {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        // The references of the map and of this one.
        if Arc::strong_count(&self.value) == 2 {
            all.remove(&self.key);
        }
    }
}

impl<K, V> Default for Keyed<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, V> Clone for Keyed<K, V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, V> fmt::Debug for Keyed<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed").finish_non_exhaustive()
    }
}
