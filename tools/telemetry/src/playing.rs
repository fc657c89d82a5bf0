//! The ids of what the built-in sample has open. Only the sample knows them at once.

use std::sync::{Arc, Mutex, PoisonError};

/// The ids of what the sample has open. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Playing(Arc<Mutex<Option<Scene>>>);

/// Ids of what is open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scene {
    pub poll: Option<String>,
    pub battle: Option<String>,
    pub room: Option<String>,
    /// The viewer whose timeline changes.
    pub viewer: Option<String>,
}

impl Playing {
    pub fn set(&self, scene: Scene) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(scene);
    }

    pub fn get(&self) -> Option<Scene> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
