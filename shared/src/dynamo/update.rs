//! Changes some attributes of an item.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure as OnFailure,
};

use super::item::Item;
use super::table::{names, values};
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
        self.attempt(|| async {
            let call = self.client().update_item().table_name(self.name());
            let call = call
                .set_key(Some(key.clone()))
                .update_expression(update.expression)
                .set_condition_expression(update.condition.map(ToOwned::to_owned))
                .set_expression_attribute_names(names(&update.names))
                .set_expression_attribute_values(values(&update.values))
                .return_values(answer.clone())
                .return_values_on_condition_check_failure(OnFailure::AllOld);
            match call.send().await {
                Ok(answer) => Ok(Changed::Done(answer.attributes.unwrap_or_default())),
                Err(error) => match error.as_service_error() {
                    Some(UpdateItemError::ConditionalCheckFailedException(failure)) => {
                        Ok(Changed::Refused(failure.item().cloned().unwrap_or_default()))
                    }
                    _ => Err(error),
                },
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
