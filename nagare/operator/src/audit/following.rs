//! The rows that list whom a viewer follows, compared with the edges that they repeat.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use shared::dynamo::DynamoError;
use shared::register::Register;
use shared::values::{ActorId, Timestamp, ViewerId};

use super::Auditor;
use super::reads::followees;

/// A row that differs from its edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FollowingDifference {
    /// Whose list it is in.
    pub viewer_id: ViewerId,
    /// Whom it is about.
    pub actor_id: ActorId,
    /// Since when the list says that the viewer follows them, if it does.
    pub listed_since: Option<Timestamp>,
    /// Since when the viewer follows them, if they do.
    pub follows_since: Option<Timestamp>,
}

impl Auditor {
    /// The differences between the list of whom a viewer follows and their edges.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn following_differences(
        &self,
        viewer: &ViewerId,
    ) -> Result<Vec<FollowingDifference>, DynamoError> {
        let rows = self.follows.followee_rows(viewer).await?;
        let rows: BTreeMap<_, _> = rows.into_iter().map(|row| (row.followee, row.state)).collect();
        let mut actors: BTreeSet<_> = followees(&self.ledger, viewer).await?.into_iter().collect();
        actors.extend(rows.keys().cloned());
        let mut differences = Vec::new();
        for actor in actors {
            let edge = self.follows.state(viewer, &actor).await?;
            let (listed_since, follows_since) = (since(rows.get(&actor)), since(edge.as_ref()));
            if listed_since != follows_since {
                let (viewer_id, actor_id) = (viewer.clone(), actor);
                differences.push(FollowingDifference {
                    viewer_id,
                    actor_id,
                    listed_since,
                    follows_since,
                });
            }
        }
        Ok(differences)
    }

    /// Repairs differences that were found.
    ///
    /// # Errors
    /// [`DynamoError`]; repairing again completes it.
    pub async fn repair_following(
        &self,
        differences: &[FollowingDifference],
    ) -> Result<(), DynamoError> {
        for FollowingDifference { viewer_id, actor_id, .. } in differences {
            let now = self.clock.now();
            self.follows.repair_followee(viewer_id, actor_id, now).await?;
        }
        Ok(())
    }
}

/// Since when somebody follows.
fn since(state: Option<&Register>) -> Option<Timestamp> {
    state.filter(|state| state.on).map(|state| state.changed_at)
}
