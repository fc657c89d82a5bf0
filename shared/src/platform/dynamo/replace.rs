//! Writes the known attributes of an item, and keeps all others.
//!
//! While a new version is rolled out, and after it is rolled back, an older version writes the same items. It must keep attributes
//! that it does not know: it sets the attributes that it has, and removes those that it knows and does not have. A put would
//! remove everything else. The cost is that of a put: the same units, and one request.
//!
//! Placeholders are numbers, `#0` and `:0`, because expressions have a size limit. Those of conditions have names.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, ReturnValue, TransactWriteItem, Update as TransactUpdate,
};

use super::item::Item;
use super::update::Update;
use super::{Calling, Changed, Condition, Put, Table};

impl Table {
    /// Sets attributes of an item under a condition, removes those of `optional` that are not among them, and creates the item if
    /// it does not exist. All other attributes stay.
    ///
    /// A retry may be refused by what the first attempt wrote.
    ///
    /// # Errors
    /// [`DynamoError`](super::DynamoError); it may have been written.
    pub fn replace<'a>(
        &'a self,
        key: Item,
        attributes: Item,
        optional: &[&str],
        condition: Option<Condition<'a>>,
    ) -> Calling<'a, Put> {
        let replacing = Replacing::new(attributes, optional);
        Box::pin(async move {
            let update = replacing.update(condition);
            // Nobody needs the resulting item.
            Ok(match self.changed(key, update, ReturnValue::None).await? {
                Changed::Done(_) => Put::Done,
                Changed::Refused(there) => Put::Refused(there),
            })
        })
    }

    /// The same, as a part of a transaction.
    pub fn replacing(
        &self,
        key: Item,
        attributes: Item,
        optional: &[&str],
        condition: Option<Condition<'_>>,
    ) -> Result<TransactWriteItem, BuildError> {
        let replacing = Replacing::new(attributes, optional);
        let update = replacing.update(condition);
        let item = TransactUpdate::builder().table_name(self.name());
        let item = item
            .set_key(Some(key))
            .update_expression(update.expression)
            .set_condition_expression(update.condition.map(ToOwned::to_owned))
            .set_expression_attribute_names(names(&update.names))
            .set_expression_attribute_values(values(&update.values));
        Ok(TransactWriteItem::builder().update(item.build()?).build())
    }

    /// The condition of an item that a transaction does not write, as a part of it.
    pub fn checking(
        &self,
        key: Item,
        condition: &Condition<'_>,
    ) -> Result<TransactWriteItem, BuildError> {
        let check = ConditionCheck::builder()
            .table_name(self.name())
            .set_key(Some(key))
            .condition_expression(condition.expression)
            .set_expression_attribute_names(names(&condition.names))
            .set_expression_attribute_values(values(&condition.values));
        Ok(TransactWriteItem::builder().condition_check(check.build()?).build())
    }
}

/// An expression that sets some attributes and removes others.
struct Replacing {
    expression: String,
    /// The name of `#n`, and the value of `:n`.
    attributes: Vec<(String, Option<AttributeValue>)>,
    /// `#n` and `:n`.
    placeholders: Vec<(String, String)>,
}

impl Replacing {
    fn new(attributes: Item, optional: &[&str]) -> Self {
        let absent = optional.iter().filter(|name| !attributes.contains_key(**name));
        let absent: Vec<_> = absent.map(|name| ((*name).to_owned(), None)).collect();
        let set = attributes.into_iter().map(|(name, value)| (name, Some(value)));
        let attributes: Vec<_> = set.chain(absent).collect();
        let placeholders: Vec<_> =
            (0..attributes.len()).map(|n| (format!("#{n}"), format!(":{n}"))).collect();
        let (mut set, mut remove) = (Vec::new(), Vec::new());
        for ((_, value), (of_name, of_value)) in attributes.iter().zip(&placeholders) {
            match value {
                Some(_) => set.push(format!("{of_name}={of_value}")),
                None => remove.push(of_name.as_str()),
            }
        }
        let mut expression = format!("SET {}", set.join(","));
        if !remove.is_empty() {
            expression.push_str(&format!(" REMOVE {}", remove.join(",")));
        }
        Self { expression, attributes, placeholders }
    }

    fn update<'a>(&'a self, condition: Option<Condition<'a>>) -> Update<'a> {
        let mut update = Update { expression: &self.expression, ..Update::default() };
        for ((name, value), (of_name, of_value)) in self.attributes.iter().zip(&self.placeholders) {
            update.names.push((of_name, name));
            update.values.extend(value.clone().map(|value| (of_value.as_str(), value)));
        }
        if let Some(Condition { expression, names, values }) = condition {
            update.condition = Some(expression);
            update.names.extend(names);
            update.values.extend(values);
        }
        update
    }
}

/// The names of placeholders for the SDK: `None` instead of an empty map, which is refused.
fn names(names: &[(&str, &str)]) -> Option<HashMap<String, String>> {
    let owned = |(placeholder, name): &(&str, &str)| ((*placeholder).into(), (*name).into());
    (!names.is_empty()).then(|| names.iter().map(owned).collect())
}

/// The values of placeholders, likewise.
fn values(values: &[(&str, AttributeValue)]) -> Option<Item> {
    let owned =
        |(placeholder, value): &(&str, AttributeValue)| ((*placeholder).into(), value.clone());
    (!values.is_empty()).then(|| values.iter().map(owned).collect())
}
