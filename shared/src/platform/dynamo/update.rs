//! Changes some attributes of an item.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use serde::Deserialize;

use super::answer::AnsweredItem;
use super::item::Item;
use super::request::{ALL_OLD, Request, pairs};
use super::transport::read_answer;
use super::{Calling, DynamoError, Table};

/// An update, with its condition.
#[derive(Debug, Clone, Default)]
pub struct Update<'a> {
    pub expression: &'a str,
    /// The condition expression; with `None` the item is changed whatever it is, and created if it does not exist.
    pub condition: Option<&'a str>,
    /// Names of attributes that stand for placeholders.
    pub names: Vec<(&'a str, &'a str)>,
    pub values: Vec<(&'a str, AttributeValue)>,
}

/// How a conditional change ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Changed {
    /// The whole item after the change.
    Done(Item),
    /// The condition did not hold. The existing item, if there is one.
    Refused(Item),
}

#[derive(Deserialize)]
struct UpdateAnswer {
    #[serde(rename = "Attributes")]
    attributes: Option<AnsweredItem>,
}

impl Table {
    /// Changes an item. A retry may be refused by what the first attempt wrote, or be applied twice.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been changed.
    pub fn change<'a>(&'a self, key: Item, update: Update<'a>) -> Calling<'a, Changed> {
        Box::pin(async move { self.changed(key, update, ReturnValue::AllNew).await })
    }

    /// Changes an item. [`Changed::Done`] contains what `answer` asks for.
    pub(super) async fn changed(
        &self,
        key: Item,
        update: Update<'_>,
        answer: ReturnValue,
    ) -> Result<Changed, DynamoError> {
        let change = Request::to_table(self.name())
            .key(&key)
            .with("UpdateExpression", update.expression)
            .maybe("ConditionExpression", update.condition)
            .placeholders(update.names.iter().copied(), pairs(&update.values))
            .with("ReturnValues", answer.as_str())
            .with("ReturnValuesOnConditionCheckFailure", ALL_OLD)
            .body()?;
        self.attempt(|| async {
            match self.call_once("UpdateItem", &change).await {
                Ok(answer) => {
                    let answer: UpdateAnswer = read_answer(&answer)?;
                    Ok(Changed::Done(answer.attributes.map(Item::from).unwrap_or_default()))
                }
                Err(failed) => failed.refused().map(Changed::Refused),
            }
        })
        .await
    }

    /// Like [`Self::change`], without the item if the condition does not hold.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been changed.
    pub fn update<'a>(&'a self, key: Item, update: Update<'a>) -> Calling<'a, Option<Item>> {
        Box::pin(async move {
            Ok(match self.change(key, update).await? {
                Changed::Done(item) => Some(item),
                Changed::Refused(_) => None,
            })
        })
    }
}
