//! Outboxes: what each actor published, in timeline order. A follow copies it into a timeline.
//!
//! A row is a pointer that never changes but for one mark, set when the activity is deleted. The
//! row stays: an unfollow has to take out the entries of deleted activities too.

use super::activities::is_condition_failure;
use super::item::{Row, ledger_key, text, truth};
use super::{Deadline, Store, StoreError};
use crate::id::ActorId;
use crate::keys::{self, LedgerKey};
use crate::sort_key::SortKey;
use crate::timestamp::Timestamp;

/// Rows asked for at once: as many as go into a few batches.
const PAGE: i32 = 500;

/// One activity of an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its place in timelines.
    pub sort_key: SortKey,
    /// Marked by a delete.
    pub deleted: bool,
}

/// Some rows, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxPage {
    /// The rows.
    pub rows: Vec<OutboxRow>,
    /// True if there are older ones.
    pub more: bool,
}

/// Which rows of one outbox are asked for.
struct Asked<'a> {
    actor: &'a ActorId,
    first: String,
    last: String,
    after: Option<String>,
    limit: Option<i32>,
    /// Only those that are marked as deleted.
    deleted: bool,
}

impl Store {
    /// Lists an activity in its actor's outbox, or marks it as deleted there. The mark is never
    /// taken off: listing and marking may happen in any order.
    ///
    /// # Errors
    /// [`StoreError`]; it may have happened even so.
    pub async fn list_in_outbox(
        &self,
        actor: &ActorId,
        sort_key: &SortKey,
        deleted: bool,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let key = LedgerKey { pk: keys::outbox(actor), sk: sort_key.to_string() };
        let mut item = ledger_key(key);
        item.insert("activity_id".to_owned(), text(sort_key.activity_id.as_str()));
        if deleted {
            item.insert("deleted".to_owned(), truth(true));
        }
        self.attempt(deadline, || async {
            let put = self.client.put_item().table_name(&self.tables.ledger);
            let put = put.set_item(Some(item.clone()));
            // A row says no more than one that is there already, but for the mark.
            let put = match deleted {
                true => put.condition_expression("attribute_not_exists(deleted)"),
                false => put.condition_expression("attribute_not_exists(pk)"),
            };
            match put.send().await {
                Err(e) if !is_condition_failure(&e) => Err(e),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Reads what an actor published from an instant on, newest first, beyond a row if one is given:
    /// whoever follows or leaves sees the newest first.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn outbox(
        &self,
        actor: &ActorId,
        from: Timestamp,
        after: Option<&SortKey>,
        deadline: Deadline,
    ) -> Result<OutboxPage, StoreError> {
        // Retention may have passed by the row, and with it everything that is older.
        if after.is_some_and(|after| after.published_at < from) {
            return Ok(OutboxPage { rows: Vec::new(), more: false });
        }
        let (first, last) = (from.to_string(), format!("{}~", Timestamp::LAST));
        let after = after.map(ToString::to_string);
        let asked = Asked { actor, first, last, after, limit: Some(PAGE), deleted: false };
        let (rows, next) = self.query_outbox(&asked, deadline).await?;
        Ok(OutboxPage { rows, more: next.is_some() })
    }

    /// The rows from one to another, both included, that are marked as deleted.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn deleted_between(
        &self,
        actor: &ActorId,
        oldest: &SortKey,
        newest: &SortKey,
        deadline: Deadline,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        let (first, last) = (oldest.to_string(), newest.to_string());
        let mut asked = Asked { actor, first, last, after: None, limit: None, deleted: true };
        let mut found = Vec::new();
        loop {
            let (rows, next) = self.query_outbox(&asked, deadline).await?;
            found.extend(rows);
            asked.after = next;
            if asked.after.is_none() {
                return Ok(found);
            }
        }
    }

    async fn query_outbox(
        &self,
        asked: &Asked<'_>,
        deadline: Deadline,
    ) -> Result<(Vec<OutboxRow>, Option<String>), StoreError> {
        let pk = keys::outbox(asked.actor);
        let start = asked.after.clone().map(|sk| ledger_key(LedgerKey { pk: pk.clone(), sk }));
        let answer = self.attempt(deadline, || {
            let query = self
                .client
                .query()
                .table_name(&self.tables.ledger)
                .consistent_read(true)
                .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :last")
                .expression_attribute_values(":pk", text(&pk))
                .expression_attribute_values(":first", text(&asked.first))
                .expression_attribute_values(":last", text(&asked.last))
                .scan_index_forward(false)
                .set_exclusive_start_key(start.clone())
                .set_limit(asked.limit);
            let query = match asked.deleted {
                false => query,
                true => query
                    .filter_expression("deleted = :yes")
                    .expression_attribute_values(":yes", truth(true)),
            };
            query.send()
        });
        let answer = answer.await?;
        let rows = answer.items.unwrap_or_default().into_iter().map(|item| self.outbox_row(item));
        let next = answer.last_evaluated_key.and_then(|mut key| key.remove("sk"));
        Ok((rows.collect::<Result<_, _>>()?, next.and_then(|sk| sk.as_s().ok().cloned())))
    }

    fn outbox_row(&self, item: super::item::Item) -> Result<OutboxRow, StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        let sort_key =
            SortKey::parse(row.text("sk")?).map_err(|_| row.corrupt("sk", "a sort key"))?;
        Ok(OutboxRow { sort_key, deleted: row.flag("deleted")? })
    }
}
