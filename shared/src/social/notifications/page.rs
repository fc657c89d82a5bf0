//! Pages of notifications, as their viewer reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::try_join;

use super::inbox::{Inbox, Listed};
use super::keys::{self, NotificationKey};
use super::read::ReadNotification;
use super::store::Notifications;
use super::{ActivityLikes, LikeGroup, NotificationId};
use crate::platform::dynamo::item::{Key, Row, text};
use crate::platform::dynamo::{BATCH_GET, DynamoError, Query};
use crate::platform::projection::View;
use crate::platform::values::{ActivityId, Timestamp, ViewerId};
use crate::social::likes;

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
    #[must_use]
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
    /// The activities behind it that the inbox itself lists; if `None`, the inbox is read first.
    pub listed: Option<Vec<ActivityId>>,
}

/// A query for notifications.
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

impl Notifications {
    /// A page of a viewer's notifications.
    ///
    /// It makes two calls, unless the page is nearly as large as a batch read: a query, and a batch read of the views of the
    /// activities. The query of the first page begins with the inbox. Later pages read the inbox with the views, because their cursor
    /// has those of its notifications that are to come; if there are too many for a cursor, they read it in parallel to the query.
    ///
    /// Likes that come in between are in the answer, counted and at their position. A notification that is read in between is on
    /// the page as a read one: the view of its activity has it.
    pub async fn page(
        &self,
        viewer: &ViewerId,
        wanted: &NotificationsQuery,
        now: Timestamp,
    ) -> Result<NotificationPage, DynamoError> {
        let NotificationsQuery { limit, after, unread_only } = wanted;
        if let Some(After { position, listed: Some(listed) }) = after {
            let page = self.page_behind(viewer, (position, listed), wanted, now).await?;
            if let Some(page) = page {
                return Ok(page);
            }
        }
        let (inbox, mut found, mut rest) = self.begin(viewer, wanted).await?;
        let mut after = after.as_ref().map(|after| after.position.clone());
        let mut unread = i128::from(inbox.unread());
        let mut items: Vec<Notification> = Vec::new();
        loop {
            let missing = limit + 1 - items.len();
            let mut candidates = listed_apart(&found, now, *unread_only)?;
            let behind =
                |position: &NotificationKey| after.as_ref().is_none_or(|after| position < after);
            let ahead =
                |position: &NotificationKey| rest.as_ref().is_none_or(|rest| position >= rest);
            let listed = inbox.listed().filter(|one| behind(&one.position) && ahead(&one.position));
            candidates.extend(listed.map(|l| (l.position.clone(), Candidate::Unread(l.count))));
            candidates.sort_by(|(one, _), (other, _)| other.cmp(one));
            let is_all = candidates.len() <= missing;
            candidates.truncate(missing);
            let last = candidates.last().map(|(position, _)| position.clone());
            let is_here = |position: &NotificationKey| {
                let is_passed = last.as_ref().is_some_and(|last| !is_all && position < last);
                behind(position) && ahead(position) && !is_passed
            };
            let views = self.of_activities(&activities_of(&candidates)).await?;
            let mut moved = read_since(&candidates, &views, wanted, now);
            moved.retain(|item| is_here(&item.position()));
            let (shown, changed) = shown_of(candidates, &views);
            unread += changed;
            items.extend(shown.into_iter().chain(moved));
            after = if is_all { rest.take() } else { last };
            let Some(position) = after.as_ref().filter(|_| items.len() <= *limit) else { break };
            let missing = limit + 1 - items.len();
            (found, rest) = self.rows(viewer, Some(position), missing).await?;
        }
        Ok(NotificationPage::of(items, *limit, unread, &inbox))
    }

    /// A later page with a cursor that lists what is to come of the inbox. `None` if it would be short although there is more.
    async fn page_behind(
        &self,
        viewer: &ViewerId,
        (after, listed): (&NotificationKey, &[ActivityId]),
        wanted: &NotificationsQuery,
        now: Timestamp,
    ) -> Result<Option<NotificationPage>, DynamoError> {
        let NotificationsQuery { limit, unread_only, .. } = wanted;
        let (rows, rest) = self.rows(viewer, Some(after), limit + 1).await?;
        let candidates = listed_apart(&rows, now, *unread_only)?;
        let activities = candidates.iter().map(|(position, _)| &position.activity_id).chain(listed);
        let activities: BTreeSet<_> = activities.collect();
        let mut keys: Vec<_> = activities.into_iter().map(likes::keys::count).collect();
        keys.push(keys::inbox(viewer));
        let (mut views, mut inbox) = (BTreeMap::new(), Inbox::default());
        for some in keys.chunks(BATCH_GET) {
            let keys = some.iter().cloned().map(Key::into_item).collect();
            for row in self.views.table().batch_get(keys).await? {
                match likes::keys::counted(&Key::of(&row)?) {
                    Some(activity) => {
                        views.insert(activity, View::<ActivityLikes>::read_from(&row)?.state);
                    }
                    None => inbox = View::read_from(&row)?.state,
                }
            }
        }
        // The inbox has the current counts; what it does not list any more has an item since, or is read.
        let is_listed = |position: &NotificationKey| {
            inbox.listed().any(|listed| listed.position.activity_id == position.activity_id)
        };
        let mut candidates: Vec<_> = candidates
            .into_iter()
            .filter(|(position, _)| position.behind.is_some() || !is_listed(position))
            .collect();
        let known = inbox.listed().filter(|one| views.contains_key(&one.position.activity_id));
        candidates.extend(known.map(|l| (l.position.clone(), Candidate::Unread(l.count))));
        let moved = read_since(&candidates, &views, wanted, now);
        let (mut items, changed) = shown_of(candidates, &views);
        items.extend(moved);
        let is_here = |position: &NotificationKey| {
            position < after && rest.as_ref().is_none_or(|rest| position >= rest)
        };
        items.retain(|item| is_here(&item.position()));
        let is_whole = rest.is_none() || items.len() > *limit;
        let unread = i128::from(inbox.unread()) + changed;
        Ok(is_whole.then(|| NotificationPage::of(items, *limit, unread, &inbox)))
    }

    /// The inbox, the first items, and the last position examined if there may be more.
    async fn begin(
        &self,
        viewer: &ViewerId,
        NotificationsQuery { limit, after, .. }: &NotificationsQuery,
    ) -> Result<(Inbox, Vec<Row<'_>>, Option<NotificationKey>), DynamoError> {
        if let Some(After { position, .. }) = after {
            let rows = self.rows(viewer, Some(position), limit + 1);
            let inbox = self.views.read(keys::inbox(viewer), View::<Inbox>::read_from);
            let ((rows, rest), inbox) = try_join(rows, inbox).await?;
            return Ok((inbox.state, rows, rest));
        }
        // It has the greatest key, so the query begins with it.
        let (mut rows, rest) = self.rows(viewer, None, limit + 2).await?;
        let is_inbox = |row: &Row<'_>| Key::of(row).is_ok_and(|key| keys::is_inbox(&key));
        if !rows.first().is_some_and(is_inbox) {
            return Ok((Inbox::default(), rows, rest));
        }
        let inbox = View::read_from(&rows.remove(0))?.state;
        Ok((inbox, rows, rest))
    }

    /// Items of a viewer's partition after a position, latest first, and the last position examined if there may be more.
    async fn rows(
        &self,
        viewer: &ViewerId,
        after: Option<&NotificationKey>,
        limit: usize,
    ) -> Result<(Vec<Row<'_>>, Option<NotificationKey>), DynamoError> {
        let mut values = vec![(":pk", text(keys::of_viewer(viewer)))];
        values.extend(after.map(|position| (":after", text(position.to_text()))));
        let query = Query {
            keys: Some(if after.is_some() { "pk = :pk AND sk < :after" } else { "pk = :pk" }),
            values,
            descending: true,
            limit: Some(i32::try_from(limit).unwrap_or(i32::MAX)),
            ..Query::default()
        };
        let page = self.views.table().page(&query).await?;
        let next = page.next.as_ref().and_then(|key| key.get("sk")?.as_s().ok());
        Ok((page.rows, next.and_then(|sk| NotificationKey::of_text(sk))))
    }
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
            let Listed { count, .. } = Listed::read(row)?;
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
    /// The first of these, and where to continue if there are more.
    fn of(mut items: Vec<Notification>, limit: usize, unread: i128, inbox: &Inbox) -> Self {
        items.sort_by_key(|item| std::cmp::Reverse(item.position()));
        // One that has moved between two queries is in both.
        let mut seen = BTreeSet::new();
        items.retain(|item| seen.insert(item.id.clone()));
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| {
            let position = last.position();
            let listed = inbox.listed().filter(|listed| listed.position < position);
            let listed = listed.map(|listed| listed.position.activity_id.clone()).collect();
            After { position, listed: Some(listed) }
        });
        Self { unread_count: u64::try_from(unread).unwrap_or(0), items, next }
    }
}
