//! What a person likes, and who likes what they published.
//!
//! A row that says *liked* becomes one that does not, so the projector counts it no more, and is marked with the time
//! at which it expires: a like that is still in flight and older does not win over it. A row that has brought back the
//! change of such a row loses what it says, and is marked too.

use std::collections::HashSet;
use std::pin::pin;

use futures::TryStreamExt;
use shared::dynamo::item::{Key, number, text, truth};
use shared::dynamo::{DynamoError, Query, Update};
use shared::ledger::FORGET_AT;
use shared::likes::keys;
use shared::projection::redriven;
use shared::values::ActivityId;

use super::{Erasure, for_each};
use crate::operator::soon;
use crate::progress;

/// A row of a like.
struct Found {
    key: Key,
    /// The `at` that it says; nothing if it brings back a change of a like.
    changed_at: Option<String>,
}

impl Erasure {
    /// Undoes every like by the person or of an activity of theirs, and marks what is left of it. Who likes an
    /// activity is listed nowhere, so all facts are scanned.
    pub(super) async fn likes(&self) -> Result<usize, DynamoError> {
        let activities: HashSet<_> =
            self.marks.all_activities(&self.actor, soon).await?.into_iter().collect();
        let mut erased = 0;
        loop {
            let found = self.likes_found(&activities).await?;
            if found.is_empty() {
                break;
            }
            for_each(&found, "likes erased", |like| self.undo(like)).await?;
            erased += found.len();
        }
        let activities: Vec<_> = activities.into_iter().collect();
        for_each(&activities, "counts of likes marked", |id| self.mark_count(id)).await?;
        Ok(erased)
    }

    async fn likes_found(
        &self,
        activities: &HashSet<ActivityId>,
    ) -> Result<Vec<Found>, DynamoError> {
        let bar = progress::counter("facts read");
        let query = Query {
            filter: Some("attribute_not_exists(#forget)"),
            projection: Some("pk, sk, changed_at"),
            names: vec![("#forget", FORGET_AT)],
            ..Query::default()
        };
        let mut found = Vec::new();
        let mut pages = pin!(self.facts.table().pages(query, soon));
        while let Some(page) = pages.try_next().await? {
            bar.inc(page.scanned);
            for row in &page.rows {
                let key = Key::of(row)?;
                let brought_back = redriven::brought_back(&key);
                let (viewer, activity) = keys::of_key(brought_back.as_ref().unwrap_or(&key))
                    .ok_or_else(|| row.corrupt("pk", "the key of a like"))?;
                if viewer == self.viewer || activities.contains(&activity) {
                    let changed_at = match brought_back {
                        Some(_) => None,
                        None => Some(row.text("changed_at")?.to_owned()),
                    };
                    found.push(Found { key, changed_at });
                }
            }
        }
        bar.finish_and_clear();
        Ok(found)
    }

    /// One that was changed since it was read is found again.
    async fn undo(&self, like: &Found) -> Result<(), DynamoError> {
        let Some(changed_at) = &like.changed_at else { return self.empty(&like.key).await };
        let update = Update {
            expression: "SET liked = :no, #forget = :until",
            condition: Some("changed_at = :seen"),
            names: vec![("#forget", FORGET_AT)],
            values: vec![
                (":no", truth(false)),
                (":until", number(self.until)),
                (":seen", text(changed_at)),
            ],
        };
        let key = like.key.clone().into_item();
        self.facts.table().update(key, update, soon()).await.map(|_| ())
    }

    /// Takes out of a row that has brought a change back what it says. That it did stays known until it expires.
    async fn empty(&self, key: &Key) -> Result<(), DynamoError> {
        let update = Update {
            expression: "SET #forget = :until REMOVE #change",
            condition: Some("attribute_exists(pk)"),
            names: vec![("#forget", FORGET_AT), ("#change", redriven::CHANGE)],
            values: vec![(":until", number(self.until))],
        };
        self.facts.table().update(key.clone().into_item(), update, soon()).await.map(|_| ())
    }

    async fn mark_count(&self, activity: &ActivityId) -> Result<(), DynamoError> {
        let update = Update {
            expression: "SET #forget = if_not_exists(#forget, :until)",
            condition: Some("attribute_exists(pk)"),
            names: vec![("#forget", FORGET_AT)],
            values: vec![(":until", number(self.until))],
        };
        let key = keys::count(activity).into_item();
        self.views.table().update(key, update, soon()).await.map(|_| ())
    }
}
