//! What only an audit asks: everything in one timeline, everybody a viewer follows, and taking out
//! an entry that no command accounts for.

use aws_sdk_dynamodb::types::{ConditionCheck, Delete, TransactWriteItem};

use super::item::{Row, ledger_key, text, truth};
use super::purge::check_failed;
use super::reading::{entry_key, entry_row};
use super::{BY_FOLLOWER, Deadline, EntryRow, Store, StoreError};
use crate::activity::ActivityKey;
use crate::id::{ActorId, ViewerId};
use crate::keys;
use crate::sort_key::SortKey;

impl Store {
    /// Reads a whole timeline as it is stored, page by page: what is expired and what is not even an
    /// entry included.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn stored_entries(
        &self,
        viewer: &ViewerId,
        deadline: Deadline,
    ) -> Result<Vec<EntryRow>, StoreError> {
        let (mut rows, mut start) = (Vec::new(), None);
        loop {
            let answer = self
                .attempt(deadline, || {
                    self.client
                        .query()
                        .table_name(&self.tables.timelines)
                        .consistent_read(true)
                        .key_condition_expression("viewer_id = :viewer")
                        .expression_attribute_values(":viewer", text(viewer.as_str()))
                        .set_exclusive_start_key(start.clone())
                        .send()
                })
                .await?;
            rows.extend(answer.items.unwrap_or_default().into_iter().map(entry_row));
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(rows);
            }
        }
    }

    /// Reads whom a viewer follows or followed. The index lags behind the edges by moments.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn followees(
        &self,
        viewer: &ViewerId,
        deadline: Deadline,
    ) -> Result<Vec<ActorId>, StoreError> {
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let answer = self
                .attempt(deadline, || {
                    self.client
                        .query()
                        .table_name(&self.tables.ledger)
                        .index_name(BY_FOLLOWER)
                        .key_condition_expression("follower_id = :viewer")
                        .expression_attribute_values(":viewer", text(viewer.as_str()))
                        .set_exclusive_start_key(start.clone())
                        .send()
                })
                .await?;
            for item in answer.items.unwrap_or_default() {
                let row = Row { table: &self.tables.ledger, item };
                found.push(row.parsed("followee_id", "an id")?);
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    /// Reads the viewers of all edges, one step of a scan after the other; a viewer comes once for
    /// each edge. `deadline` makes the deadline of each step.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn each_follower(
        &self,
        mut seen: impl FnMut(ViewerId),
        deadline: impl Fn() -> Deadline,
    ) -> Result<(), StoreError> {
        let mut start = None;
        loop {
            let answer = self
                .attempt(deadline(), || {
                    self.client
                        .scan()
                        .table_name(&self.tables.ledger)
                        .index_name(BY_FOLLOWER)
                        .projection_expression("follower_id")
                        .set_exclusive_start_key(start.clone())
                        .send()
                })
                .await?;
            for item in answer.items.unwrap_or_default() {
                let row = Row { table: &self.tables.ledger, item };
                seen(row.parsed("follower_id", "an id")?);
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }

    /// Takes out an entry that its activity does not account for, unless it is accounted for by now:
    /// a publish may be writing the very entry. An entry of an activity that is published there is
    /// left alone; whether the viewer follows is for [`Store::purge`].
    ///
    /// # Errors
    /// [`StoreError`]; it may be out even so.
    pub async fn erase_unaccounted(
        &self,
        viewer: &ViewerId,
        row: &EntryRow,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let delete = Delete::builder()
            .table_name(&self.tables.timelines)
            .set_key(Some(entry_key(viewer, &row.sort_key)));
        // The row as it was seen: whatever a writer puts there names an actor, and the true one.
        let seen = row.actor_id.clone().unwrap_or_default();
        let delete = delete
            .condition_expression("NOT attribute_type(actor_id, :string) OR actor_id = :seen")
            .expression_attribute_values(":string", text("S"))
            .expression_attribute_values(":seen", text(seen))
            .build()?;
        let mut parts = vec![TransactWriteItem::builder().delete(delete).build()];
        if let Some((sort_key, actor)) = row.target() {
            parts.push(self.not_published(&sort_key, actor)?);
        }
        self.attempt(deadline, || async {
            let call = self.client.transact_write_items();
            match call.set_transact_items(Some(parts.clone())).send().await {
                Ok(_) => Ok(()),
                Err(error) => check_failed(error),
            }
        })
        .await
    }

    fn not_published(
        &self,
        sort_key: &SortKey,
        actor_id: ActorId,
    ) -> Result<TransactWriteItem, StoreError> {
        let key = ActivityKey { activity_id: sort_key.activity_id.clone(), actor_id };
        let check = ConditionCheck::builder()
            .table_name(&self.tables.ledger)
            .set_key(Some(ledger_key(keys::activity(&key))))
            .condition_expression(
                "attribute_not_exists(published_at) OR published_at <> :there OR deleted = :yes",
            )
            .expression_attribute_values(":there", text(sort_key.published_at.to_string()))
            .expression_attribute_values(":yes", truth(true))
            .build()?;
        Ok(TransactWriteItem::builder().condition_check(check).build())
    }
}
