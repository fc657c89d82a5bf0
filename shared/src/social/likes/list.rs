//! What a viewer likes, in the order of `liked_at`: `person#VIEWER#liked` / SORT KEY, in the ledger.
//!
//! The row of a viewer and an activity says whether it is liked and since when. Its sort key is the activity, so a list of the
//! latest likes would have to read all rows of a viewer. So each row that says *liked* has an entry at its instant in this list,
//! and a page reads as many entries as it shows.
//!
//! # Entries and rows
//!
//! The entry of a like is written before its row, so an erasure that finds a row finds its entry.
//! Entries that a change has overtaken are deleted after it: the row has the instant of the entry
//! before ([`RecordedLike::moved_from`](super::RecordedLike::moved_from)). So once a command is done its
//! row has its entry, and until then its message comes again. An entry without such a row exists
//! for a moment, or stays if its deletion was lost with a writer and overtaken twice. So a reader
//! looks up the row of each entry.
//!
//! # One query, one moment
//!
//! A page is of the moment of one query of entries. Rows are read after it, and a like may have moved by then. At that moment an
//! activity is listed at its latest entry, because the entry of a command that is done is there. That entry is
//! shown if its instant lies in the time since when the row says *liked* without an undo ([`RecordedLike::lists`](super::RecordedLike::lists)),
//! wherever the like is by now. So an activity that is liked throughout is on the page once, however often it is liked again. An
//! entry from before an undo stays hidden.
//!
//! If the ledger was restored, rows may have no entries. An operator lists them ([`LikeList::repair`]).
//!
//! # Bounds
//!
//! An entry is its key and an instant. There is one for each viewer and activity, and one more while it moves.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, TryStreamExt, stream};

use super::{Like, LikeChange, Likes, keys};
use crate::platform::dynamo::item::{Row, text};
use crate::platform::dynamo::{DynamoError, IN_FLIGHT, Query};
use crate::platform::ledger::{FORGET_AT, Ledger, LedgerKey};
use crate::platform::register::Register;
use crate::platform::values::{SortKey, Timestamp, ViewerId};

/// The lists. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LikeList {
    ledger: Ledger,
}

/// Some entries of a list, the latest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries {
    /// The entries. Their rows say whether they are in force.
    pub likes: Vec<Like>,
    /// True if there may be more.
    pub has_more: bool,
}

impl LikeList {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// Records a like or an undo, unless one that wins over it is on record, and lists it.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(
        &self,
        likes: &Likes,
        change: &LikeChange,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let LikeChange { viewer_id: viewer, activity_id, state } = change;
        let at = |instant| Like { liked_at: instant, activity_id: activity_id.clone() };
        if state.on {
            self.put(viewer, &at(state.changed_at)).await?;
        }
        let there = likes.record(change, now).await?;
        let in_force = there.state.on.then_some(there.state.changed_at);
        let own = state.on.then_some(state.changed_at);
        for gone in [own, there.moved_from].into_iter().flatten() {
            if Some(gone) != in_force {
                self.delete(viewer, &at(gone)).await?;
            }
        }
        Ok(())
    }

    /// Entries of a viewer, after a like if one is given. One query examines at most `limit` entries.
    pub async fn entries(
        &self,
        viewer: &ViewerId,
        after: Option<&Like>,
        limit: usize,
    ) -> Result<Entries, DynamoError> {
        let mut query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::listed_of(viewer)))],
            descending: true,
            limit: Some(i32::try_from(limit).unwrap_or(i32::MAX)),
            ..Query::default()
        };
        if let Some(after) = after {
            query.keys = Some("pk = :pk AND sk < :after");
            query.values.push((":after", text(sort_key(after).to_string())));
        }
        let page = self.ledger.table().page(&query).await?;
        let likes = page.rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Entries { likes, has_more: page.next.is_some() })
    }

    /// Lists all likes of a viewer, and removes entries that are not in force.
    ///
    /// # Errors
    /// [`DynamoError`]; some of it may be listed.
    pub async fn repair(&self, viewer: &ViewerId, likes: &Likes) -> Result<(), DynamoError> {
        let listed = self.all(viewer).await?;
        let liked = likes.of_viewer(viewer).await?;
        let (listed, liked): (BTreeSet<_>, BTreeSet<_>) =
            (listed.into_iter().collect(), liked.into_iter().collect());
        let puts = liked.difference(&listed).map(|like| self.put(viewer, like));
        let puts = stream::iter(puts.collect::<Vec<_>>()).buffer_unordered(IN_FLIGHT);
        puts.try_collect::<()>().await?;
        for like in listed.difference(&liked) {
            self.delete_overtaken(viewer, like, likes).await?;
        }
        Ok(())
    }

    /// Deletes an entry, unless its row says that it is or may soon be in force.
    async fn delete_overtaken(
        &self,
        viewer: &ViewerId,
        like: &Like,
        likes: &Likes,
    ) -> Result<(), DynamoError> {
        let recorded = likes.recorded(viewer, &like.activity_id).await?;
        // The undo wins a tie. An entry comes before its row.
        let entry = Register { on: true, changed_at: like.liked_at };
        match recorded {
            Some(there) if there.state > entry => self.delete(viewer, like).await,
            _ => Ok(()),
        }
    }

    /// Deletes the entry of a like that is not in force any more.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be deleted.
    pub async fn delete(&self, viewer: &ViewerId, like: &Like) -> Result<(), DynamoError> {
        self.ledger.delete(key(viewer, like)).await
    }

    /// All entries of a viewer's list, earliest first.
    pub async fn all(&self, viewer: &ViewerId) -> Result<Vec<Like>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            // The rest of an erased item.
            filter: Some("attribute_not_exists(#forget)"),
            names: vec![("#forget", FORGET_AT)],
            values: vec![(":pk", text(keys::listed_of(viewer)))],
            ..Query::default()
        };
        let rows = self.ledger.table().all(query).await?;
        rows.iter().map(read).collect()
    }

    async fn put(&self, viewer: &ViewerId, like: &Like) -> Result<(), DynamoError> {
        let says = [at(like.liked_at)];
        self.ledger.replace(key(viewer, like), says, &[], None).await.map(|_| ())
    }
}

/// All that is about one person has it.
fn at(instant: Timestamp) -> (String, AttributeValue) {
    ("at".to_owned(), text(instant.to_string()))
}

fn sort_key(Like { liked_at, activity_id }: &Like) -> SortKey {
    SortKey { published_at: *liked_at, activity_id: activity_id.clone() }
}

fn key(viewer: &ViewerId, like: &Like) -> LedgerKey {
    keys::listed(viewer, &sort_key(like))
}

fn read(row: &Row<'_>) -> Result<Like, DynamoError> {
    let key: SortKey = row.parsed("sk", "a sort key")?;
    Ok(Like { liked_at: key.published_at, activity_id: key.activity_id })
}
