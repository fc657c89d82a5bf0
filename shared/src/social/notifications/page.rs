//! Pages of notifications, as their viewer reads them.
//!
//! Whatever changes a notification raises the version of its viewer's inbox, in one transaction. So the inbox is read first, and again
//! with the views of the activities: if its version is the same, the page is as it was at each moment between. Otherwise it is read
//! again, [`ATTEMPTS`] times in all. To the last attempt is added what was read meanwhile: it has everything once that was there
//! throughout.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::inbox::{Inbox, UnreadNotification};
use super::keys::{self, NotificationKey};
use super::read::ReadNotification;
use super::store::Notifications;
use super::{ActivityLikes, LikeGroup, NotificationId};
use crate::platform::dynamo::item::{Key, Row, text};
use crate::platform::dynamo::{BATCH_GET, DynamoError, Query};
use crate::platform::projection::View;
use crate::platform::values::{ActivityId, Timestamp, ViewerId};
use crate::social::likes;

/// How often a page is read at most while notifications change.
const ATTEMPTS: usize = 3;
/// A notification that was read no longer ago may be newer than the page. No read one expires sooner.
const LATELY: Duration = Duration::from_secs(3_600);

/// A notification, as its viewer is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub id: NotificationId,
    pub group: LikeGroup,
    /// When it was read; `None` if unread.
    pub read_at: Option<Timestamp>,
}

impl Notification {
    /// Its position among those of its viewer.
    pub fn position(&self) -> NotificationKey {
        NotificationKey {
            last_at: self.group.last_at,
            activity_id: self.id.activity_id.clone(),
            behind: self.read_at.map(|_| self.id.behind),
        }
    }
}

/// Some notifications of one viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationPage {
    /// Unread likes of all notifications.
    pub unread_count: u64,
    /// The latest first.
    pub items: Vec<Notification>,
    /// Where to continue, if there are more.
    pub next: Option<After>,
}

/// The position to continue after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    /// Behind this one.
    pub position: NotificationKey,
    /// What the inbox itself lists behind it; if `None`, the inbox is read first.
    pub listed: Option<Carried>,
}

/// The activities that an inbox itself lists behind a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The version of the inbox.
    pub version: u64,
    pub activities: Vec<ActivityId>,
}

#[derive(Debug, Clone)]
pub struct NotificationsQuery {
    /// The most notifications.
    pub limit: usize,
    /// The position to begin after.
    pub after: Option<After>,
    /// Only unread ones.
    pub unread_only: bool,
}

/// A notification that is listed somewhere, and what is known of it.
enum Candidate {
    /// An unread one, with its number of likes when it was listed. The view of its activity has the rest.
    Unread(u64),
    Read(ReadNotification),
}

/// The positions of a page, latest first.
#[derive(Clone)]
struct NotificationRange {
    /// It begins behind this.
    after: Option<NotificationKey>,
    /// The last one; `None` if it goes to the end.
    last: Option<NotificationKey>,
}

impl NotificationRange {
    fn has(&self, position: &NotificationKey) -> bool {
        let is_behind = self.after.as_ref().is_none_or(|after| position < after);
        is_behind && self.last.as_ref().is_none_or(|last| position >= last)
    }
}

type ActivityViews = BTreeMap<ActivityId, ActivityLikes>;

/// The rows and views that were read for a page.
struct NotificationReading {
    inbox: View<Inbox>,
    range: NotificationRange,
    items: Vec<Notification>,
    /// Unread likes of all notifications.
    unread: i128,
    views: ActivityViews,
    /// True if the inbox has changed since it was read.
    has_moved: bool,
}

impl Notifications {
    /// A page of a viewer's notifications.
    ///
    /// While nothing changes it makes two calls, unless the page is nearly as large as a batch read: a query, and a batch read of the
    /// views of the activities and of the inbox. The query of the first page begins with the inbox. The cursor of a later page has
    /// the version of the inbox and what it lists; if it has changed, or lists too much for a cursor, the inbox is read first.
    pub async fn page(
        &self,
        viewer: &ViewerId,
        wanted: &NotificationsQuery,
        now: Timestamp,
    ) -> Result<NotificationPage, DynamoError> {
        let mut attempts = 1..ATTEMPTS;
        if let Some(After { position, listed: Some(listed) }) = &wanted.after {
            let page = self.page_behind(viewer, (position, listed), wanted, now).await?;
            if let Some(page) = page {
                return Ok(page);
            }
            attempts.next();
        }
        for _ in attempts {
            let reading = self.reading(viewer, wanted, now).await?;
            if !reading.has_moved {
                return Ok(NotificationPage::new(reading, wanted.limit));
            }
        }
        let mut reading = self.reading(viewer, wanted, now).await?;
        if reading.has_moved && !wanted.unread_only {
            let meanwhile = self.read_meanwhile(viewer, &reading, now).await?;
            reading.items.extend(meanwhile);
        }
        Ok(NotificationPage::new(reading, wanted.limit))
    }

    /// Reads a page once. Likes that come in between are counted and at their position, and the view of an activity has the
    /// notification that was read last in between.
    async fn reading(
        &self,
        viewer: &ViewerId,
        wanted: &NotificationsQuery,
        now: Timestamp,
    ) -> Result<NotificationReading, DynamoError> {
        let NotificationsQuery { limit, after, unread_only } = wanted;
        let (inbox, mut found, mut rest) = self.begin(viewer, wanted).await?;
        let after = after.as_ref().map(|after| after.position.clone());
        let mut reading = NotificationReading {
            unread: i128::from(inbox.state.unread()),
            inbox,
            range: NotificationRange { last: after.clone(), after },
            items: Vec::new(),
            views: BTreeMap::new(),
            has_moved: false,
        };
        loop {
            let missing = limit + 1 - reading.items.len();
            let mut here =
                NotificationRange { after: reading.range.last.take(), last: rest.take() };
            let mut candidates = listed_apart(&found, now, *unread_only)?;
            let listed = reading.inbox.state.listed().filter(|one| here.has(&one.position));
            candidates.extend(listed.map(|l| (l.position.clone(), Candidate::Unread(l.count))));
            candidates.sort_by(|(one, _), (other, _)| other.cmp(one));
            if candidates.len() > missing {
                candidates.truncate(missing);
                here.last = candidates.last().map(|(position, _)| position.clone());
            }
            let (views, inbox) = self.views_of(viewer, activities_of(&candidates).iter()).await?;
            reading.has_moved |= inbox.version() != reading.inbox.version();
            let moved = read_since(&candidates, &views, wanted, now).into_iter();
            let moved = moved.filter(|item| here.has(&item.position()));
            // What moved to another position is listed twice, and its likes are counted once.
            let is_unread = |view: &ActivityLikes| view.unread().is_some();
            candidates.retain(|(position, candidate)| {
                let is_known = reading.views.get(&position.activity_id).is_some_and(is_unread);
                !(is_known && matches!(candidate, Candidate::Unread(_)))
            });
            let (shown, changed) = shown_of(candidates, &views);
            reading.unread += changed;
            reading.items.extend(shown.into_iter().chain(moved));
            reading.views.extend(views);
            reading.range.last = here.last;
            let last = reading.range.last.clone();
            if last.is_none() || reading.items.len() > *limit {
                return Ok(reading);
            }
            let missing = limit + 1 - reading.items.len();
            (found, rest) = self
                .rows(viewer, &NotificationRange { after: last, last: None }, Some(missing))
                .await?;
        }
    }

    /// What had been read when the views of a reading were read, and may have had no item when the items were read. It does not
    /// change any more.
    async fn read_meanwhile(
        &self,
        viewer: &ViewerId,
        reading: &NotificationReading,
        now: Timestamp,
    ) -> Result<Vec<Notification>, DynamoError> {
        let (rows, _) = self.rows(viewer, &reading.range, None).await?;
        let mut items = Vec::new();
        for row in rows.iter().filter(|row| !is_inbox(row)) {
            let position = NotificationKey::of(row)?;
            let view = reading.views.get(&position.activity_id);
            let was_read =
                view.is_some_and(|view| position.behind.is_some_and(|n| n < view.read_through()));
            if was_read
                && reading.range.has(&position)
                && let Some(read) = ReadNotification::read(row, now)?
            {
                items.push((position, Candidate::Read(read)));
            }
        }
        Ok(shown_of(items, &reading.views).0)
    }

    /// A later page with a cursor that lists what is to come of the inbox. `None` if the inbox has changed since, or if the page would
    /// be short although there is more.
    async fn page_behind(
        &self,
        viewer: &ViewerId,
        (after, carried): (&NotificationKey, &Carried),
        wanted: &NotificationsQuery,
        now: Timestamp,
    ) -> Result<Option<NotificationPage>, DynamoError> {
        let NotificationsQuery { limit, unread_only, .. } = wanted;
        let mut range = NotificationRange { after: Some(after.clone()), last: None };
        let (rows, rest) = self.rows(viewer, &range, Some(limit + 1)).await?;
        range.last = rest;
        let mut candidates = listed_apart(&rows, now, *unread_only)?;
        let activities = candidates.iter().map(|(position, _)| &position.activity_id);
        let activities: BTreeSet<_> = activities.chain(&carried.activities).collect();
        let (views, inbox) = self.views_of(viewer, activities.into_iter()).await?;
        if inbox.version().unsigned_abs() != carried.version {
            return Ok(None);
        }
        let listed = inbox.state.listed().filter(|one| range.has(&one.position));
        candidates.extend(listed.map(|l| (l.position.clone(), Candidate::Unread(l.count))));
        let (items, _) = shown_of(candidates, &views);
        let is_whole = range.last.is_none() || items.len() > *limit;
        let unread = i128::from(inbox.state.unread());
        let reading = NotificationReading { inbox, range, items, unread, views, has_moved: false };
        Ok(is_whole.then(|| NotificationPage::new(reading, *limit)))
    }

    /// The inbox, the first items, and the last position examined if there may be more.
    async fn begin(
        &self,
        viewer: &ViewerId,
        NotificationsQuery { limit, after, .. }: &NotificationsQuery,
    ) -> Result<(View<Inbox>, Vec<Row<'_>>, Option<NotificationKey>), DynamoError> {
        let after = after.as_ref().map(|after| after.position.clone());
        if after.is_some() {
            let inbox = self.views.read(keys::inbox(viewer), View::read_from).await?;
            let range = NotificationRange { after, last: None };
            let (rows, rest) = self.rows(viewer, &range, Some(limit + 1)).await?;
            return Ok((inbox, rows, rest));
        }
        // It has the greatest key, so the query begins with it.
        let range = NotificationRange { after, last: None };
        let (mut rows, rest) = self.rows(viewer, &range, Some(limit + 2)).await?;
        let inbox = rows.first().filter(|row| is_inbox(row)).map(View::read_from).transpose()?;
        if inbox.is_some() {
            rows.remove(0);
        }
        Ok((inbox.unwrap_or_default(), rows, rest))
    }

    /// Items of a viewer's partition, latest first, and the last position examined if there may be more.
    async fn rows(
        &self,
        viewer: &ViewerId,
        NotificationRange { after, last }: &NotificationRange,
        limit: Option<usize>,
    ) -> Result<(Vec<Row<'_>>, Option<NotificationKey>), DynamoError> {
        let mut values = vec![(":pk", text(keys::of_viewer(viewer)))];
        values.extend(after.as_ref().map(|after| (":after", text(after.to_text()))));
        values.extend(last.as_ref().map(|last| (":last", text(last.to_text()))));
        let query = Query {
            keys: Some(match (after, last) {
                (None, None) => "pk = :pk",
                (Some(_), None) => "pk = :pk AND sk < :after",
                (None, Some(_)) => "pk = :pk AND sk >= :last",
                (Some(_), Some(_)) => "pk = :pk AND sk BETWEEN :last AND :after",
            }),
            values,
            descending: true,
            limit: limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)),
            ..Query::default()
        };
        let page = self.views.table().page(&query).await?;
        let next = page.next.as_ref().and_then(|key| key.get("sk")?.as_s().ok());
        Ok((page.rows, next.and_then(|sk| NotificationKey::of_text(sk))))
    }

    /// The views of activities, and the inbox as it was read with them.
    async fn views_of(
        &self,
        viewer: &ViewerId,
        activities: impl Iterator<Item = &ActivityId>,
    ) -> Result<(ActivityViews, View<Inbox>), DynamoError> {
        let mut keys: Vec<_> = activities.map(likes::keys::count).collect();
        keys.push(keys::inbox(viewer));
        let (mut views, mut inbox) = (BTreeMap::new(), View::default());
        for some in keys.chunks(BATCH_GET) {
            let keys = some.iter().cloned().map(Key::into_item).collect();
            for row in self.views.table().batch_get(keys).await? {
                match likes::keys::counted(&Key::of(&row)?) {
                    Some(activity) => {
                        views.insert(activity, View::<ActivityLikes>::read_from(&row)?.state);
                    }
                    None => inbox = View::read_from(&row)?,
                }
            }
        }
        Ok((views, inbox))
    }
}

fn is_inbox(row: &Row<'_>) -> bool {
    Key::of(row).is_ok_and(|key| keys::is_inbox(&key))
}

fn activities_of(candidates: &[(NotificationKey, Candidate)]) -> BTreeSet<ActivityId> {
    candidates.iter().map(|(position, _)| position.activity_id.clone()).collect()
}

/// The notifications of these views that were read since the candidates were listed.
fn read_since(
    candidates: &[(NotificationKey, Candidate)],
    views: &BTreeMap<ActivityId, ActivityLikes>,
    wanted: &NotificationsQuery,
    now: Timestamp,
) -> Vec<Notification> {
    if wanted.unread_only {
        return Vec::new();
    }
    let moved = views.iter().filter_map(|(activity, view)| {
        let last = view.last_read().filter(|last| now.since(last.read_at) < LATELY)?;
        let position = last.position(activity);
        let is_listed = candidates.iter().any(|(there, _)| *there == position);
        let id = NotificationId { activity_id: activity.clone(), behind: last.behind };
        let (group, read_at) = (last.group.clone(), Some(last.read_at));
        (!is_listed).then_some(Notification { id, group, read_at })
    });
    moved.collect()
}

/// The notifications with items of their own.
fn listed_apart(
    rows: &[Row<'_>],
    now: Timestamp,
    unread_only: bool,
) -> Result<Vec<(NotificationKey, Candidate)>, DynamoError> {
    let mut candidates = Vec::with_capacity(rows.len());
    for row in rows {
        let position = NotificationKey::of(row)?;
        if position.behind.is_none() {
            let UnreadNotification { count, .. } = UnreadNotification::read(row)?;
            candidates.push((position, Candidate::Unread(count)));
        } else if !unread_only && let Some(read) = ReadNotification::read(row, now)? {
            candidates.push((position, Candidate::Read(read)));
        }
    }
    Ok(candidates)
}

/// The notifications of candidates by their views, and the difference of unread likes.
fn shown_of(
    candidates: Vec<(NotificationKey, Candidate)>,
    views: &BTreeMap<ActivityId, ActivityLikes>,
) -> (Vec<Notification>, i128) {
    let (mut shown, mut changed) = (Vec::with_capacity(candidates.len()), 0);
    for (NotificationKey { activity_id, .. }, candidate) in candidates {
        let Some(view) = views.get(&activity_id) else { continue };
        match candidate {
            Candidate::Read(ReadNotification { behind, read_at, group }) => {
                if !view.is_deleted() && group.count > 0 {
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
    /// The first of what was read, and where to continue if there are more.
    fn new(reading: NotificationReading, limit: usize) -> Self {
        let NotificationReading { inbox, mut items, unread, .. } = reading;
        items.sort_by_key(|item| std::cmp::Reverse(item.position()));
        // One that has moved between two queries is in both.
        let mut seen = BTreeSet::new();
        items.retain(|item| seen.insert(item.id.clone()));
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| {
            let position = last.position();
            let listed = inbox.state.listed().filter(|listed| listed.position < position);
            let activities = listed.map(|listed| listed.position.activity_id.clone()).collect();
            After {
                position,
                listed: Some(Carried { version: inbox.version().unsigned_abs(), activities }),
            }
        });
        Self { unread_count: u64::try_from(unread).unwrap_or(0), items, next }
    }
}
