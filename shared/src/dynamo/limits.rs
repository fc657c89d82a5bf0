//! What DynamoDB takes in one item and one request, and how much of that Nagare uses.
//!
//! All code that gathers something into an item or a request asks the table that it is for
//! ([`Table::limits`](super::Table::limits)) and weighs before it adds. Tests hand a client smaller limits, and an engine
//! that refuses by the same ones, so that they get to each bound with a few rows.
//!
//! Whatever grows keeps to half of what DynamoDB takes. Batches of single items are no such thing: their writes and
//! reads depend on nothing but themselves, so they are cut at DynamoDB's own number.

use std::mem::size_of;

use aws_sdk_dynamodb::types::AttributeValue;

use super::item::Item;

const KB: usize = 1024;
const MB: usize = 1024 * KB;

/// Limits of items and requests. The first fields are what DynamoDB refuses beyond; from `row_bytes` on they are
/// Nagare's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an item, names of attributes included.
    pub item_bytes: usize,
    /// Items of a transaction.
    pub transaction_items: usize,
    /// Bytes of all items of a transaction.
    pub transaction_bytes: usize,
    /// Items of a BatchWriteItem.
    pub batch_write_items: usize,
    /// Keys of a BatchGetItem.
    pub batch_get_items: usize,
    /// Bytes that one call of a Query or a Scan looks at.
    pub page_bytes: usize,
    /// Bytes of an expression.
    pub expression_bytes: usize,
    /// Operators and functions of an expression.
    pub expression_operators: usize,
    /// Bytes of all values of an expression.
    pub expression_values_bytes: usize,
    /// Bytes that no item grows beyond, whatever commands come.
    pub row_bytes: usize,
    /// Bytes of the items that are made to hold many small things: blocks beside a view, stored cursors.
    pub block_bytes: usize,
    /// Marks of shards that a view has before those are dropped that it needs no more.
    pub marks: usize,
}

impl Limits {
    /// Those of DynamoDB.
    pub const DYNAMODB: Self = Self {
        item_bytes: 400 * KB,
        transaction_items: 100,
        transaction_bytes: 4 * MB,
        batch_write_items: 25,
        batch_get_items: 100,
        page_bytes: MB,
        expression_bytes: 4 * KB,
        expression_operators: 300,
        expression_values_bytes: 2 * MB,
        row_bytes: 64 * KB,
        block_bytes: 128 * KB,
        marks: 8,
    };

    /// The most items that Nagare puts into one transaction.
    #[must_use]
    pub const fn max_transaction_items(&self) -> usize {
        self.transaction_items / 2
    }

    /// The most bytes that it puts into one.
    #[must_use]
    pub const fn max_transaction_bytes(&self) -> usize {
        self.transaction_bytes / 2
    }

    /// The most bytes of an expression.
    #[must_use]
    pub const fn max_expression_bytes(&self) -> usize {
        self.expression_bytes / 2
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DYNAMODB
    }
}

/// The size of an item as DynamoDB counts it: names and values, and a few bytes for each list, map and element. Numbers
/// are taken for as long as their digits, which is never less.
#[must_use]
pub fn item_bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
}

/// The size of a value, counted likewise.
#[must_use]
pub fn value_bytes(value: &AttributeValue) -> usize {
    let texts = |texts: &[String]| texts.iter().map(String::len).sum();
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len() + 1,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Ss(set) => texts(set),
        AttributeValue::Ns(set) => texts(set) + set.len(),
        AttributeValue::Bs(set) => set.iter().map(|bytes| bytes.as_ref().len()).sum(),
        AttributeValue::L(list) => {
            3 + list.iter().map(|value| 1 + value_bytes(value)).sum::<usize>()
        }
        AttributeValue::M(map) => 3 + map.len() + item_bytes(map),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 1,
        _ => size_of::<u64>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamo::item::{list, number, text};

    #[test]
    fn an_item_weighs_its_names_and_values() {
        let item = Item::from([("name".to_owned(), text("value"))]);
        assert_eq!(item_bytes(&item), 9);
        let nested = Item::from([("l".to_owned(), list(vec![text("ab"), number(7)]))]);
        assert_eq!(item_bytes(&nested), 1 + 3 + 3 + 3);
        assert_eq!(value_bytes(&AttributeValue::M(item)), 3 + 1 + 9);
    }

    #[test]
    fn what_grows_keeps_to_half() {
        let limits = Limits::DYNAMODB;
        assert_eq!((limits.max_transaction_items(), limits.max_transaction_bytes()), (50, 2 * MB));
        assert!(
            limits.block_bytes * 2 < limits.item_bytes && limits.row_bytes <= limits.block_bytes
        );
    }
}
