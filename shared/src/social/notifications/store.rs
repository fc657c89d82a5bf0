//! Reads and marks notifications.

use std::collections::{BTreeMap, BTreeSet};

use super::ActivityLikes;
use crate::platform::dynamo::DynamoError;
use crate::platform::facts::Facts;
use crate::platform::projection::{View, Views};
use crate::platform::values::ActivityId;
use crate::social::likes;

/// The notifications. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Notifications {
    pub(super) facts: Facts,
    pub(super) views: Views,
}

impl Notifications {
    /// Those among these facts and views.
    pub fn new(facts: &Facts, views: &Views) -> Self {
        Self { facts: facts.clone(), views: views.clone() }
    }

    /// Reads the views of these activities.
    pub(super) async fn of_activities(
        &self,
        activities: &BTreeSet<ActivityId>,
    ) -> Result<BTreeMap<ActivityId, ActivityLikes>, DynamoError> {
        let keys: Vec<_> = activities.iter().map(likes::keys::count).collect();
        let read = View::<ActivityLikes>::read_from;
        let views = self.views.read_all(&keys, read).await?;
        let views = activities.iter().cloned().zip(views);
        views.map(|(activity, view)| Ok((activity, view?.state))).collect()
    }
}
