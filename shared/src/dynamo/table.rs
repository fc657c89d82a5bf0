//! One table, and the calls that read and change single items. [Queries](super::Query) have a file of their own.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValuesOnConditionCheckFailure as OnFailure, ThrottlingReason,
    TransactWriteItem,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use bytes::Bytes;

use super::client::once;
use super::item::{Item, Row};
use super::transport::RequestTemplate;
use super::{Calling, Dynamo, DynamoError, Limits};
use crate::runtime::deadline::Deadline;

/// A table. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Table {
    pub(super) dynamo: Dynamo,
    name: Arc<str>,
}

/// The condition of a change.
#[derive(Debug, Clone)]
pub struct Condition<'a> {
    pub(super) expression: &'a str,
    pub(super) names: Vec<(&'a str, &'a str)>,
    pub(super) values: Vec<(&'a str, AttributeValue)>,
}

impl<'a> Condition<'a> {
    /// A condition expression without values.
    #[must_use]
    pub fn new(expression: &'a str) -> Self {
        Self { expression, names: Vec::new(), values: Vec::new() }
    }

    /// Sets the attribute name of a placeholder.
    #[must_use]
    pub fn name(mut self, placeholder: &'a str, name: &'a str) -> Self {
        self.names.push((placeholder, name));
        self
    }

    /// Sets the value of a placeholder.
    #[must_use]
    pub fn value(mut self, placeholder: &'a str, value: AttributeValue) -> Self {
        self.values.push((placeholder, value));
        self
    }
}

/// How a conditional put ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Put {
    /// The item is there now.
    Done,
    /// The condition did not hold. The existing item, if there is one.
    Refused(Item),
}

impl Table {
    pub(super) fn new(dynamo: Dynamo, name: &str) -> Self {
        Self { dynamo, name: name.into() }
    }

    /// The same table, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { dynamo: dynamo.clone(), name: Arc::clone(&self.name) }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The limits of items and requests.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.dynamo.limits()
    }

    /// The client of the table.
    #[must_use]
    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    /// The deadline of a call that begins now.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        self.dynamo.deadline()
    }

    /// The same table, for calls with another deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> Self {
        self.over(&self.dynamo.until(deadline))
    }

    /// The SDK's client, for calls that are made nowhere else.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.dynamo.client
    }

    /// An item of this table.
    #[must_use]
    pub fn row(&self, item: Item) -> Row<'_> {
        Row { table: &self.name, item }
    }

    /// Calls until it succeeds, fails permanently, or the deadline passes.
    ///
    /// # Errors
    /// [`DynamoError`]: the last failure.
    pub async fn attempt<T, E, F>(&self, call: impl FnMut() -> F) -> Result<T, DynamoError>
    where
        F: Future<Output = Result<T, E>>,
        DynamoError: From<E>,
    {
        self.dynamo.attempt(call).await
    }

    /// Calls an operation with a body that the caller has written, until `read` can read the response.
    pub async fn call<T>(
        &self,
        operation: &str,
        body: &str,
        read: impl Fn(&Bytes) -> Result<T, DynamoError>,
    ) -> Result<T, DynamoError> {
        self.attempt(|| async {
            let answer = self.template().await?.call(operation, body.to_owned()).await?;
            // Read within the retry, so that an incomplete response is requested again.
            read(&answer)
        })
        .await
    }

    pub(super) async fn template(&self) -> Result<&RequestTemplate, DynamoError> {
        self.dynamo.template(&self.name).await
    }

    /// The item at a key, if there is one.
    pub fn get(&self, key: Item) -> Calling<'_, Option<Row<'_>>> {
        Box::pin(async move {
            let answer = self.attempt(|| {
                let get = self.client().get_item().table_name(self.name());
                get.set_key(Some(key.clone())).consistent_read(true).send()
            });
            Ok(answer.await?.item.map(|item| self.row(item)))
        })
    }

    /// Puts an item, whatever is there. Only for items that are written once, or of which nothing should stay; others are
    /// [replaced](Self::replace).
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub fn put(&self, item: Item) -> Calling<'_, ()> {
        Box::pin(async move {
            self.attempt(|| {
                let put = self.client().put_item().table_name(self.name());
                put.set_item(Some(item.clone())).send()
            })
            .await?;
            Ok(())
        })
    }

    /// Puts an item if a condition holds. A retry may be refused by what the first attempt wrote.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub fn put_if<'a>(&'a self, item: Item, condition: Condition<'a>) -> Calling<'a, Put> {
        Box::pin(
            async move { self.attempt(|| async { self.put_once(&item, &condition).await }).await },
        )
    }

    /// Like [`Self::put_if`]; returns `None`, and writes nothing, if the partition is throttled. A table that is throttled as a
    /// whole is waited for, as far as DynamoDB tells the two apart.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub fn put_unless_hot<'a>(
        &'a self,
        item: Item,
        condition: Condition<'a>,
    ) -> Calling<'a, Option<Put>> {
        Box::pin(async move {
            self.attempt(|| async {
                match self.put_once(&item, &condition).await {
                    Err(error) if error.as_service_error().is_some_and(is_hot_partition) => {
                        self.dynamo.usage.failed(&DynamoError::Throttled);
                        Ok(None)
                    }
                    put => put.map(Some),
                }
            })
            .await
        })
    }

    async fn put_once(
        &self,
        item: &Item,
        condition: &Condition<'_>,
    ) -> Result<Put, SdkError<PutItemError, HttpResponse>> {
        let put = self.client().put_item().table_name(self.name());
        let put = put
            .set_item(Some(item.clone()))
            .condition_expression(condition.expression)
            .set_expression_attribute_names(names(&condition.names))
            .set_expression_attribute_values(values(&condition.values))
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        match put.send().await {
            Ok(_) => Ok(Put::Done),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failure)) => {
                    Ok(Put::Refused(failure.item().cloned().unwrap_or_default()))
                }
                _ => Err(error),
            },
        }
    }

    /// Deletes an item, if the condition holds when one is given. Returns false if it did not hold.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been deleted.
    pub fn delete<'a>(&'a self, key: Item, condition: Option<Condition<'a>>) -> Calling<'a, bool> {
        Box::pin(async move {
            self.attempt(|| async {
                let mut delete = self.client().delete_item().table_name(self.name());
                delete = delete.set_key(Some(key.clone()));
                if let Some(condition) = &condition {
                    delete = delete
                        .condition_expression(condition.expression)
                        .set_expression_attribute_names(names(&condition.names))
                        .set_expression_attribute_values(values(&condition.values));
                }
                match delete.send().await {
                    Ok(_) => Ok(true),
                    Err(error) => match error.as_service_error() {
                        Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(false),
                        _ => Err(error),
                    },
                }
            })
            .await
        })
    }

    /// Commits a transaction once. Returns false if one of its conditions did not hold.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been committed.
    pub fn transact(&self, items: Vec<TransactWriteItem>) -> Calling<'_, bool> {
        Box::pin(async move {
            let call = self.client().transact_write_items().set_transact_items(Some(items));
            let committed = once(self.deadline(), async {
                match call.send().await {
                    Ok(_) => Ok(true),
                    Err(error) => cancelled_by_condition(error).map(|()| false),
                }
            });
            committed.await.inspect_err(|error| self.dynamo.usage.failed(error))
        })
    }

    /// Counts items that a transaction has written.
    pub fn count_written(&self, items: usize) {
        self.dynamo.usage.sent(items);
        self.dynamo.usage.written(items);
    }
}

/// True if a put was throttled by its partition, or for an unknown reason.
fn is_hot_partition(error: &PutItemError) -> bool {
    let reasons = match error {
        PutItemError::ProvisionedThroughputExceededException(error) => error.throttling_reasons(),
        PutItemError::ThrottlingException(error) => error.throttling_reasons(),
        _ => return false,
    };
    let is_partition = |reason: &ThrottlingReason| {
        reason.reason().is_some_and(|reason| reason.ends_with("KeyRangeThroughputExceeded"))
    };
    reasons.is_empty() || reasons.iter().any(is_partition)
}

/// The names of placeholders for the SDK: `None` instead of an empty map, which is refused.
pub(super) fn names(names: &[(&str, &str)]) -> Option<HashMap<String, String>> {
    let owned = |(placeholder, name): &(&str, &str)| ((*placeholder).into(), (*name).into());
    (!names.is_empty()).then(|| names.iter().map(owned).collect())
}

/// The values of placeholders, likewise.
pub(super) fn values(values: &[(&str, AttributeValue)]) -> Option<Item> {
    let owned =
        |(placeholder, value): &(&str, AttributeValue)| ((*placeholder).into(), value.clone());
    (!values.is_empty()).then(|| values.iter().map(owned).collect())
}

/// Succeeds if a transaction was cancelled because a condition did not hold.
///
/// # Errors
/// [`DynamoError`] for any other reason.
pub fn cancelled_by_condition<R>(
    error: SdkError<TransactWriteItemsError, R>,
) -> Result<(), DynamoError>
where
    DynamoError: From<SdkError<TransactWriteItemsError, R>>,
{
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
        error.as_service_error()
    else {
        return Err(error.into());
    };
    let codes = || cancelled.cancellation_reasons().iter().map(|r| r.code().unwrap_or_default());
    if codes().any(|code| code == "ConditionalCheckFailed") {
        return Ok(());
    }
    Err(DynamoError::of_cancellation(codes()))
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::error::{RequestLimitExceeded, ThrottlingException};

    use super::*;

    #[test]
    fn a_partition_is_hot_where_that_is_said_or_nothing_is() {
        let throttled = |reasons: &[&str]| {
            let reason = |reason: &&str| ThrottlingReason::builder().reason(*reason).build();
            let reasons = reasons.iter().map(reason).collect();
            let error = ThrottlingException::builder().set_throttling_reasons(Some(reasons));
            is_hot_partition(&PutItemError::ThrottlingException(error.build()))
        };
        assert!(throttled(&[]));
        assert!(throttled(&["TableWriteKeyRangeThroughputExceeded"]));
        let both = ["TableWriteAccountLimitExceeded", "TableWriteKeyRangeThroughputExceeded"];
        assert!(throttled(&both));
        assert!(!throttled(&both[..1]));
        assert!(!throttled(&["TableWriteMaxOnDemandThroughputExceeded"]));
        let account = RequestLimitExceeded::builder().build();
        assert!(!is_hot_partition(&PutItemError::RequestLimitExceeded(account)));
    }
}
