//! One table, and the calls that read and change single items. [Queries](super::Query) have a file of their own.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::AnsweredItem;
use super::client::once;
use super::item::{Item, Row};
use super::request::Request;
use super::transport::{Failed, RequestTemplate, read_answer};
use super::{Calling, Dynamo, DynamoError, Limits};
use crate::platform::runtime::deadline::Deadline;

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

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The limits of items and requests.
    pub fn limits(&self) -> &Limits {
        self.dynamo.limits()
    }

    /// The client of the table.
    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    /// The deadline of a call that begins now.
    pub fn deadline(&self) -> Deadline {
        self.dynamo.deadline()
    }

    /// The same table, for calls with another deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> Self {
        self.over(&self.dynamo.until(deadline))
    }

    /// The SDK's client, for calls that are made nowhere else.
    pub fn client(&self) -> &Client {
        &self.dynamo.client
    }

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
        body: impl Into<Bytes>,
        read: impl Fn(&Bytes) -> Result<T, DynamoError>,
    ) -> Result<T, DynamoError> {
        let body = body.into();
        self.attempt(|| async {
            // Read within the retry, so that an incomplete response is requested again.
            read(&self.call_once(operation, &body).await?)
        })
        .await
    }

    pub(super) async fn call_once(&self, operation: &str, body: &Bytes) -> Result<Bytes, Failed> {
        self.template().await?.call(operation, body.clone()).await
    }

    pub(super) async fn template(&self) -> Result<&RequestTemplate, DynamoError> {
        self.dynamo.template(&self.name).await
    }

    /// Calls a write and ignores what its answer says. An answer that DynamoDB would not give is an error.
    async fn write_once(&self, operation: &str, body: &Bytes) -> Result<(), Failed> {
        let answer = self.call_once(operation, body).await?;
        // As the SDK has it, no body stands for an empty object.
        if !answer.is_empty() {
            read_answer::<Map<String, Value>>(&answer)?;
        }
        Ok(())
    }

    /// The item at a key, if there is one.
    pub fn get(&self, key: Item) -> Calling<'_, Option<Row<'_>>> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(rename = "Item")]
            item: Option<AnsweredItem>,
        }
        Box::pin(async move {
            let get =
                Request::to_table(self.name()).key(&key).with("ConsistentRead", true).body()?;
            let answer = self.call("GetItem", get, |answer| read_answer::<Answer>(answer)).await?;
            Ok(answer.item.map(|item| self.row(item.into())))
        })
    }

    /// Puts an item, whatever is there. Only for items that are written once, or of which nothing should stay; others are
    /// [replaced](Self::replace).
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub fn put(&self, item: Item) -> Calling<'_, ()> {
        Box::pin(async move {
            let put = Request::to_table(self.name()).item(&item).body()?;
            self.attempt(|| self.write_once("PutItem", &put)).await
        })
    }

    /// Puts an item if a condition holds. A retry may be refused by what the first attempt wrote.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been written.
    pub fn put_if<'a>(&'a self, item: Item, condition: Condition<'a>) -> Calling<'a, Put> {
        Box::pin(async move {
            let put = Request::to_table(self.name()).item(&item).under(&condition).body()?;
            self.attempt(|| async { put_of(self.write_once("PutItem", &put).await) }).await
        })
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
            let put = Request::to_table(self.name()).item(&item).under(&condition).body()?;
            self.attempt(|| async {
                match self.write_once("PutItem", &put).await {
                    Err(failed) if failed.is_hot_partition() => {
                        self.dynamo.usage.failed(&DynamoError::Throttled);
                        Ok(None)
                    }
                    answer => put_of(answer).map(Some),
                }
            })
            .await
        })
    }

    /// Deletes an item, if the condition holds when one is given. Returns false if it did not hold.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been deleted.
    pub fn delete<'a>(&'a self, key: Item, condition: Option<Condition<'a>>) -> Calling<'a, bool> {
        Box::pin(async move {
            let delete = Request::to_table(self.name()).key(&key);
            let delete = match &condition {
                Some(condition) => delete.under(condition),
                None => delete,
            };
            let delete = delete.body()?;
            let put =
                self.attempt(|| async { put_of(self.write_once("DeleteItem", &delete).await) });
            Ok(put.await? == Put::Done)
        })
    }

    /// Commits a transaction once. Returns false if one of its conditions did not hold.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been committed.
    pub fn transact(&self, items: Vec<TransactWriteItem>) -> Calling<'_, bool> {
        Box::pin(async move {
            let body = Request::transaction(&items)?;
            let committed = once(self.deadline(), self.transact_once(&body)).await;
            committed.inspect_err(|error| self.dynamo.usage.failed(error))
        })
    }

    /// Commits a transaction, which may be committed several times. Returns false if one of its conditions did not hold: an earlier
    /// attempt may be why.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been committed.
    pub fn transact_again(&self, items: Vec<TransactWriteItem>) -> Calling<'_, bool> {
        Box::pin(async move {
            let body = Request::transaction(&items)?;
            self.attempt(|| self.transact_once(&body)).await
        })
    }

    async fn transact_once(&self, body: &Bytes) -> Result<bool, DynamoError> {
        match self.write_once("TransactWriteItems", body).await {
            Ok(()) => Ok(true),
            Err(failed) => failed.cancelled_by_condition().map(|()| false),
        }
    }

    /// Counts items that a transaction has written.
    pub fn count_written(&self, items: usize) {
        self.dynamo.usage.sent(items);
        self.dynamo.usage.written(items);
    }
}

/// How a conditional change ended.
fn put_of(answer: Result<(), Failed>) -> Result<Put, Failed> {
    answer.map_or_else(|failed| failed.refused().map(Put::Refused), |()| Ok(Put::Done))
}
