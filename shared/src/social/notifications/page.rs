//! Pages of notifications, as their viewer reads them.
//!
//! A page is as it was when the views of its activities were read. Whatever changes a notification raises the version of its viewer's
//! inbox, in one transaction. So the inbox is read first and last:
//!
//! ```text
//! inbox, rows    what is listed; the query of a first page begins with the inbox
//! views, inbox   of the activities that are listed
//! rows           once more, if the inbox has changed
//! ```
//!
//! If the inbox has not changed, nothing has. Otherwise the view of an activity has its unread notification and the one that was read
//! last, however often it was read meanwhile. All others had been read before, so they are among the rows that are read afterwards,
//! and no longer change. Activities that were not listed at first are left out: what they notify of came later.
//!
//! A page whose rows have moved away begins again. It makes at most [`ROUNDS`] rounds of calls, and ends early where they are used up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

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

/// Rounds of calls that a page makes at most.
const ROUNDS: usize = 8;
/// Rounds of one reading of a page that is not short: the inbox, the rows, the views, the rows again.
const READING: usize = 4;
/// Rows that are read beyond those that are wanted, where some are hidden or have moved. One call reads the views of as many, and the
/// inbox.
const MORE: usize = BATCH_GET - 1;
/// A notification that was read no longer ago may have no row yet. No read one expires sooner.
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
    /// The position to continue after, if there are more.
    pub next: Option<NotificationKey>,
}

/// A query for notifications.
#[derive(Debug, Clone)]
pub struct NotificationsQuery {
    /// The most notifications.
    pub limit: usize,
    /// The position to begin after.
    pub after: Option<NotificationKey>,
    /// Only unread ones.
    pub unread_only: bool,
}

/// A notification that is listed, and what is known of it.
#[derive(Clone)]
enum Candidate {
    /// An unread one, with its number of likes when it was listed. The view of its activity has the rest.
    Unread(u64),
    Read(ReadNotification),
}

/// Rows of a viewer, and the last position examined if there may be more.
struct Rows<'a> {
    rows: Vec<Row<'a>>,
    rest: Option<NotificationKey>,
}

/// One reading of a page.
struct Reading {
    items: Vec<Notification>,
    /// Unread likes of all notifications.
    unread: i128,
    /// The last position of the page; `None` if nothing is behind it.
    low: Option<NotificationKey>,
    /// True if something has changed while it was read.
    has_moved: bool,
}

/// The positions of a page that are read at once, and what is listed there.
struct Stretch {
    /// It begins after this.
    after: Option<NotificationKey>,
    /// The last position; `None` if it goes to the end.
    low: Option<NotificationKey>,
    listed: Vec<(NotificationKey, Candidate)>,
}

type ActivityViews = BTreeMap<ActivityId, ActivityLikes>;

impl Notifications {
    /// A page of a viewer's notifications.
    pub async fn page(
        &self,
        viewer: &ViewerId,
        wanted: &NotificationsQuery,
        now: Timestamp,
    ) -> Result<NotificationPage, DynamoError> {
        let (mut rounds, mut spare) = (0, 0);
        loop {
            let reading = self.reading(viewer, wanted, spare, &mut rounds, now).await?;
            let is_short = reading.items.len() < wanted.limit && reading.low.is_some();
            if !(is_short && reading.has_moved) || rounds + READING > ROUNDS {
                return Ok(NotificationPage::of(reading, wanted.limit));
            }
            spare = MORE;
        }
    }

    /// Reads a page, until it is full, something has changed, or the rounds are used up.
    async fn reading(
        &self,
        viewer: &ViewerId,
        wanted: &NotificationsQuery,
        spare: usize,
        rounds: &mut usize,
        now: Timestamp,
    ) -> Result<Reading, DynamoError> {
        let NotificationsQuery { limit, after, unread_only } = wanted;
        *rounds += if after.is_some() { 2 } else { 1 };
        let mut more = limit + 1 + spare;
        let (inbox, mut rows) = self.begin(viewer, after.as_ref(), more).await?;
        if *unread_only && inbox.state.lists_all() {
            rows = Rows { rows: Vec::new(), rest: None };
        }
        let unread = i128::from(inbox.state.unread());
        let mut reading =
            Reading { items: Vec::new(), unread, low: after.clone(), has_moved: false };
        let mut is_first = true;
        loop {
            let (after, number) = (reading.low.take(), rows.rows.len());
            let mut stretch = Stretch::of(after, &rows, more, &inbox.state, (now, *unread_only))?;
            let seen = inbox.version();
            let (views, version) = self.views_of(viewer, &stretch, (rounds, seen)).await?;
            reading.has_moved = version != seen;
            match (reading.has_moved, is_first) {
                (false, _) => reading.items.extend(stretch.unmoved(&views)),
                (true, true) => {
                    let mut later = Rows { rows: Vec::new(), rest: None };
                    if !unread_only {
                        *rounds += 1;
                        later = self.rows(viewer, stretch.after.as_ref(), number + MORE).await?;
                    }
                    let of = (now, *unread_only);
                    let (items, changed) = stretch.moved(&views, &later, &inbox.state, of)?;
                    reading.items.extend(items);
                    reading.unread += changed;
                }
                // The stretch is of another moment than those before it.
                (true, false) => stretch.low = stretch.after,
            }
            reading.low = stretch.low;
            let is_over = reading.low.is_none() || reading.items.len() > *limit;
            if is_over || reading.has_moved || *rounds + 2 > ROUNDS {
                return Ok(reading);
            }
            *rounds += 1;
            (is_first, more) = (false, MORE);
            rows = self.rows(viewer, reading.low.as_ref(), more).await?;
        }
    }

    /// The inbox, and rows that were not read before it.
    async fn begin(
        &self,
        viewer: &ViewerId,
        after: Option<&NotificationKey>,
        limit: usize,
    ) -> Result<(View<Inbox>, Rows<'_>), DynamoError> {
        let read = View::<Inbox>::read_from;
        if after.is_some() {
            let inbox = self.views.read(keys::inbox(viewer), read).await?;
            return Ok((inbox, self.rows(viewer, after, limit).await?));
        }
        // It has the greatest key, so the query begins with it.
        let mut rows = self.query(viewer, ("pk = :pk", None), limit + 1).await?;
        let is_inbox = |row: &Row<'_>| Key::of(row).is_ok_and(|key| keys::is_inbox(&key));
        match rows.rows.first().is_some_and(is_inbox) {
            true => Ok((read(&rows.rows.remove(0))?, rows)),
            false => Ok((View::default(), rows)),
        }
    }

    /// Rows of a viewer after a position, without the inbox, the latest first.
    async fn rows(
        &self,
        viewer: &ViewerId,
        after: Option<&NotificationKey>,
        limit: usize,
    ) -> Result<Rows<'_>, DynamoError> {
        let after = after.map_or_else(|| keys::inbox(viewer).sk, NotificationKey::to_text);
        self.query(viewer, ("pk = :pk AND sk < :after", Some(after)), limit).await
    }

    async fn query(
        &self,
        viewer: &ViewerId,
        (keys, after): (&'static str, Option<String>),
        limit: usize,
    ) -> Result<Rows<'_>, DynamoError> {
        let mut values = vec![(":pk", text(keys::of_viewer(viewer)))];
        values.extend(after.map(|after| (":after", text(after))));
        let query = Query {
            keys: Some(keys),
            values,
            descending: true,
            limit: Some(i32::try_from(limit).unwrap_or(i32::MAX)),
            ..Query::default()
        };
        let page = self.views.table().page(&query).await?;
        let rest = page.next.as_ref().and_then(|key| key.get("sk")?.as_s().ok());
        Ok(Rows { rows: page.rows, rest: rest.and_then(|sk| NotificationKey::of_text(sk)) })
    }

    /// The views of the activities of a stretch, and then the version of the inbox, which is `seen` if nothing has to be read.
    async fn views_of(
        &self,
        viewer: &ViewerId,
        stretch: &Stretch,
        (rounds, seen): (&mut usize, i64),
    ) -> Result<(ActivityViews, i64), DynamoError> {
        let activities: BTreeSet<_> =
            stretch.listed.iter().map(|(position, _)| &position.activity_id).collect();
        if activities.is_empty() {
            return Ok((ActivityViews::new(), seen));
        }
        let mut keys: Vec<_> = activities.into_iter().map(likes::keys::count).collect();
        keys.push(keys::inbox(viewer));
        let (mut views, mut version) = (ActivityViews::new(), 0);
        for some in keys.chunks(BATCH_GET) {
            *rounds += 1;
            let keys = some.iter().cloned().map(Key::into_item).collect();
            for row in self.views.table().batch_get(keys).await? {
                match likes::keys::counted(&Key::of(&row)?) {
                    Some(activity) => {
                        views.insert(activity, View::<ActivityLikes>::read_from(&row)?.state);
                    }
                    None => version = View::<Inbox>::read_from(&row)?.version(),
                }
            }
        }
        Ok((views, version))
    }
}

impl Stretch {
    /// The first of these rows, and of what the inbox lists among them.
    fn of(
        after: Option<NotificationKey>,
        Rows { rows, rest }: &Rows<'_>,
        most: usize,
        inbox: &Inbox,
        of: (Timestamp, bool),
    ) -> Result<Self, DynamoError> {
        let mut stretch = Self { after, low: rest.clone(), listed: listed_apart(rows, of)? };
        // A row that has moved into the inbox since.
        stretch.listed.retain(|(position, _)| {
            position.behind.is_some() || inbox.of_activity(&position.activity_id).is_none()
        });
        let there: Vec<_> = inbox.listed().filter(|one| stretch.has(&one.position)).collect();
        let there = there.into_iter().map(|l| (l.position.clone(), Candidate::Unread(l.count)));
        stretch.listed.extend(there);
        stretch.listed.sort_by(|(one, _), (other, _)| other.cmp(one));
        if stretch.listed.len() > most {
            stretch.listed.truncate(most);
            stretch.low = stretch.listed.last().map(|(position, _)| position.clone());
        }
        Ok(stretch)
    }

    fn has(&self, position: &NotificationKey) -> bool {
        let is_behind = self.after.as_ref().is_none_or(|after| position < after);
        is_behind && self.low.as_ref().is_none_or(|low| position >= low)
    }

    /// Its notifications, if nothing has changed since they were listed.
    fn unmoved(&self, views: &ActivityViews) -> Vec<Notification> {
        let shown = self.listed.iter().filter_map(|(NotificationKey { activity_id, .. }, one)| {
            let view = views.get(activity_id).filter(|view| !view.is_deleted())?;
            match one {
                Candidate::Unread(_) => unread_of(activity_id, view),
                Candidate::Read(read) => shown(activity_id, read),
            }
        });
        shown.collect()
    }

    /// Its notifications when the views were read, and by how many likes the number of unread ones differs from that of the inbox before.
    /// `later` was read after the views; the stretch ends where that does.
    fn moved(
        &mut self,
        views: &ActivityViews,
        later: &Rows<'_>,
        inbox: &Inbox,
        (now, unread_only): (Timestamp, bool),
    ) -> Result<(Vec<Notification>, i128), DynamoError> {
        if let Some(rest) = &later.rest
            && self.low.as_ref().is_none_or(|low| low < rest)
        {
            self.low = Some(rest.clone());
        }
        let later = listed_apart(&later.rows, (now, unread_only))?;
        let mut read = BTreeMap::new();
        for (NotificationKey { activity_id, .. }, one) in self.listed.iter().chain(&later) {
            if let Candidate::Read(one) = one {
                read.insert((activity_id, one.behind), one);
            }
        }
        let (mut items, mut changed) = (Vec::new(), 0);
        for (activity, view) in views {
            let last = view.last_read();
            let is_known = |last: &&ReadNotification| {
                let has_row = read.contains_key(&(activity, last.behind));
                has_row || now.since(last.read_at) < LATELY
            };
            let last = last.filter(|last| !unread_only && is_known(last));
            let before = read.range((activity, 0)..(activity, view.read_before_last()));
            let before = before.map(|(_, one)| *one).filter(|_| !view.is_deleted());
            let of_activity = before.chain(last).filter_map(|one| shown(activity, one));
            let unread = unread_of(activity, view);
            let of_activity: Vec<_> = of_activity.chain(unread.clone()).collect();
            items.extend(of_activity.into_iter().filter(|item| self.has(&item.position())));
            let was = self.unread_before(activity, inbox);
            let is_counted =
                was.is_some() || unread.as_ref().is_some_and(|it| self.has(&it.position()));
            if is_counted {
                let is = unread.map_or(0, |unread| unread.group.count);
                changed += i128::from(is) - i128::from(was.unwrap_or(0));
            }
        }
        Ok((items, changed))
    }

    /// The unread likes of an activity when it was listed, if it was.
    fn unread_before(&self, activity: &ActivityId, inbox: &Inbox) -> Option<u64> {
        let in_row = |(position, one): &(NotificationKey, Candidate)| match one {
            Candidate::Unread(count) if position.activity_id == *activity => Some(*count),
            _ => None,
        };
        inbox.of_activity(activity).or_else(|| self.listed.iter().find_map(in_row))
    }
}

/// The notifications with items of their own.
fn listed_apart(
    rows: &[Row<'_>],
    (now, unread_only): (Timestamp, bool),
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

/// A read notification, unless all of its viewers were erased.
fn shown(activity: &ActivityId, read: &ReadNotification) -> Option<Notification> {
    let ReadNotification { behind, read_at, group } = read.clone();
    let id = NotificationId { activity_id: activity.clone(), behind };
    (group.count > 0).then_some(Notification { id, group, read_at: Some(read_at) })
}

/// The unread notification of an activity.
fn unread_of(activity: &ActivityId, view: &ActivityLikes) -> Option<Notification> {
    let id = NotificationId { activity_id: activity.clone(), behind: view.read_through() };
    view.unread().map(|group| Notification { id, group, read_at: None })
}

impl NotificationPage {
    /// The first of a reading, and where to continue if there are more.
    fn of(Reading { mut items, unread, low, .. }: Reading, limit: usize) -> Self {
        items.sort_by_key(|item| std::cmp::Reverse(item.position()));
        let next = match items.len() > limit {
            true => items.get(limit - 1).map(Notification::position),
            false => low,
        };
        items.truncate(limit);
        Self { unread_count: u64::try_from(unread).unwrap_or(0), items, next }
    }
}
