//! The bodies of requests, as the API reference of DynamoDB describes them.
//!
//! Calls are made with a [`RequestTemplate`](super::transport::RequestTemplate) and not with the SDK's operations, which take several
//! times as long. The tests compare each body with the one that the SDK sends.

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use bytes::Bytes;
use serde::Serialize;

use super::answer::Written;
use super::item::Item;
use super::{Condition, DynamoError};

/// What a failed condition answers with: the item that is there.
pub(super) const ALL_OLD: &str = "ALL_OLD";
/// Room for a request of ordinary length.
const BYTES: usize = 512;

/// A request that is being written: an object, member by member.
#[derive(Debug)]
pub(super) struct Request {
    body: Vec<u8>,
    /// The first value that could not be written. None of the types that are given here is one.
    failure: Option<serde_json::Error>,
}

impl Request {
    /// About one table.
    pub(super) fn of(table: &str) -> Self {
        let mut request = Self { body: Vec::with_capacity(BYTES), failure: None };
        request.body.push(b'{');
        request.member("TableName", table);
        request
    }

    /// Adds a member.
    pub(super) fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.body.push(b',');
        self.member(name, value);
        self
    }

    /// Adds a member, if there is one.
    pub(super) fn maybe(self, name: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn key(self, key: &Item) -> Self {
        self.with("Key", Written(key))
    }

    pub(super) fn item(self, item: &Item) -> Self {
        self.with("Item", Written(item))
    }

    /// Adds the placeholders of expressions.
    pub(super) fn placeholders<'a>(
        self,
        names: impl IntoIterator<Item = (&'a str, &'a str)>,
        values: impl IntoIterator<Item = (&'a str, &'a AttributeValue)>,
    ) -> Self {
        let values = values.into_iter().map(|(name, value)| (name, Written(value)));
        self.members("ExpressionAttributeNames", names).members("ExpressionAttributeValues", values)
    }

    /// Adds the condition. If it does not hold, the answer has the item that is there.
    pub(super) fn under(self, condition: &Condition<'_>) -> Self {
        let Condition { expression, names, values } = condition;
        self.with("ConditionExpression", expression)
            .with("ReturnValuesOnConditionCheckFailure", ALL_OLD)
            .placeholders(names.iter().copied(), pairs(values))
    }

    /// The body.
    ///
    /// # Errors
    /// [`DynamoError::Rejected`]: a value could not be written.
    pub(super) fn body(mut self) -> Result<Bytes, DynamoError> {
        self.body.push(b'}');
        match self.failure {
            None => Ok(self.body.into()),
            Some(failure) => Err(DynamoError::not_built(&failure.to_string())),
        }
    }

    /// The body of a transaction.
    ///
    /// # Errors
    /// As of [`Self::body`].
    pub(super) fn transaction(items: &[TransactWriteItem]) -> Result<Bytes, DynamoError> {
        let mut body = Vec::with_capacity(BYTES * items.len());
        let mut separator = r#"{"TransactItems":["#;
        for item in items {
            let (kind, request) = part(item)?;
            body.extend(format!(r#"{separator}{{"{kind}":"#).bytes());
            body.extend(request.body()?);
            body.push(b'}');
            separator = ",";
        }
        body.extend(b"]}");
        Ok(body.into())
    }

    /// Adds an object, unless it is empty, which is refused.
    fn members<'a>(
        mut self,
        name: &str,
        members: impl IntoIterator<Item = (&'a str, impl Serialize)>,
    ) -> Self {
        let mut members = members.into_iter().peekable();
        if members.peek().is_none() {
            return self;
        }
        self.body.push(b',');
        self.text(name);
        let mut separator: &[u8] = b":{";
        for (name, value) in members {
            self.body.extend(separator);
            self.member(name, value);
            separator = b",";
        }
        self.body.push(b'}');
        self
    }

    fn member(&mut self, name: &str, value: impl Serialize) {
        self.text(name);
        self.body.push(b':');
        self.text(value);
    }

    fn text(&mut self, value: impl Serialize) {
        let written = serde_json::to_writer(&mut self.body, &value);
        self.failure = self.failure.take().or(written.err());
    }
}

/// Placeholders with their values.
pub(super) fn pairs<'a>(
    values: &'a [(&'a str, AttributeValue)],
) -> impl Iterator<Item = (&'a str, &'a AttributeValue)> {
    values.iter().map(|(placeholder, value)| (*placeholder, value))
}

/// A part of a transaction: what it does, and its request.
fn part(item: &TransactWriteItem) -> Result<(&'static str, Request), DynamoError> {
    // The four types have the same settings.
    macro_rules! request {
        ($part:expr) => {{
            let names = $part.expression_attribute_names().into_iter().flatten();
            let values = $part.expression_attribute_values().into_iter().flatten();
            let failure = $part.return_values_on_condition_check_failure();
            Request::of($part.table_name())
                .maybe("ReturnValuesOnConditionCheckFailure", failure.map(|what| what.as_str()))
                .placeholders(
                    names.map(|(placeholder, name)| (placeholder.as_str(), name.as_str())),
                    values.map(|(placeholder, value)| (placeholder.as_str(), value)),
                )
        }};
    }
    const CONDITION: &str = "ConditionExpression";
    Ok(match (item.put(), item.update(), item.delete(), item.condition_check()) {
        (Some(put), ..) => {
            let request = request!(put).item(put.item());
            ("Put", request.maybe(CONDITION, put.condition_expression()))
        }
        (_, Some(update), ..) => {
            let request = request!(update).key(update.key());
            let request = request.with("UpdateExpression", update.update_expression());
            ("Update", request.maybe(CONDITION, update.condition_expression()))
        }
        (_, _, Some(delete), _) => {
            let request = request!(delete).key(delete.key());
            ("Delete", request.maybe(CONDITION, delete.condition_expression()))
        }
        (_, _, _, Some(check)) => {
            let request = request!(check).key(check.key());
            ("ConditionCheck", request.with(CONDITION, check.condition_expression()))
        }
        _ => return Err(DynamoError::not_built("a part of a transaction does nothing")),
    })
}

#[cfg(test)]
mod tests;
