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

/// Some rows, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxPage {
    /// The rows.
    pub rows: Vec<OutboxRow>,
    /// Where to go on, if there is more.
    pub next: Option<SortKey>,
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

    /// Reads an outbox from an instant on, or on from a row.
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
        let pk = keys::outbox(actor);
        let answer = self
            .attempt(deadline, || {
                self.client
                    .query()
                    .table_name(&self.tables.ledger)
                    .consistent_read(true)
                    .key_condition_expression("pk = :pk AND sk >= :from")
                    .expression_attribute_values(":pk", text(&pk))
                    .expression_attribute_values(":from", text(from.to_string()))
                    .set_exclusive_start_key(
                        after
                            .map(|sk| ledger_key(LedgerKey { pk: pk.clone(), sk: sk.to_string() })),
                    )
                    .limit(PAGE)
                    .send()
            })
            .await?;
        let more = answer.last_evaluated_key.is_some();
        let rows = answer.items.unwrap_or_default().into_iter().map(|item| self.outbox_row(item));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let next = rows.last().filter(|_| more).map(|row| row.sort_key.clone());
        Ok(OutboxPage { rows, next })
    }

    fn outbox_row(&self, item: super::item::Item) -> Result<OutboxRow, StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        let sort_key =
            SortKey::parse(row.text("sk")?).map_err(|_| row.corrupt("sk", "a sort key"))?;
        Ok(OutboxRow { sort_key, deleted: row.flag("deleted")? })
    }
}
