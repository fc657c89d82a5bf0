//! Audits of pages: whether an activity is listed where the pages of its actor look for it.
//!
//! A surplus row is no difference: readers skip it, because the activity's record does not confirm it.

use serde::Serialize;
use shared::platform::ledger::Ledger;
use shared::platform::values::{ActivityId, ActorId, Kind as ActivityKind};
use shared::social::activities::Activities;

use crate::Result;

/// An activity that a page of its actor does not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageDifference {
    pub activity_id: ActivityId,
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
    pub fn new(ledger: &Ledger) -> Self {
        Self(Activities::new(ledger))
    }

    /// Which of these activities are not listed.
    pub async fn differences(&self, activities: &[ActivityId]) -> Result<Vec<PageDifference>> {
        let mut found = Vec::new();
        for activity in activities {
            let Some(unlisted) = self.0.unlisted(activity).await? else { continue };
            found.push(PageDifference {
                activity_id: activity.clone(),
                actor_id: unlisted.actor_id,
                missing_in_outbox: unlisted.in_outbox,
                missing_of_kind: unlisted.of_kind,
            });
        }
        Ok(found)
    }

    /// Lists those that are still missing.
    pub async fn repair(&self, differences: &[PageDifference]) -> Result<()> {
        for PageDifference { activity_id, .. } in differences {
            if let Some(unlisted) = self.0.unlisted(activity_id).await? {
                self.0.list_again(&unlisted).await?;
            }
        }
        Ok(())
    }
}
