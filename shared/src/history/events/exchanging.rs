//! Replaces an object of an archive by an edition without some events, together with its rows.
//!
//! # Why the archive can be verified at every moment
//!
//! The edition has another key, and is put first. Then one transaction writes both rows of the object and subtracts the removed events
//! from the period's tally, under the version of the period's row. So before and after, the rows refer to an existing object with the
//! right content, and the period's tally is that of its objects. The replaced object is deleted after that. The row has its name, so
//! after a crash the next replacement or expiry deletes it.
//!
//! Two concurrent replacements both write the period's row, so one of them is refused. Other counts of the events are lowered in the same
//! transaction, which is built again for each attempt because they change meanwhile.

use futures::future::BoxFuture;

use aws_sdk_dynamodb::types::{Put as TransactPut, TransactWriteItem};

use super::archived::EDITIONS;
use super::{ArchivedObject, Archives, PeriodRow, Tally, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::number;
use crate::platform::runtime::retry::Backoff;

impl Archives {
    /// Replaces the rows of an object by those of an edition. Returns the new row of the period; `None` if somebody else has written that
    /// meanwhile.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be written.
    pub async fn exchange<'b>(
        &self,
        row: &PeriodRow,
        object: &ArchivedObject,
        edition: &ArchivedObject,
        beside: impl Fn() -> BoxFuture<'b, Result<Vec<TransactWriteItem>, DynamoError>>,
    ) -> Result<Option<PeriodRow>, DynamoError> {
        let lowered = row.tally.map(|mut tally: Tally| {
            tally.subtract(object.tally);
            tally.add(edition.tally);
            tally
        });
        let next = PeriodRow { tally: lowered, version: row.version + 1, ..row.clone() };
        let (deadline, mut backoff) = (self.ledger.table().deadline(), Backoff::default());
        loop {
            let mut items = self.items(row, &next, edition)?;
            items.extend(beside().await?);
            match self.ledger.table().transact(items).await {
                Ok(true) => return Ok(Some(next)),
                // Nobody else writes exactly this row: it is of an attempt whose response was lost.
                Ok(false) => {
                    let found = self.ledger.get(keys::period(&row.period)).await?;
                    let found = found.as_ref().map(PeriodRow::read).transpose()?;
                    let is_untouched = found.as_ref() == Some(row);
                    if !is_untouched || backoff.wait(deadline).await.is_err() {
                        return Ok(found.filter(|found| *found == next));
                    }
                }
                Err(failure) if !failure.is_retryable() => return Err(failure),
                Err(failure) => {
                    if backoff.wait(deadline).await.is_err() {
                        return Err(failure);
                    }
                }
            }
        }
    }

    fn items(
        &self,
        row: &PeriodRow,
        next: &PeriodRow,
        edition: &ArchivedObject,
    ) -> Result<Vec<TransactWriteItem>, DynamoError> {
        let table = self.ledger.table();
        // It has attributes of a later version.
        let mut item = keys::period(&row.period).into_item();
        item.extend(next.attributes());
        let unchanged = TransactPut::builder()
            .table_name(table.name())
            .set_item(Some(item))
            .condition_expression("version = :read")
            .expression_attribute_values(":read", number(row.version));
        let unchanged = TransactWriteItem::builder().put(unchanged.build()?).build();
        let mut items = vec![unchanged];
        for key in edition.keys() {
            let attributes = edition.attributes();
            items.push(table.replacing(key.into_item(), attributes, &EDITIONS, None)?);
        }
        Ok(items)
    }
}
