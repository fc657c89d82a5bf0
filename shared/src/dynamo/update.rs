//! Changing some attributes of an item.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

use super::item::Item;
use super::table::{names, values};
use super::{Calling, Table};
use crate::runtime::deadline::Deadline;

/// What is changed, and under which condition.
#[derive(Debug, Clone, Default)]
pub struct Update<'a> {
    /// The update expression.
    pub expression: &'a str,
    /// The condition expression; without one the item is changed whatever it is, and made if it is not there.
    pub condition: Option<&'a str>,
    /// Names of attributes that stand for placeholders.
    pub names: Vec<(&'a str, &'a str)>,
    /// Values that stand for placeholders.
    pub values: Vec<(&'a str, AttributeValue)>,
}

impl Table {
    /// Changes an item. Returns all of it as it is then; nothing if the condition did not hold. An update that
    /// was repeated may be refused by what its first attempt wrote, or be applied twice.
    ///
    /// # Errors
    /// [`DynamoError`](super::DynamoError); it may have been changed.
    pub fn update<'a>(
        &'a self,
        key: Item,
        update: Update<'a>,
        deadline: Deadline,
    ) -> Calling<'a, Option<Item>> {
        Box::pin(async move {
            self.attempt(deadline, || async {
                let call = self.client().update_item().table_name(self.name());
                let call = call
                    .set_key(Some(key.clone()))
                    .update_expression(update.expression)
                    .set_condition_expression(update.condition.map(ToOwned::to_owned))
                    .set_expression_attribute_names(names(&update.names))
                    .set_expression_attribute_values(values(&update.values))
                    .return_values(ReturnValue::AllNew);
                match call.send().await {
                    Ok(answer) => Ok(Some(answer.attributes.unwrap_or_default())),
                    Err(error) if is_refusal(&error) => Ok(None),
                    Err(error) => Err(error),
                }
            })
            .await
        })
    }
}

fn is_refusal<R>(error: &SdkError<UpdateItemError, R>) -> bool {
    matches!(error.as_service_error(), Some(UpdateItemError::ConditionalCheckFailedException(_)))
}
