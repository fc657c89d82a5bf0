//! Audits of inboxes: comparing how many likes a viewer has not read, and where they are listed, with the views of the activities.
//!
//! An inbox is written with every view that changes it. So if the inbox is the same before and after all views are scanned, nothing
//! that it depends on has changed meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use shared::platform::dynamo::Query;
use shared::platform::dynamo::item::Key;
use shared::platform::projection::{View, Write};
use shared::platform::values::{ActivityId, ViewerId};
use shared::social::likes;
use shared::social::notifications::keys::{self, NotificationKey};
use shared::social::notifications::{ActivityLikes, Inbox, LikesListing, UnreadNotification};

use super::views::{AuditError, Compared, ViewsAuditor};
use crate::Result;
use crate::audit::Found;
use crate::scan::scan;

/// Items beside the inbox in one transaction, which takes a hundred.
const TOGETHER: usize = 90;

/// An inbox that differs from what the views of activities add up to.
#[derive(Debug, Clone, Serialize)]
pub struct InboxDifference {
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
struct InboxTally {
    /// Listings that follow from the views of their activities, by key.
    listings: BTreeMap<NotificationKey, (ActivityId, LikesListing)>,
    /// Listings that are items of their own.
    rows: BTreeMap<NotificationKey, u64>,
}

impl ViewsAuditor {
    /// Compares inboxes with the views of activities, and repairs what differs if that is wanted.
    pub async fn inboxes(
        &self,
        viewers: &[ViewerId],
        repair: bool,
    ) -> Result<Found<InboxDifference, ViewerId>, AuditError> {
        self.in_rounds(
            viewers,
            keys::inbox,
            async |round| Ok(self.inbox_tallies(round).await?),
            async |viewer, inbox, tallies| {
                let tally = tallies.remove(viewer).unwrap_or_default();
                let Some(difference) = tally.difference(viewer, &inbox) else { return Ok(None) };
                if !repair {
                    return Ok(Some(Compared::Differs(difference)));
                }
                let is_written = self.mend_inbox(viewer, inbox, &tally).await?;
                Ok(Some(Compared::repaired(is_written, difference)))
            },
        )
        .await
    }

    async fn inbox_tallies(&self, viewers: &[ViewerId]) -> Result<BTreeMap<ViewerId, InboxTally>> {
        let wanted: BTreeSet<_> = viewers.iter().collect();
        let mut tallies: BTreeMap<ViewerId, InboxTally> = BTreeMap::new();
        scan(self.views.table(), "views read", Query::default(), |row| {
            let key = Key::of(row)?;
            if let Some(activity_id) = likes::keys::counted(&key) {
                let view = View::<ActivityLikes>::read_from(row)?.state;
                let viewer = view.actor().and_then(|actor| ViewerId::new(actor.as_str()).ok());
                let listing = view.listing().zip(viewer.filter(|viewer| wanted.contains(viewer)));
                if let Some((listing, viewer)) = listing {
                    let place = NotificationKey {
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
                let count = UnreadNotification::read(row)?.count;
                tallies.entry(viewer).or_default().rows.insert(place, count);
            }
            Ok(())
        })
        .await?;
        Ok(tallies)
    }

    /// Writes what the inbox should say, together with the listings that are items of their own, unless the inbox has changed.
    async fn mend_inbox(
        &self,
        viewer: &ViewerId,
        stored: View<Inbox>,
        tally: &InboxTally,
    ) -> Result<bool> {
        let listings: Vec<_> = tally.listings.values().cloned().collect();
        let recounted = Inbox::recounted(&listings);
        let delete = |place: &NotificationKey| (place.clone(), Write::Delete(place.key(viewer)));
        let mut rows: BTreeMap<_, _> = tally.rows.keys().map(delete).collect();
        for (place, listed) in recounted.spills() {
            if let Some(listed) = listed {
                rows.insert(place.clone(), Write::Put(listed.write(viewer)));
            }
        }
        let rows: Vec<_> = rows.into_values().collect();
        let mut inbox = stored.with(recounted);
        let chunks = rows.chunks(TOGETHER).map(<[Write]>::to_vec);
        let chunks = chunks.chain(rows.is_empty().then(Vec::new));
        for mut writes in chunks {
            writes.push(inbox.write(keys::inbox(viewer)));
            if !self.views.write(writes).await? {
                return Ok(false);
            }
            inbox = inbox.written();
        }
        Ok(true)
    }
}

impl InboxTally {
    fn difference(&self, viewer: &ViewerId, view: &View<Inbox>) -> Option<InboxDifference> {
        let inbox = &view.state;
        let mut stored = self.rows.clone();
        stored.extend(inbox.listed().map(|listed| (listed.position.clone(), listed.count)));
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
