//! BatchGetItem: items by key, many a call.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::KeysAndAttributes;
use futures::future::try_join_all;

use super::item::Item;
use super::reading::{entry_key, into_text};
use super::{Deadline, Store, StoreError};
use crate::id::ViewerId;
use crate::retry::Backoff;

/// Keys one call takes.
pub(super) const BATCH_GET: usize = 100;

impl Store {
    /// Which of these viewers have an entry at a sort key. No viewer may be named twice.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn holders<'v>(
        &self,
        viewers: &'v [ViewerId],
        sort_key: &str,
        deadline: Deadline,
    ) -> Result<Vec<&'v ViewerId>, StoreError> {
        let calls = viewers.chunks(BATCH_GET).map(|viewers| {
            let keys = viewers.iter().map(|viewer| entry_key(viewer, sort_key)).collect();
            self.batch_get(&self.tables.timelines, keys, deadline)
        });
        let items = try_join_all(calls).await?.into_iter().flatten();
        let holders: HashSet<_> =
            items.filter_map(|mut item| into_text(item.remove("viewer_id")?)).collect();
        Ok(viewers.iter().filter(|viewer| holders.contains(viewer.as_str())).collect())
    }

    /// Reads up to [`BATCH_GET`] items of one table, strongly consistent; the keys that DynamoDB gives
    /// back as unprocessed are asked for again.
    pub(super) async fn batch_get(
        &self,
        table: &str,
        keys: Vec<Item>,
        deadline: Deadline,
    ) -> Result<Vec<Item>, StoreError> {
        let mut left = keys;
        let (mut found, mut backoff) = (Vec::with_capacity(left.len()), Backoff::default());
        while !left.is_empty() {
            let request = KeysAndAttributes::builder().set_keys(Some(left)).consistent_read(true);
            let request = request.build()?;
            let answer = self
                .attempt(deadline, || {
                    self.client.batch_get_item().request_items(table, request.clone()).send()
                })
                .await?;
            let items = answer.responses.and_then(|mut tables| tables.remove(table));
            found.extend(items.unwrap_or_default());
            let unprocessed = answer.unprocessed_keys.and_then(|mut keys| keys.remove(table));
            left = unprocessed.map(|keys| keys.keys).unwrap_or_default();
            self.meter.unprocessed(left.len());
            if !left.is_empty() {
                backoff.wait(deadline).await.map_err(|_| StoreError::Throttled)?;
            }
        }
        Ok(found)
    }
}
