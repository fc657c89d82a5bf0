//! Whom a viewer follows and who follows an actor, page by page.
//!
//! Both lists have [keys](super::keys) in the order in which they are shown, so a page is one query that begins beyond the
//! last one shown, however many come before. Whoever is there throughout is shown once: nobody ever moves.
//!
//! **Former followers** stay among the edges, and unfollowed actors for some days among the rows. The query looks at
//! [three times](SPARE) as many as it has to find, which costs little beside the profiles of those it finds. Where
//! more than that have left, further queries look at more of them, [`LOOKS`] in all and no more than
//! [`MOST_BYTES`] of items. Then what was found is the page, fewer than were asked for or none, with where to go on: somebody
//! whose million followers have all left can be asked for without any request taking long.

use super::{Follows, keys};
use crate::dynamo::item::{Row, text, truth};
use crate::dynamo::{DynamoError, Query};
use crate::ledger::LedgerKey;
use crate::runtime::deadline::Deadline;
use crate::values::{ActorId, Timestamp, ViewerId};

/// How many items are looked at for each one that is to be found.
const SPARE: usize = 3;
/// Queries of one page, at most.
const LOOKS: usize = 4;
/// How many times more items each of them looks at than the one before.
const GROWTH: usize = 4;
/// What the items that a page looks at have at most, in bytes, whatever the ids are: 140 read units or so.
const MOST_BYTES: usize = 560 * 1024;
/// What an item has besides the ids of its owner, in bytes: the longest id twice, names, an instant.
const ITEM: usize = 2 * 128 + 110;

/// Somebody in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Who follows, or is followed.
    pub viewer_id: ViewerId,
    /// The instant of the follow that is in force.
    pub since: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage {
    pub listed: Vec<Listed>,
    /// Beyond whom to go on; nobody only at the end.
    pub next: Option<ViewerId>,
}

/// Where a list is, and how its items are read.
struct List {
    pk: String,
    /// The most items of it that a page looks at.
    most: usize,
    /// The attribute that says since when.
    since: &'static str,
    sort_key: fn(&ViewerId) -> String,
    viewer: fn(&str) -> Option<ViewerId>,
}

impl Follows {
    /// At most `limit` actors whom a viewer follows, by id, beyond one of them if one is given.
    pub async fn following(
        &self,
        follower: &ViewerId,
        after: Option<&ViewerId>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<ListPage, DynamoError> {
        let list = List {
            pk: keys::following(follower),
            most: most_items(follower.as_str()),
            since: "at",
            sort_key: ViewerId::to_string,
            viewer: |sort_key| ViewerId::new(sort_key).ok(),
        };
        self.list(&list, after, limit, deadline).await
    }

    /// At most `limit` followers of an actor, in the order of their edges, beyond one of them if one is given.
    pub async fn followers(
        &self,
        followee: &ActorId,
        after: Option<&ViewerId>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<ListPage, DynamoError> {
        let list = List {
            pk: keys::followers(followee),
            most: most_items(followee.as_str()),
            since: "changed_at",
            sort_key: keys::edge_sort_key,
            viewer: keys::follower_of,
        };
        self.list(&list, after, limit, deadline).await
    }

    async fn list(
        &self,
        list: &List,
        after: Option<&ViewerId>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<ListPage, DynamoError> {
        let start = |viewer| LedgerKey { pk: list.pk.clone(), sk: (list.sort_key)(viewer) };
        // With one beyond the page, which shows whether there is more.
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
        let mut listed = Vec::with_capacity(limit + 1);
        for _ in 0..LOOKS {
            let now = looks_at.min(left);
            (looks_at, left) = (looks_at * GROWTH, left - now);
            query.limit = Some(i32::try_from(now).unwrap_or(i32::MAX));
            let page = table.page(&query, deadline).await?;
            for row in page.rows.iter().take(limit + 1 - listed.len()) {
                listed.push(list.read(row)?);
            }
            if listed.len() > limit {
                listed.truncate(limit);
                let next = listed.last().map(|last| last.viewer_id.clone());
                return Ok(ListPage { listed, next });
            }
            query.start = page.next;
            if query.start.is_none() {
                return Ok(ListPage { listed, next: None });
            }
            if left == 0 {
                break;
            }
        }
        let next = query.start.map(|key| list.viewer_of(&table.row(key))).transpose()?;
        Ok(ListPage { listed, next })
    }
}

/// How many items of somebody's list a page looks at.
fn most_items(owner: &str) -> usize {
    MOST_BYTES / (ITEM + 2 * owner.len())
}

impl List {
    fn read(&self, row: &Row<'_>) -> Result<Listed, DynamoError> {
        let since = row.parsed(self.since, "an instant")?;
        Ok(Listed { viewer_id: self.viewer_of(row)?, since })
    }

    fn viewer_of(&self, row: &Row<'_>) -> Result<ViewerId, DynamoError> {
        (self.viewer)(row.text("sk")?).ok_or_else(|| row.corrupt("sk", "that of somebody listed"))
    }
}
