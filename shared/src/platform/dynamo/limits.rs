//! The limits of DynamoDB for items and requests, and how much of them Nagare uses.
//!
//! All code that fills an item or a request asks its table for the limits ([`Table::limits`](super::Table::limits)) and weighs
//! before it adds. Tests use smaller limits, and an engine that enforces them, so that they reach each bound with a few rows.
//!
//! Everything that grows stays below half of a limit of DynamoDB. Batches of independent items do not grow in that sense, so they
//! are cut at the limit itself.

use std::mem::size_of;

use aws_sdk_dynamodb::types::AttributeValue;

use super::item::Item;

const KB: usize = 1024;
const MB: usize = 1024 * KB;

/// Limits of items and requests. The first fields are limits of DynamoDB; from `row_bytes` on they are Nagare's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an item, including the names of attributes.
    pub item_bytes: usize,
    pub transaction_items: usize,
    /// Bytes of all items of a transaction.
    pub transaction_bytes: usize,
    pub batch_write_items: usize,
    pub batch_get_items: usize,
    /// Bytes that one call of Query or Scan reads.
    pub page_bytes: usize,
    pub expression_bytes: usize,
    pub expression_operators: usize,
    pub expression_values_bytes: usize,
    /// The most bytes that an item grows to, whatever commands come.
    pub row_bytes: usize,
    /// Bytes of items with many small parts: blocks beside a view, stored cursors.
    pub block_bytes: usize,
    /// Marks of shards in a view before redundant ones are dropped.
    pub marks: usize,
}

impl Limits {
    /// The limits of DynamoDB.
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
    pub const fn max_transaction_items(&self) -> usize {
        self.transaction_items / 2
    }

    /// The most bytes that Nagare puts into one transaction.
    pub const fn max_transaction_bytes(&self) -> usize {
        self.transaction_bytes / 2
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DYNAMODB
    }
}

/// The size of an item as DynamoDB counts it: names and values, and a few bytes for each list, map and element. A number counts
/// as its digits, which is never less.
pub fn item_bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
}

/// The size of a value, counted like [`item_bytes`].
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
    use crate::platform::dynamo::item::{list, number, text};

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
