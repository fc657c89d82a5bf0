//! Audits of pages: whether an activity is listed where the pages of its actor look for it.
//!
//! A surplus row is no difference: readers skip it, because the activity's record does not confirm it.

use serde::Serialize;
use shared::activities::{Activities, Unlisted};
use shared::dynamo::DynamoError;
use shared::ledger::Ledger;
use shared::values::{ActivityId, ActorId, Kind as ActivityKind};

/// An activity that a page of its actor does not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageDifference {
    /// The activity.
    pub activity_id: ActivityId,
    /// The actor of the activity.
    pub actor_id: ActorId,
    /// True if it is missing on pages of all kinds together.
    pub missing_in_outbox: bool,
    /// The kind on whose pages it is missing, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_of_kind: Option<ActivityKind>,
}

/// Compares the lists of actors with the records of activities. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PagesAuditor(Activities);

impl PagesAuditor {
    /// Over this ledger.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self(Activities::new(ledger))
    }

    /// Which of these activities are not listed.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn differences(
        &self,
        activities: &[ActivityId],
    ) -> Result<Vec<PageDifference>, DynamoError> {
        let mut found = Vec::new();
        for activity in activities {
            let Some(unlisted) = self.0.unlisted(activity).await? else { continue };
            let Unlisted { actor_id, in_outbox, of_kind, .. } = unlisted;
            let activity_id = activity.clone();
            let (missing_in_outbox, missing_of_kind) = (in_outbox, of_kind);
            found.push(PageDifference {
                activity_id,
                actor_id,
                missing_in_outbox,
                missing_of_kind,
            });
        }
        Ok(found)
    }

    /// Lists those that are still missing.
    ///
    /// # Errors
    /// [`DynamoError`]; repairing again completes it.
    pub async fn repair(&self, differences: &[PageDifference]) -> Result<(), DynamoError> {
        for PageDifference { activity_id, .. } in differences {
            if let Some(unlisted) = self.0.unlisted(activity_id).await? {
                self.0.list_again(&unlisted).await?;
            }
        }
        Ok(())
    }
}
