//! Attributes of items: written and read in one place, with errors that name the place.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::StoreError;
use crate::keys::LedgerKey;

/// An item as DynamoDB holds it.
pub(super) type Item = HashMap<String, AttributeValue>;

pub(super) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(super) fn number(value: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub(super) fn truth(value: bool) -> AttributeValue {
    AttributeValue::Bool(value)
}

/// The key attributes of a ledger item.
pub(super) fn ledger_key(key: LedgerKey) -> Item {
    HashMap::from([("pk".to_owned(), text(key.pk)), ("sk".to_owned(), text(key.sk))])
}

/// An attribute is not what it should be.
pub(super) fn corrupt(
    table: &str,
    item: &str,
    attribute: &str,
    expected: &'static str,
) -> StoreError {
    StoreError::Corrupt {
        place: format!("table {table}, item {item}, attribute {attribute}"),
        expected,
    }
}

/// An item that was read, with the name of its table for errors.
pub(super) struct Row<'a> {
    pub(super) table: &'a str,
    pub(super) item: Item,
}

impl Row<'_> {
    pub(super) fn corrupt(&self, attribute: &str, expected: &'static str) -> StoreError {
        let key = |name| self.item.get(name).and_then(|v| v.as_s().ok()).map_or("", String::as_str);
        let keys = ["pk", "sk", "id", "part"].map(key).join(" ");
        corrupt(self.table, keys.trim(), attribute, expected)
    }

    /// A text, if the attribute is there.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&str>, StoreError> {
        match self.item.get(name) {
            None => Ok(None),
            Some(AttributeValue::S(text)) => Ok(Some(text)),
            Some(_) => Err(self.corrupt(name, "a string")),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, StoreError> {
        self.optional_text(name)?.ok_or_else(|| self.corrupt(name, "a string"))
    }

    /// A parsed text, if the attribute is there.
    pub(super) fn optional<T: std::str::FromStr>(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Result<Option<T>, StoreError> {
        let parse = |text: &str| text.parse().map_err(|_| self.corrupt(name, expected));
        self.optional_text(name)?.map(parse).transpose()
    }

    pub(super) fn parsed<T: std::str::FromStr>(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Result<T, StoreError> {
        self.optional(name, expected)?.ok_or_else(|| self.corrupt(name, expected))
    }

    pub(super) fn number(&self, name: &str) -> Result<i64, StoreError> {
        match self.item.get(name) {
            Some(AttributeValue::N(digits)) => {
                digits.parse().map_err(|_| self.corrupt(name, "a whole number"))
            }
            _ => Err(self.corrupt(name, "a whole number")),
        }
    }

    /// False where the attribute is not there.
    pub(super) fn flag(&self, name: &str) -> Result<bool, StoreError> {
        match self.item.get(name) {
            None => Ok(false),
            Some(AttributeValue::Bool(value)) => Ok(*value),
            Some(_) => Err(self.corrupt(name, "true or false")),
        }
    }
}
