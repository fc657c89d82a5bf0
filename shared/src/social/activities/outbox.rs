//! Outboxes: what each actor published, in timeline order. A follow copies it into a timeline.
//!
//! A row is a pointer that only changes by a mark that the activity is deleted. The row stays, because an unfollow has to remove
//! the entries of deleted activities too.

use super::{Activities, keys};
use crate::platform::dynamo::item::{Item, Row, text, truth};
use crate::platform::dynamo::{Condition, DynamoError, Query, Update};
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{ActorId, SortKey, Timestamp};

/// Rows of one query: a few batches of writes.
pub const OUTBOX_PAGE: i32 = 500;

/// One activity of an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    pub sort_key: SortKey,
    pub deleted: bool,
}

/// Some rows, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxPage {
    pub rows: Vec<OutboxRow>,
    /// True if there are older ones.
    pub more: bool,
}

struct OutboxQuery<'a> {
    actor: &'a ActorId,
    first: String,
    last: String,
    after: Option<String>,
    limit: Option<i32>,
    /// Only rows that are marked as deleted.
    deleted: bool,
}

impl Activities {
    /// Lists an activity in its actor's outbox, or marks it as deleted there. The mark is never removed, so listing and marking may
    /// happen in any order.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have happened.
    pub async fn list_in_outbox(
        &self,
        actor: &ActorId,
        sort_key: &SortKey,
        deleted: bool,
    ) -> Result<(), DynamoError> {
        let key = keys::outbox_row(actor, sort_key);
        let activity = text(sort_key.activity_id.as_str());
        // An existing row can only differ by the mark.
        if !deleted {
            let row = Item::from([("activity_id".to_owned(), activity)]);
            let none = Condition::new("attribute_not_exists(pk)");
            return self.ledger.put_if(key, row, none).await.map(|_| ());
        }
        let mark = Update {
            expression: "SET activity_id = :activity, deleted = :yes",
            condition: Some("attribute_not_exists(deleted)"),
            values: vec![(":activity", activity), (":yes", truth(true))],
            ..Update::default()
        };
        self.ledger.table().update(key.into_item(), mark).await.map(|_| ())
    }

    /// Reads what an actor published since an instant, newest first, after a row if one is given.
    pub async fn outbox(
        &self,
        actor: &ActorId,
        from: Timestamp,
        after: Option<&SortKey>,
    ) -> Result<OutboxPage, DynamoError> {
        // The row may be older than retention, and so is everything after it.
        if after.is_some_and(|after| after.published_at < from) {
            return Ok(OutboxPage { rows: Vec::new(), more: false });
        }
        let (first, last) = (from.to_string(), format!("{}~", Timestamp::LAST));
        let after = after.map(ToString::to_string);
        let asked =
            OutboxQuery { actor, first, last, after, limit: Some(OUTBOX_PAGE), deleted: false };
        let (rows, next) = self.query_outbox(&asked).await?;
        Ok(OutboxPage { rows, more: next.is_some() })
    }

    /// The rows from one to another, both included, that are marked as deleted.
    pub async fn deleted_between(
        &self,
        actor: &ActorId,
        oldest: &SortKey,
        newest: &SortKey,
    ) -> Result<Vec<OutboxRow>, DynamoError> {
        let (first, last) = (oldest.to_string(), newest.to_string());
        let mut asked = OutboxQuery { actor, first, last, after: None, limit: None, deleted: true };
        let mut found = Vec::new();
        loop {
            let (rows, next) = self.query_outbox(&asked).await?;
            found.extend(rows);
            asked.after = next;
            if asked.after.is_none() {
                return Ok(found);
            }
        }
    }

    /// The row of one activity, if it is listed in the actor's outbox.
    pub async fn listed(
        &self,
        actor: &ActorId,
        sort_key: &SortKey,
    ) -> Result<Option<OutboxRow>, DynamoError> {
        let key = keys::outbox_row(actor, sort_key);
        self.ledger.get(key).await?.as_ref().map(outbox_row).transpose()
    }

    async fn query_outbox(
        &self,
        asked: &OutboxQuery<'_>,
    ) -> Result<(Vec<OutboxRow>, Option<String>), DynamoError> {
        let pk = keys::outbox(asked.actor);
        let start = asked.after.clone().map(|sk| LedgerKey { pk: pk.clone(), sk }.into_item());
        let mut query = Query {
            keys: Some("pk = :pk AND sk BETWEEN :first AND :last"),
            values: vec![
                (":pk", text(pk)),
                (":first", text(&asked.first)),
                (":last", text(&asked.last)),
            ],
            start,
            descending: true,
            limit: asked.limit,
            ..Query::default()
        };
        if asked.deleted {
            query.filter = Some("deleted = :yes");
            query.values.push((":yes", truth(true)));
        }
        let page = self.ledger.table().page(&query).await?;
        let rows = page.rows.iter().map(outbox_row).collect::<Result<_, _>>()?;
        let next = page.next.and_then(|mut key| key.remove("sk"));
        Ok((rows, next.and_then(|sk| sk.as_s().ok().cloned())))
    }
}

pub(super) fn outbox_row(row: &Row<'_>) -> Result<OutboxRow, DynamoError> {
    let sort_key = row.parsed("sk", "a sort key")?;
    Ok(OutboxRow { sort_key, deleted: row.flag("deleted")? })
}
