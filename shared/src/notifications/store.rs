//! Notifications as their viewer reads and marks them.

use std::collections::HashMap;

use futures::future::try_join;

use super::command::{Marked, ReadThrough};
use super::inbox::{Inbox, Listed};
use super::keys::{self, Place};
use super::mark::{Mark, Marks};
use super::read::ReadNotification;
use super::{ActivityLikes, LikeGroup, NotificationId};
use crate::dynamo::item::{Item, Key, Row, number, text};
use crate::dynamo::{BATCH_GET, Condition, DynamoError, Query};
use crate::facts::Facts;
use crate::ledger::FORGET_AT;
use crate::likes;
use crate::projection::{View, Views};
use crate::runtime::deadline::Deadline;
use crate::values::{ActivityId, Origin, Retention, Timestamp, ViewerId};

/// How long it is remembered that all notifications were marked on behalf of a message: longer than a message
/// lives.
const REMEMBERED_DAYS: u32 = 30;

/// A notification as its viewer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// Its id.
    pub id: NotificationId,
    /// The likes it is about.
    pub group: LikeGroup,
    /// When it was read; nothing as long as it is not.
    pub read_at: Option<Timestamp>,
}

impl Notification {
    /// Its place among those of its viewer.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            last_at: self.group.last_at,
            activity_id: self.id.activity_id.clone(),
            behind: self.read_at.map(|_| self.id.behind),
        }
    }
}

/// Some notifications of one viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationPage {
    /// How many likes are unread, of all notifications there are.
    pub unread_count: u64,
    /// The latest first.
    pub items: Vec<Notification>,
    /// Where to go on, if there are more.
    pub next: Option<After>,
}

/// Where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    /// Behind this one.
    pub place: Place,
    /// Of which activities the inbox itself lists one behind it. Where nobody says so, the inbox is read first.
    pub listed: Option<Vec<ActivityId>>,
}

/// Which notifications are asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// At most how many.
    pub limit: usize,
    /// Behind which of them.
    pub after: Option<After>,
    /// Whether only those that are unread.
    pub unread_only: bool,
}

/// The notifications. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Notifications {
    facts: Facts,
    views: Views,
}

/// A notification that is listed somewhere, and what is known of it.
enum Candidate {
    /// How many likes it had when it was listed. The view of its activity says the rest.
    Unread(u64),
    Read(ReadNotification),
}

impl Notifications {
    /// Those among these facts and views.
    #[must_use]
    pub fn new(facts: &Facts, views: &Views) -> Self {
        Self { facts: facts.clone(), views: views.clone() }
    }

    /// A page of a viewer's notifications.
    ///
    /// It is two calls, unless it holds nearly as many as a batch read takes: a query, and a batch read of the activities'
    /// views. The first page's query begins with the inbox. Others read it with the views, since their cursor says which
    /// of those that it lists are to come; where there are too many for a cursor, they read it beside the query.
    ///
    /// What is liked in between is in the answer: it is counted, and shown at its place.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn page(
        &self,
        viewer: &ViewerId,
        wanted: &Wanted,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<NotificationPage, DynamoError> {
        let Wanted { limit, after, unread_only } = wanted;
        if let Some(After { place, listed: Some(listed) }) = after {
            let page = self.page_behind(viewer, (place, listed), wanted, now, deadline).await?;
            if let Some(page) = page {
                return Ok(page);
            }
        }
        let (inbox, mut found, mut rest) = self.begin(viewer, wanted, deadline).await?;
        let mut after = after.as_ref().map(|after| after.place.clone());
        let mut unread = i128::from(inbox.unread());
        let mut items: Vec<Notification> = Vec::new();
        loop {
            let missing = limit + 1 - items.len();
            let mut candidates = self.candidates(&found, now, *unread_only)?;
            let behind = |place: &Place| after.as_ref().is_none_or(|after| place < after);
            let ahead = |place: &Place| rest.as_ref().is_none_or(|rest| place >= rest);
            let listed = inbox.listed().filter(|one| behind(&one.place) && ahead(&one.place));
            candidates.extend(listed.map(|l| (l.place.clone(), Candidate::Unread(l.count))));
            candidates.sort_by(|(one, _), (other, _)| other.cmp(one));
            let is_all = candidates.len() <= missing;
            candidates.truncate(missing);
            let last = candidates.last().map(|(place, _)| place.clone());
            let (shown, changed) = self.shown(candidates, deadline).await?;
            unread += changed;
            items.extend(shown);
            after = if is_all { rest.take() } else { last };
            let Some(place) = after.as_ref().filter(|_| items.len() <= *limit) else { break };
            let missing = limit + 1 - items.len();
            (found, rest) = self.rows(viewer, Some(place), missing, deadline).await?;
        }
        Ok(NotificationPage::of(items, *limit, unread, &inbox))
    }

    /// A page that goes on where it is known what of the inbox's own list is to come. Nothing, if it would be short
    /// though there is more.
    async fn page_behind(
        &self,
        viewer: &ViewerId,
        (after, listed): (&Place, &[ActivityId]),
        Wanted { limit, unread_only, .. }: &Wanted,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Option<NotificationPage>, DynamoError> {
        let (rows, rest) = self.rows(viewer, Some(after), limit + 1, deadline).await?;
        let candidates = self.candidates(&rows, now, *unread_only)?;
        let activities = candidates.iter().map(|(place, _)| &place.activity_id).chain(listed);
        let activities = sorted(activities.cloned());
        let mut keys: Vec<_> = activities.iter().map(likes::keys::count).collect();
        keys.push(keys::inbox(viewer));
        let (mut views, mut inbox) = (HashMap::new(), Inbox::default());
        for some in keys.chunks(BATCH_GET) {
            let keys = some.iter().cloned().map(Key::into_item).collect();
            for row in self.views.table().batch_get(keys, deadline).await? {
                match likes::keys::counted(&Key::of(&row)?) {
                    Some(activity) => {
                        views.insert(activity, View::<ActivityLikes>::read_from(&row)?.state);
                    }
                    None => inbox = View::read_from(&row)?.state,
                }
            }
        }
        // What the inbox lists by now has its own count; what it does not was listed elsewhere since, or is read.
        let is_listed = |place: &Place| {
            inbox.listed().any(|listed| listed.place.activity_id == place.activity_id)
        };
        let mut candidates: Vec<_> = candidates
            .into_iter()
            .filter(|(place, _)| place.behind.is_some() || !is_listed(place))
            .collect();
        let known = inbox.listed().filter(|one| views.contains_key(&one.place.activity_id));
        candidates.extend(known.map(|l| (l.place.clone(), Candidate::Unread(l.count))));
        let (mut items, changed) = shown_of(candidates, &views);
        let is_here =
            |place: &Place| place < after && rest.as_ref().is_none_or(|rest| place >= rest);
        items.retain(|item| is_here(&item.place()));
        let is_whole = rest.is_none() || items.len() > *limit;
        let unread = i128::from(inbox.unread()) + changed;
        Ok(is_whole.then(|| NotificationPage::of(items, *limit, unread, &inbox)))
    }

    /// The inbox, the first items, and the last place looked at if there may be more.
    async fn begin(
        &self,
        viewer: &ViewerId,
        Wanted { limit, after, .. }: &Wanted,
        deadline: Deadline,
    ) -> Result<(Inbox, Vec<Row<'_>>, Option<Place>), DynamoError> {
        if let Some(After { place, .. }) = after {
            let rows = self.rows(viewer, Some(place), limit + 1, deadline);
            let inbox = self.views.read::<Inbox>(keys::inbox(viewer), deadline);
            let ((rows, rest), inbox) = try_join(rows, inbox).await?;
            return Ok((inbox.state, rows, rest));
        }
        // It has the greatest key, so the query begins with it.
        let (mut rows, rest) = self.rows(viewer, None, limit + 2, deadline).await?;
        let is_inbox = |row: &Row<'_>| {
            Key::of(row).is_ok_and(|key| matches!(keys::of_view(&key), Some((_, None))))
        };
        if !rows.first().is_some_and(is_inbox) {
            return Ok((Inbox::default(), rows, rest));
        }
        let inbox = View::read_from(&rows.remove(0))?.state;
        Ok((inbox, rows, rest))
    }

    /// Items of a viewer's partition from some place on, the latest first, and the last place looked at if there
    /// may be more.
    async fn rows(
        &self,
        viewer: &ViewerId,
        after: Option<&Place>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<(Vec<Row<'_>>, Option<Place>), DynamoError> {
        let mut values = vec![(":pk", text(keys::of_viewer(viewer)))];
        values.extend(after.map(|place| (":after", text(place.to_text()))));
        let query = Query {
            keys: Some(if after.is_some() { "pk = :pk AND sk < :after" } else { "pk = :pk" }),
            values,
            descending: true,
            limit: Some(i32::try_from(limit).unwrap_or(i32::MAX)),
            ..Query::default()
        };
        let page = self.views.table().page(&query, deadline).await?;
        let next = page.next.as_ref().and_then(|key| key.get("sk")?.as_s().ok());
        Ok((page.rows, next.and_then(|sk| Place::of_text(sk))))
    }

    /// What is listed in items of its own.
    fn candidates(
        &self,
        rows: &[Row<'_>],
        now: Timestamp,
        unread_only: bool,
    ) -> Result<Vec<(Place, Candidate)>, DynamoError> {
        let mut candidates = Vec::with_capacity(rows.len());
        for row in rows {
            let place = place_of(row)?;
            if place.behind.is_none() {
                let Listed { count, .. } = Listed::read(row)?;
                candidates.push((place, Candidate::Unread(count)));
            } else if !unread_only && let Some(read) = ReadNotification::read(row, now)? {
                candidates.push((place, Candidate::Read(read)));
            }
        }
        Ok(candidates)
    }

    /// What their activities' views say of them now, and by how much that changes what is unread.
    async fn shown(
        &self,
        candidates: Vec<(Place, Candidate)>,
        deadline: Deadline,
    ) -> Result<(Vec<Notification>, i128), DynamoError> {
        let activities = sorted(candidates.iter().map(|(place, _)| place.activity_id.clone()));
        let views = self.of_activities(&activities, deadline).await?;
        Ok(shown_of(candidates, &views))
    }

    async fn of_activities(
        &self,
        activities: &[ActivityId],
        deadline: Deadline,
    ) -> Result<HashMap<ActivityId, ActivityLikes>, DynamoError> {
        let keys: Vec<_> = activities.iter().map(likes::keys::count).collect();
        let views = self.views.read_all::<ActivityLikes>(&keys, deadline).await?;
        Ok(activities.iter().cloned().zip(views.into_iter().map(|view| view.state)).collect())
    }

    /// Marks notifications of a viewer as read. Those that are not theirs, that are read, or that there never were
    /// are passed.
    ///
    /// `origin` is the message that asks for it: that all are marked happens once for it, or what came since
    /// would be marked when it is delivered again.
    ///
    /// # Errors
    /// [`DynamoError`]; some may be marked.
    pub async fn mark(
        &self,
        viewer: &ViewerId,
        what: &Marked,
        origin: &Origin,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        match what {
            Marked::These(list) => self.mark_each(viewer, &read_through(list), now, deadline).await,
            Marked::All => self.mark_all(viewer, origin, now, deadline).await,
        }
    }

    /// Whether what a command marks is marked, and projected.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn is_marked(
        &self,
        viewer: &ViewerId,
        what: &Marked,
        origin: &Origin,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        let Marked::These(list) = what else {
            let done = keys::all_marked(viewer, origin).into_item();
            return Ok(self.facts.table().get(done, deadline).await?.is_some());
        };
        let marks = read_through(list);
        let views = self.of_activities(&activities_of(&marks), deadline).await?;
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
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let views = self.of_activities(&activities_of(marks), deadline).await?;
        let record = Marks::new(&self.facts);
        for (id, through) in marks {
            let view = views.get(&id.activity_id);
            if let Some(through) = view.and_then(|view| effective(view, viewer, id, *through)) {
                let mark = Mark { through, behind: id.behind, read_at: now };
                record.record(viewer, &id.activity_id, mark, deadline).await?;
            }
        }
        Ok(())
    }

    async fn mark_all(
        &self,
        viewer: &ViewerId,
        origin: &Origin,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let done = keys::all_marked(viewer, origin).into_item();
        let is_known = *origin != Origin::unknown();
        if is_known && self.facts.table().get(done.clone(), deadline).await?.is_some() {
            return Ok(());
        }
        let inbox = self.views.read::<Inbox>(keys::inbox(viewer), deadline).await?.state;
        let mut activities: Vec<_> =
            inbox.listed().map(|listed| listed.place.activity_id.clone()).collect();
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::of_viewer(viewer)))],
            projection: Some("pk, sk"),
            ..Query::default()
        };
        for row in self.views.table().all(query, || deadline).await? {
            let (_, place) = keys::of_view(&Key::of(&row)?)
                .ok_or_else(|| row.corrupt("sk", "the key of a notification"))?;
            activities.extend(place.filter(|p| p.behind.is_none()).map(|p| p.activity_id));
        }
        let activities = sorted(activities.into_iter());
        let record = Marks::new(&self.facts);
        for (activity, view) in self.of_activities(&activities, deadline).await? {
            let Some(unread) = view.unread() else { continue };
            let behind = view.read_through();
            let mark = Mark { through: behind + unread.count, behind, read_at: now };
            record.record(viewer, &activity, mark, deadline).await?;
        }
        if is_known {
            let expires = Retention::days(REMEMBERED_DAYS).expires_at(now);
            let mut item: Item = done;
            item.insert(FORGET_AT.to_owned(), number(expires));
            let unless_there = Condition::new("attribute_not_exists(pk)");
            self.facts.table().put_if(item, unless_there, deadline).await?;
        }
        Ok(())
    }
}

/// What the ids in a command name. Those that no answer ever gave name nothing.
fn read_through(list: &[ReadThrough]) -> Vec<(NotificationId, u64)> {
    let read = |ReadThrough { notification_id, through }: &ReadThrough| {
        Some((NotificationId::parse(notification_id)?, *through))
    };
    list.iter().filter_map(read).collect()
}

fn activities_of(marks: &[(NotificationId, u64)]) -> Vec<ActivityId> {
    sorted(marks.iter().map(|(id, _)| id.activity_id.clone()))
}

/// None of them twice.
fn sorted(activities: impl Iterator<Item = ActivityId>) -> Vec<ActivityId> {
    let mut activities: Vec<_> = activities.collect();
    activities.sort_unstable();
    activities.dedup();
    activities
}

/// What views say of candidates, and by how much that changes what is unread.
fn shown_of(
    candidates: Vec<(Place, Candidate)>,
    views: &HashMap<ActivityId, ActivityLikes>,
) -> (Vec<Notification>, i128) {
    let (mut shown, mut changed) = (Vec::with_capacity(candidates.len()), 0);
    for (Place { activity_id, .. }, candidate) in candidates {
        let Some(view) = views.get(&activity_id) else { continue };
        match candidate {
            Candidate::Read(ReadNotification { behind, read_at, group, .. }) => {
                if !view.is_deleted() {
                    let id = NotificationId { activity_id, behind };
                    shown.push(Notification { id, group, read_at: Some(read_at) });
                }
            }
            Candidate::Unread(count) => {
                let unread = view.unread();
                let is = unread.as_ref().map_or(0, |group| group.count);
                changed += i128::from(is) - i128::from(count);
                shown.extend(unread.map(|group| {
                    let id = NotificationId { activity_id, behind: view.read_through() };
                    Notification { id, group, read_at: None }
                }));
            }
        }
    }
    (shown, changed)
}

impl NotificationPage {
    /// The first of these, and where to go on if there are more.
    fn of(mut items: Vec<Notification>, limit: usize, unread: i128, inbox: &Inbox) -> Self {
        items.sort_by_key(|item| std::cmp::Reverse(item.place()));
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| {
            let place = last.place();
            let listed = inbox.listed().filter(|listed| listed.place < place);
            let listed = listed.map(|listed| listed.place.activity_id.clone()).collect();
            After { place, listed: Some(listed) }
        });
        Self { unread_count: u64::try_from(unread).unwrap_or(0), items, next }
    }
}

/// Up to which like of an activity a viewer has read, if a mark changes that.
fn effective(
    view: &ActivityLikes,
    viewer: &ViewerId,
    id: &NotificationId,
    through: u64,
) -> Option<u64> {
    let is_theirs = view.actor().is_some_and(|actor| actor.as_str() == viewer.as_str());
    let there_are = view.read_through() + view.unread().map_or(0, |group| group.count);
    // No answer gives more than there is; whoever asks for more is not to have marked what is still to come.
    let through = id.behind.saturating_add(through).min(there_are);
    let is_further = id.behind <= view.read_through() && through > view.read_through();
    (is_theirs && is_further).then_some(through)
}

fn place_of(row: &Row<'_>) -> Result<Place, DynamoError> {
    let place = keys::of_view(&Key::of(row)?).and_then(|(_, place)| place);
    place.ok_or_else(|| row.corrupt("sk", "the key of a notification"))
}
