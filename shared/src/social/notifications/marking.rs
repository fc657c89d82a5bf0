//! Marks notifications as read: resolves a command by the current views, and states the marks as facts.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use futures::{StreamExt, TryStreamExt, stream};

use super::command::{Marked, ReadThrough};
use super::inbox::Inbox;
use super::keys::{self, NotificationKey};
use super::mark::{Mark, Marks};
use super::store::Notifications;
use super::{ActivityLikes, NotificationId};
use crate::platform::dynamo::item::{Item, Key, number, text};
use crate::platform::dynamo::{Condition, DynamoError, Query};
use crate::platform::ledger::FORGET_AT;
use crate::platform::projection::View;
use crate::platform::values::{ActivityId, Origin, Retention, Timestamp, ViewerId};

/// How long the note is kept that a message has marked all notifications: longer than a message lives.
const REMEMBERED_DAYS: u32 = 30;
/// Activities that are marked at once.
const SIDE_BY_SIDE: usize = 32;

impl Notifications {
    /// Marks notifications of a viewer as read. Skips those that are not theirs, that are read, or that never existed.
    ///
    /// `origin` is the message of the command. It marks all notifications only once; otherwise a redelivery would mark what came
    /// since.
    ///
    /// # Errors
    /// [`DynamoError`]; some may be marked.
    pub async fn mark(
        &self,
        viewer: &ViewerId,
        what: &Marked,
        origin: &Origin,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        match what {
            Marked::These(list) => self.mark_each(viewer, &read_through(list), now).await,
            Marked::All => self.mark_all(viewer, origin, now).await,
        }
    }

    /// True if what a command marks is marked and projected.
    pub async fn is_marked(
        &self,
        viewer: &ViewerId,
        what: &Marked,
        origin: &Origin,
    ) -> Result<bool, DynamoError> {
        let Marked::These(list) = what else {
            let done = keys::all_marked(viewer, origin).into_item();
            return Ok(self.facts.table().get(done).await?.is_some());
        };
        let marks = read_through(list);
        let views = self.of_activities(&activities_of(&marks)).await?;
        Ok(marks.iter().all(|(id, through)| {
            let effective =
                views.get(&id.activity_id).map(|view| effective(view, viewer, id, *through));
            effective.flatten().is_none()
        }))
    }

    async fn mark_each(
        &self,
        viewer: &ViewerId,
        marks: &[(NotificationId, u64)],
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let views = self.of_activities(&activities_of(marks)).await?;
        let mut recorded: BTreeMap<_, Vec<Mark>> = BTreeMap::new();
        for (id, through) in marks {
            let view = views.get(&id.activity_id);
            if let Some(through) = view.and_then(|view| effective(view, viewer, id, *through)) {
                let mark = Mark { through, behind: id.behind, read_at: now };
                recorded.entry(id.activity_id.clone()).or_default().push(mark);
            }
        }
        self.record(viewer, recorded).await
    }

    /// Records marks: those of one activity in order, activities in parallel.
    async fn record(
        &self,
        viewer: &ViewerId,
        marks: BTreeMap<ActivityId, Vec<Mark>>,
    ) -> Result<(), DynamoError> {
        let record = &Marks::new(&self.facts);
        let recording = marks.into_iter().map(|(activity, marks)| async move {
            for mark in marks {
                record.record(viewer, &activity, mark).await?;
            }
            Ok(())
        });
        stream::iter(recording).buffer_unordered(SIDE_BY_SIDE).try_collect().await
    }

    async fn mark_all(
        &self,
        viewer: &ViewerId,
        origin: &Origin,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let done = keys::all_marked(viewer, origin).into_item();
        let is_known = *origin != Origin::unknown();
        if is_known && self.facts.table().get(done.clone()).await?.is_some() {
            return Ok(());
        }
        let activities = self.unread(viewer).await?;
        let views = self.of_activities(&activities).await?.into_iter();
        let marks = views.filter_map(|(activity, view)| {
            let (unread, behind) = (view.unread()?, view.read_through());
            Some((activity, vec![Mark { through: behind + unread.places(), behind, read_at: now }]))
        });
        self.record(viewer, marks.collect()).await?;
        if is_known {
            let expires = Retention::days(REMEMBERED_DAYS).expires_at(now);
            let mut item: Item = done;
            item.insert(FORGET_AT.to_owned(), number(expires));
            let unless_there = Condition::new("attribute_not_exists(pk)");
            self.facts.table().put_if(item, unless_there).await?;
        }
        Ok(())
    }

    /// The activities with unread likes of a viewer. If the inbox lists all of them, nothing else is read. Otherwise it is read before
    /// the items, so that a notification that moves to an item meanwhile is not missed.
    async fn unread(&self, viewer: &ViewerId) -> Result<BTreeSet<ActivityId>, DynamoError> {
        let Key { pk, sk } = keys::inbox(viewer);
        let inbox = self.views.read(keys::inbox(viewer), View::<Inbox>::read_from);
        let inbox = inbox.await?.state;
        let mut activities: BTreeSet<_> =
            inbox.listed().map(|one| one.position.activity_id.clone()).collect();
        if inbox.lists_all() {
            return Ok(activities);
        }
        // The inbox has the greatest key.
        let query = Query {
            keys: Some("pk = :pk AND sk < :inbox"),
            values: vec![(":pk", text(pk)), (":inbox", text(sk))],
            ..Query::default()
        };
        let mut pages = pin!(self.views.table().pages(query));
        while let Some(page) = pages.try_next().await? {
            for row in &page.rows {
                let NotificationKey { activity_id, behind, .. } = NotificationKey::of(row)?;
                activities.extend(behind.is_none().then_some(activity_id));
            }
        }
        Ok(activities)
    }
}

/// The notifications in a command, each with its greatest number. Ids that were in no answer are skipped.
fn read_through(list: &[ReadThrough]) -> Vec<(NotificationId, u64)> {
    let mut marks = BTreeMap::new();
    for ReadThrough { notification_id, through } in list {
        if let Some(id) = NotificationId::parse(notification_id) {
            let greatest = marks.entry(id).or_insert(*through);
            *greatest = (*through).max(*greatest);
        }
    }
    marks.into_iter().collect()
}

fn activities_of(marks: &[(NotificationId, u64)]) -> BTreeSet<ActivityId> {
    marks.iter().map(|(id, _)| id.activity_id.clone()).collect()
}

/// How far a viewer has read an activity, if a mark changes that.
fn effective(
    view: &ActivityLikes,
    viewer: &ViewerId,
    id: &NotificationId,
    through: u64,
) -> Option<u64> {
    let there_are = view.read_through() + view.unread().map_or(0, |group| group.places());
    // No answer has a greater number than there is; a greater number must not mark future likes.
    let through = id.behind.saturating_add(through).min(there_are);
    let is_further = id.behind <= view.read_through() && through > view.read_through();
    (view.is_by(viewer) && is_further).then_some(through)
}
