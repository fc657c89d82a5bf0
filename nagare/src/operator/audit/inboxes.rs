//! Audits of inboxes: comparing how many likes a viewer has not read, and where they are listed, with the views of
//! the activities.
//!
//! An inbox is written with every view that changes it. So where it is the same before and after all views are
//! scanned, nothing that it depends on has changed meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use futures::TryStreamExt;
use serde::Serialize;
use shared::dynamo::item::Key;
use shared::dynamo::{DynamoError, Query};
use shared::likes;
use shared::notifications::keys::{self, Place};
use shared::notifications::{ActivityLikes, Inbox, Listed, Listing, Spill};
use shared::projection::{View, Write};
use shared::values::{ActivityId, ViewerId};

use super::likes::{AuditError, Found, LikesAuditor};
use crate::operator::soon;
use crate::progress;

/// How often inboxes that change are compared.
const ROUNDS: usize = 8;
/// Items beside the inbox in one transaction, which takes a hundred.
const TOGETHER: usize = 90;

/// An inbox that says something else than the views of the activities.
#[derive(Debug, Clone, Serialize)]
pub struct InboxDifference {
    /// Whose.
    pub viewer_id: ViewerId,
    /// How many likes it says are unread.
    pub stored: u64,
    /// How many are.
    pub recounted: u64,
    /// Notifications that it lists.
    pub stored_notifications: usize,
    /// Notifications that there are.
    pub recounted_notifications: usize,
}

/// What the views say of one viewer.
#[derive(Default)]
struct Tally {
    /// By place, what their activities' views say.
    listings: BTreeMap<Place, (ActivityId, Listing)>,
    /// What is listed in items of its own.
    rows: BTreeMap<Place, u64>,
}

impl LikesAuditor {
    /// Compares inboxes with the views of activities, and mends what differs if wanted.
    ///
    /// # Errors
    /// [`AuditError`]; auditing again completes it.
    pub async fn inboxes(
        &self,
        viewers: &[ViewerId],
        repair: bool,
    ) -> Result<Found<InboxDifference, ViewerId>, AuditError> {
        let mut found = Found { audited: viewers.len(), ..Found::default() };
        found.busy = viewers.to_vec();
        for _ in 0..ROUNDS {
            if found.busy.is_empty() {
                break;
            }
            let round = std::mem::take(&mut found.busy);
            let before = self.read_inboxes(&round).await?;
            let mut tallies = self.inbox_tallies(&round).await?;
            let after = self.read_inboxes(&round).await?;
            for ((viewer_id, before), after) in round.into_iter().zip(before).zip(after) {
                let tally = tallies.remove(&viewer_id).unwrap_or_default();
                if before.version() != after.version() {
                    found.busy.push(viewer_id);
                    continue;
                }
                let Some(difference) = tally.difference(&viewer_id, &after) else { continue };
                let mended = repair && self.mend(&viewer_id, after, &tally).await?;
                if repair && !mended {
                    found.busy.push(viewer_id);
                    continue;
                }
                found.mended += usize::from(mended);
                found.differences.push(difference);
            }
        }
        Ok(found)
    }

    async fn read_inboxes(&self, viewers: &[ViewerId]) -> Result<Vec<View<Inbox>>, DynamoError> {
        let keys: Vec<_> = viewers.iter().map(keys::inbox).collect();
        // One that cannot be read says nothing, which differs.
        self.views.read_all_to_fold(&keys, soon()).await?.into_iter().collect()
    }

    async fn inbox_tallies(
        &self,
        viewers: &[ViewerId],
    ) -> Result<BTreeMap<ViewerId, Tally>, DynamoError> {
        let wanted: BTreeSet<_> = viewers.iter().collect();
        let mut tallies: BTreeMap<ViewerId, Tally> = BTreeMap::new();
        let bar = progress::counter("views read");
        let mut pages = pin!(self.views.table().pages(Query::default(), soon));
        while let Some(page) = pages.try_next().await? {
            bar.inc(page.scanned);
            for row in &page.rows {
                let key = Key::of(row)?;
                if let Some(activity_id) = likes::keys::counted(&key) {
                    let view = View::<ActivityLikes>::read_from(row)?.state;
                    let viewer = view.actor().and_then(|actor| ViewerId::new(actor.as_str()).ok());
                    let listing =
                        view.listing().zip(viewer.filter(|viewer| wanted.contains(viewer)));
                    if let Some((listing, viewer)) = listing {
                        let place = Place {
                            last_at: listing.last_at,
                            activity_id: activity_id.clone(),
                            behind: None,
                        };
                        let tally = tallies.entry(viewer).or_default();
                        tally.listings.insert(place, (activity_id, listing));
                    }
                } else if let Some((viewer, Some(place))) = keys::of_view(&key)
                    && place.behind.is_none()
                    && wanted.contains(&viewer)
                {
                    let count = Listed::read(row)?.count;
                    tallies.entry(viewer).or_default().rows.insert(place, count);
                }
            }
        }
        bar.finish_and_clear();
        Ok(tallies)
    }

    /// Writes what the inbox should say, unless it has changed. What is listed in items of its own comes with it.
    async fn mend(
        &self,
        viewer: &ViewerId,
        stored: View<Inbox>,
        tally: &Tally,
    ) -> Result<bool, DynamoError> {
        let listings: Vec<_> = tally.listings.values().cloned().collect();
        let recounted = Inbox::recounted(&listings);
        let mut rows: BTreeMap<Place, Write> = tally
            .rows
            .keys()
            .map(|place| (place.clone(), Write::Delete(place.key(viewer))))
            .collect();
        for spill in recounted.spills() {
            if let Spill::Put(listed) = spill {
                rows.insert(listed.place.clone(), Write::Put(listed.write(viewer)));
            }
        }
        let rows: Vec<_> = rows.into_values().collect();
        let mut inbox = stored.with(recounted);
        let chunks = rows.chunks(TOGETHER).map(<[Write]>::to_vec);
        let chunks = chunks.chain(rows.is_empty().then(Vec::new));
        for mut writes in chunks {
            writes.push(inbox.write(keys::inbox(viewer)));
            if !self.views.write(writes, soon()).await? {
                return Ok(false);
            }
            inbox = inbox.written();
        }
        Ok(true)
    }
}

impl Tally {
    fn difference(&self, viewer: &ViewerId, view: &View<Inbox>) -> Option<InboxDifference> {
        let inbox = &view.state;
        let mut stored = self.rows.clone();
        stored.extend(inbox.listed().map(|listed| (listed.place.clone(), listed.count)));
        let listings = self.listings.iter().map(|(place, (_, l))| (place.clone(), l.count));
        let recounted: BTreeMap<_, _> = listings.collect();
        let unread = recounted.values().sum();
        let (stored_notifications, recounted_notifications) = (stored.len(), recounted.len());
        let differs = inbox.unread() != unread || stored != recounted || view.is_unreadable();
        differs.then(|| InboxDifference {
            viewer_id: viewer.clone(),
            stored: inbox.unread(),
            recounted: unread,
            stored_notifications,
            recounted_notifications,
        })
    }
}
