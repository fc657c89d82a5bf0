//! Changing some attributes of an item.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure as OnFailure,
};

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

/// How a conditional change ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Changed {
    /// This is all of the item now.
    Done(Item),
    /// The condition did not hold. This is the item, unless there is none.
    Refused(Item),
}

impl Table {
    /// Changes an item. An update that was repeated may be refused by what its first attempt wrote, or be applied
    /// twice.
    ///
    /// # Errors
    /// [`DynamoError`](super::DynamoError); it may have been changed.
    pub fn change<'a>(
        &'a self,
        key: Item,
        update: Update<'a>,
        deadline: Deadline,
    ) -> Calling<'a, Changed> {
        Box::pin(async move {
            self.attempt(deadline, || async {
                let call = self.client().update_item().table_name(self.name());
                let call = call
                    .set_key(Some(key.clone()))
                    .update_expression(update.expression)
                    .set_condition_expression(update.condition.map(ToOwned::to_owned))
                    .set_expression_attribute_names(names(&update.names))
                    .set_expression_attribute_values(values(&update.values))
                    .return_values(ReturnValue::AllNew)
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
        })
    }

    /// Writes attributes over an item one of whose attributes has a value, and takes out those of `all` that are not among
    /// them. Whatever else the item has stays: another version of the code may have put it there.
    ///
    /// # Errors
    /// [`DynamoError`](super::DynamoError); it may have been changed.
    pub fn replace<'a>(
        &'a self,
        key: Item,
        mut attributes: Item,
        all: &'a [&'a str],
        (guard, value): (&'a str, AttributeValue),
        deadline: Deadline,
    ) -> Calling<'a, Changed> {
        Box::pin(async move {
            let (mut set, mut remove) = (Vec::new(), Vec::new());
            let (mut names, mut values) = (vec![("#guard", guard)], vec![(":guard", value)]);
            let placeholders: Vec<_> =
                (0..all.len()).map(|n| (format!("#n{n}"), format!(":v{n}"))).collect();
            for (name, (of_name, of_value)) in all.iter().zip(&placeholders) {
                names.push((of_name, *name));
                match attributes.remove(*name) {
                    Some(value) => {
                        set.push(format!("{of_name} = {of_value}"));
                        values.push((of_value, value));
                    }
                    None => remove.push(of_name.as_str()),
                }
            }
            let mut expression = format!("SET {}", set.join(", "));
            if !remove.is_empty() {
                expression.push_str(&format!(" REMOVE {}", remove.join(", ")));
            }
            let condition = Some("#guard = :guard");
            let update = Update { expression: &expression, condition, names, values };
            self.change(key, update, deadline).await
        })
    }

    /// The same as [`Self::change`], where it does not matter what the item is if the condition does not hold.
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
            Ok(match self.change(key, update, deadline).await? {
                Changed::Done(item) => Some(item),
                Changed::Refused(_) => None,
            })
        })
    }
}
