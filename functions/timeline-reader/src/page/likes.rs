//! The likes of the activities on a page. They are read together with the records, without a further round trip.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use function_http::page::Request;
use shared::platform::dynamo::DynamoError;
use shared::platform::values::ActivityId;
use shared::social::likes::LikeSummary;

use crate::likes::summaries::of_activities;
use crate::reader::Context;

/// The likes of what was read so far for a page.
pub(crate) struct AskedLikes<'a> {
    cx: &'a Context<'a>,
    request: &'a Request,
    answered: Mutex<HashMap<ActivityId, LikeSummary>>,
}

impl<'a> AskedLikes<'a> {
    pub(crate) fn new(cx: &'a Context<'a>, request: &'a Request) -> Self {
        Self { cx, request, answered: Mutex::default() }
    }

    /// True if the page is to show them.
    pub(super) fn are_asked_for(&self) -> bool {
        self.request.cursor.likes
    }

    /// Reads the likes of these activities, if the page is to show them and they were not read before.
    pub(super) async fn ask(
        &self,
        activities: impl Iterator<Item = &ActivityId>,
    ) -> Result<(), DynamoError> {
        if !self.request.cursor.likes {
            return Ok(());
        }
        let unknown: Vec<_> = {
            let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
            activities.filter(|id| !answered.contains_key(*id)).cloned().collect()
        };
        if unknown.is_empty() {
            return Ok(());
        }
        let likes = of_activities(self.cx, self.request.own.as_ref(), &unknown).await?;
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).extend(likes);
        Ok(())
    }

    /// The likes that were read so far.
    pub(crate) fn shown(&self) -> HashMap<ActivityId, LikeSummary> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
