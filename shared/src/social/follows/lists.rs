//! Pages of the actors that a viewer follows, and of the followers of an actor.
//!
//! Both lists have [keys](super::keys) in the order in which they are shown, so a page is one query that begins after the last one
//! shown, however many come before. Items never move, so whoever is in a list throughout is shown once.
//!
//! **Former followers** stay among the edges, and unfollowed actors for some days among the rows. The query reads
//! [three times](SPARE) as many items as it has to find, which costs little compared with the profiles of those it finds. If more
//! have left, another query reads [more items](GROWTH) from the same start, until the queries have read [`MOST_BYTES`] of items. The
//! page is the result of the last query, possibly nothing, with where to continue. So a page is of one moment, and no request takes
//! long, even for an actor whose million followers have all left.

use super::{Follows, keys};
use crate::platform::dynamo::item::{Row, text, truth};
use crate::platform::dynamo::{DynamoError, Query};
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{ActorId, Timestamp, ViewerId};

/// Items that are read for each one that has to be found.
const SPARE: usize = 3;
/// The factor by which each query reads more items than the one before.
const GROWTH: usize = 4;
/// The most bytes of items that a page reads, whatever the ids are: about 140 read units.
const MOST_BYTES: usize = 560 * 1024;
/// The size of an item without the id of its owner, in bytes: the longest id twice, names, an instant.
const ITEM: usize = 2 * 128 + 110;

/// Somebody in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPerson {
    /// Who follows, or is followed.
    pub viewer_id: ViewerId,
    /// The instant of the follow in force.
    pub since: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage {
    pub listed: Vec<ListedPerson>,
    /// Where to continue; `None` only at the end.
    pub next: Option<ViewerId>,
}

/// The keys of a list, and how its items are read.
struct FollowList {
    pk: String,
    /// The most items that a page reads.
    most: usize,
    /// The attribute with the instant.
    since: &'static str,
    sort_key: fn(&ViewerId) -> String,
    viewer: fn(&str) -> Option<ViewerId>,
}

impl Follows {
    /// At most `limit` actors that a viewer follows, ordered by id, after one of them if one is given.
    pub async fn following(
        &self,
        follower: &ViewerId,
        after: Option<&ViewerId>,
        limit: usize,
    ) -> Result<ListPage, DynamoError> {
        let list = FollowList {
            pk: keys::following(follower),
            most: most_items(follower.as_str()),
            since: "at",
            sort_key: ViewerId::to_string,
            viewer: |sort_key| ViewerId::new(sort_key).ok(),
        };
        self.list(&list, after, limit).await
    }

    /// At most `limit` followers of an actor, in the order of their edges, after one of them if one is given.
    pub async fn followers(
        &self,
        followee: &ActorId,
        after: Option<&ViewerId>,
        limit: usize,
    ) -> Result<ListPage, DynamoError> {
        let list = FollowList {
            pk: keys::followers(followee),
            most: most_items(followee.as_str()),
            since: "changed_at",
            sort_key: keys::edge_sort_key,
            viewer: keys::follower_of,
        };
        self.list(&list, after, limit).await
    }

    async fn list(
        &self,
        list: &FollowList,
        after: Option<&ViewerId>,
        limit: usize,
    ) -> Result<ListPage, DynamoError> {
        let start = |viewer| LedgerKey { pk: list.pk.clone(), sk: (list.sort_key)(viewer) };
        // One more than the page, to know whether there is more.
        let mut looks_at = (limit + 1) * SPARE;
        let mut left = list.most;
        let mut query = Query {
            keys: Some("pk = :pk"),
            filter: Some("following = :yes"),
            projection: Some("sk, #since"),
            names: vec![("#since", list.since)],
            values: vec![(":pk", text(&list.pk)), (":yes", truth(true))],
            start: after.map(|viewer| start(viewer).into_item()),
            ..Query::default()
        };
        let table = self.ledger.table();
        loop {
            query.limit = Some(i32::try_from(looks_at).unwrap_or(i32::MAX));
            let page = table.page(&query).await?;
            let some = page.rows.iter().take(limit + 1);
            let mut listed = some.map(|row| list.read(row)).collect::<Result<Vec<_>, _>>()?;
            if listed.len() > limit {
                listed.truncate(limit);
                let next = listed.last().map(|last| last.viewer_id.clone());
                return Ok(ListPage { listed, next });
            }
            left = left.saturating_sub(looks_at);
            let further = (looks_at * GROWTH).min(left);
            let Some(end) = page.next else {
                return Ok(ListPage { listed, next: None });
            };
            if further <= looks_at {
                let next = Some(list.viewer_of(&table.row(end))?);
                return Ok(ListPage { listed, next });
            }
            looks_at = further;
        }
    }
}

/// The number of items that a page reads.
fn most_items(owner: &str) -> usize {
    MOST_BYTES / (ITEM + 2 * owner.len())
}

impl FollowList {
    fn read(&self, row: &Row<'_>) -> Result<ListedPerson, DynamoError> {
        let since = row.parsed(self.since, "an instant")?;
        Ok(ListedPerson { viewer_id: self.viewer_of(row)?, since })
    }

    fn viewer_of(&self, row: &Row<'_>) -> Result<ViewerId, DynamoError> {
        (self.viewer)(row.text("sk")?).ok_or_else(|| row.corrupt("sk", "that of somebody listed"))
    }
}
