//! An object of an archive is exchanged for an edition of it that lacks something, together with what was noted of both.
//!
//! # Why the archive can be verified at every moment
//!
//! The edition is under another key, and is put before anything else. Then one transaction writes both rows of the object and takes
//! from the period's tally what the edition lacks, under the version of the period's row. So the rows name an object that is there
//! and has what they say, and the period's tally is that of its objects, before and after. What was replaced is deleted behind that; the row
//! remembers it, so whoever comes next deletes it where somebody died in between.
//!
//! Somebody who exchanges at the same time has written the period's row, and one of both is refused. What is counted of the events elsewhere
//! is lowered in the same transaction: it is made again for each attempt, as others go on counting.

use futures::future::BoxFuture;

use aws_sdk_dynamodb::types::{Put as TransactPut, TransactWriteItem};

use super::archived::EDITIONS;
use super::{ArchivedObject, Archives, PeriodRow, Tally, keys};
use crate::dynamo::DynamoError;
use crate::dynamo::item::number;
use crate::runtime::deadline::Deadline;
use crate::runtime::retry::Backoff;

impl Archives {
    /// Writes what is known of an edition in place of what was known of an object. Returns what the period's row has become; nothing if
    /// somebody else has written that meanwhile.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be written.
    pub async fn exchange<'b>(
        &self,
        row: &PeriodRow,
        object: &ArchivedObject,
        edition: &ArchivedObject,
        beside: impl Fn() -> BoxFuture<'b, Result<Vec<TransactWriteItem>, DynamoError>>,
        deadline: Deadline,
    ) -> Result<Option<PeriodRow>, DynamoError> {
        let lowered = row.tally.map(|mut tally: Tally| {
            tally.subtract(object.tally);
            tally.add(edition.tally);
            tally
        });
        let next = PeriodRow { tally: lowered, version: row.version + 1, ..row.clone() };
        let mut backoff = Backoff::default();
        loop {
            let mut items = self.items(row, &next, edition)?;
            items.extend(beside().await?);
            match self.ledger.table().transact(items, deadline).await {
                Ok(true) => return Ok(Some(next)),
                // Nobody else makes exactly this of it: an attempt whose answer was lost has.
                Ok(false) => {
                    let found = self.period_row(row, deadline).await?;
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

    async fn period_row(
        &self,
        row: &PeriodRow,
        deadline: Deadline,
    ) -> Result<Option<PeriodRow>, DynamoError> {
        let found = self.ledger.get(keys::period(row.period), deadline).await?;
        found.as_ref().map(PeriodRow::read).transpose()
    }

    fn items(
        &self,
        row: &PeriodRow,
        next: &PeriodRow,
        edition: &ArchivedObject,
    ) -> Result<Vec<TransactWriteItem>, DynamoError> {
        let table = self.ledger.table();
        // It has what a later version has put there.
        let mut item = keys::period(row.period).into_item();
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
