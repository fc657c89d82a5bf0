//! Reads and writes attributes of items, with errors that name the location.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::DynamoError;

/// An item of DynamoDB.
pub type Item = HashMap<String, AttributeValue>;

/// The primary key of an item. In every table the partition key is named `pk` and the sort key `sk`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub pk: String,
    pub sk: String,
}

impl Key {
    #[must_use]
    pub fn into_item(self) -> Item {
        HashMap::from([("pk".to_owned(), text(self.pk)), ("sk".to_owned(), text(self.sk))])
    }

    /// The key of an item that was read.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it has none.
    pub fn of(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { pk: row.text("pk")?.to_owned(), sk: row.text("sk")?.to_owned() })
    }
}

pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub fn number(value: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// A boolean.
pub fn truth(value: bool) -> AttributeValue {
    AttributeValue::Bool(value)
}

pub fn list(values: Vec<AttributeValue>) -> AttributeValue {
    AttributeValue::L(values)
}

/// The error of a malformed attribute.
pub fn corrupt(table: &str, item: &str, attribute: &str, expected: &'static str) -> DynamoError {
    DynamoError::Corrupt {
        location: format!("table {table}, item {item}, attribute {attribute}"),
        expected,
    }
}

/// An item that was read, with the name of its table for errors.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    pub table: &'a str,
    pub item: Item,
}

impl Row<'_> {
    /// The error of a malformed attribute.
    pub fn corrupt(&self, attribute: &str, expected: &'static str) -> DynamoError {
        let key = |name| self.item.get(name).and_then(|v| v.as_s().ok()).map_or("", String::as_str);
        let keys = ["pk", "sk", "id", "part"].map(key).join(" ");
        corrupt(self.table, keys.trim(), attribute, expected)
    }

    /// An optional string.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is something else.
    pub fn optional_text(&self, name: &str) -> Result<Option<&str>, DynamoError> {
        match self.item.get(name) {
            None => Ok(None),
            Some(AttributeValue::S(text)) => Ok(Some(text)),
            Some(_) => Err(self.corrupt(name, "a string")),
        }
    }

    /// A required string.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is not.
    pub fn text(&self, name: &str) -> Result<&str, DynamoError> {
        self.optional_text(name)?.ok_or_else(|| self.corrupt(name, "a string"))
    }

    /// An optional string, parsed.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is something else.
    pub fn optional<T: std::str::FromStr>(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Result<Option<T>, DynamoError> {
        let parse = |text: &str| text.parse().map_err(|_| self.corrupt(name, expected));
        self.optional_text(name)?.map(parse).transpose()
    }

    /// A required string, parsed.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is not.
    pub fn parsed<T: std::str::FromStr>(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Result<T, DynamoError> {
        self.optional(name, expected)?.ok_or_else(|| self.corrupt(name, expected))
    }

    /// A required whole number.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is not.
    pub fn number(&self, name: &str) -> Result<i64, DynamoError> {
        match self.item.get(name) {
            Some(AttributeValue::N(digits)) => {
                digits.parse().map_err(|_| self.corrupt(name, "a whole number"))
            }
            _ => Err(self.corrupt(name, "a whole number")),
        }
    }

    /// A required number that is not negative.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is not.
    pub fn count(&self, name: &str) -> Result<u64, DynamoError> {
        u64::try_from(self.number(name)?).map_err(|_| self.corrupt(name, "a number from 0 on"))
    }

    /// Optional bytes, unpacked.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is something else.
    pub fn packed<T>(
        &self,
        name: &str,
        expected: &'static str,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, DynamoError> {
        let Some(value) = self.item.get(name) else { return Ok(None) };
        let read = value.as_b().ok().and_then(|bytes| read(bytes.as_ref()));
        read.ok_or_else(|| self.corrupt(name, expected)).map(Some)
    }

    /// A boolean; false if the attribute is absent.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is something else.
    pub fn flag(&self, name: &str) -> Result<bool, DynamoError> {
        match self.item.get(name) {
            None => Ok(false),
            Some(AttributeValue::Bool(value)) => Ok(*value),
            Some(_) => Err(self.corrupt(name, "true or false")),
        }
    }
}
