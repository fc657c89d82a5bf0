//! BatchGetItem: up to a hundred items in one call.

use aws_sdk_dynamodb::types::KeysAndAttributes;

use super::item::Row;
use super::{Calling, DynamoError, Table};
use crate::dynamo::item::Item;
use crate::runtime::deadline::Deadline;
use crate::runtime::retry::Backoff;

/// Keys that one call takes.
pub const BATCH_GET: usize = 100;

impl Table {
    /// Reads up to [`BATCH_GET`] items, strongly consistent; the keys that DynamoDB gives back as
    /// unprocessed are asked for again. No key may be named twice.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub fn batch_get(&self, keys: Vec<Item>, deadline: Deadline) -> Calling<'_, Vec<Row<'_>>> {
        Box::pin(async move {
            let mut left = keys;
            let (mut found, mut backoff) = (Vec::with_capacity(left.len()), Backoff::default());
            while !left.is_empty() {
                let request =
                    KeysAndAttributes::builder().set_keys(Some(left)).consistent_read(true);
                let request = request.build()?;
                let answer = self
                    .attempt(deadline, || {
                        let call = self.client().batch_get_item();
                        call.request_items(self.name(), request.clone()).send()
                    })
                    .await?;
                let items = answer.responses.and_then(|mut tables| tables.remove(self.name()));
                found.extend(items.unwrap_or_default().into_iter().map(|item| self.row(item)));
                let unprocessed =
                    answer.unprocessed_keys.and_then(|mut keys| keys.remove(self.name()));
                left = unprocessed.map(|keys| keys.keys).unwrap_or_default();
                self.dynamo.usage.unprocessed(left.len());
                if !left.is_empty() {
                    backoff.wait(deadline).await.map_err(|_| DynamoError::Throttled)?;
                }
            }
            Ok(found)
        })
    }
}
