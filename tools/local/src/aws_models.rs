//! Requests as AWS's own models describe them: required members, types, lengths, ranges, patterns and choices.
//!
//! The table is derived from botocore's service models, with the limits that only the documentation of a service has
//! (`tests/template/run_time.py`). It contains the operations that functions and tools call. The local stack refuses what the
//! models refuse, and the tests hold every call of a function to them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

static TABLE: LazyLock<Result<Table, serde_json::Error>> =
    LazyLock::new(|| serde_json::from_str(include_str!("aws_models.json")));

#[derive(Deserialize)]
struct Table {
    /// The shapes of requests, by `service.Operation`.
    operations: BTreeMap<String, String>,
    shapes: BTreeMap<String, Shape>,
}

#[derive(Deserialize)]
struct Shape {
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(default)]
    members: BTreeMap<String, String>,
    #[serde(default)]
    required: Vec<String>,
    /// Of a list or a map.
    member: Option<String>,
    key: Option<String>,
    least: Option<f64>,
    most: Option<f64>,
    #[serde(default)]
    choices: Vec<String>,
    #[serde(default, deserialize_with = "whole")]
    pattern: Option<Regex>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Structure,
    List,
    Map,
    String,
    Blob,
    Integer,
    Long,
    Float,
    Double,
    Boolean,
    Timestamp,
}

/// What becomes of members that no model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// As AWS does.
    Ignored,
    Refused,
}

/// A value that AWS refuses.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "1 validation error detected: Value at '{path}' failed to satisfy constraint: {constraint}"
)]
pub struct Violation {
    path: String,
    constraint: String,
}

/// Checks a request of an operation, such as `dynamodb.CreateTable`.
///
/// # Errors
/// [`Violation`], the first one.
pub fn check(operation: &str, request: &Value, unknown: Unknown) -> Result<(), Violation> {
    let table = match &*TABLE {
        Ok(table) => table,
        Err(malformed) => return violated(operation, malformed.to_string()),
    };
    match table.operations.get(operation) {
        Some(shape) => Check { table, unknown }.value(shape, request, ""),
        None => violated(operation, "No model describes this operation".to_owned()),
    }
}

struct Check<'a> {
    table: &'a Table,
    unknown: Unknown,
}

impl Check<'_> {
    fn value(&self, shape: &str, value: &Value, path: &str) -> Result<(), Violation> {
        let Some(shape) = self.table.shapes.get(shape) else {
            return violated(path, "No model describes this value".to_owned());
        };
        match (shape.kind, value) {
            (Kind::Structure, Value::Object(members)) => self.members(shape, members, path),
            (Kind::List, Value::Array(values)) => {
                shape.check_number(values.len(), path, "length")?;
                let member = shape.member.as_deref().unwrap_or_default();
                let mut values = values.iter().zip(1..);
                values.try_for_each(|(value, n)| {
                    self.value(member, value, &format!("{path}.{n}.member"))
                })
            }
            (Kind::Map, Value::Object(values)) => {
                shape.check_number(values.len(), path, "length")?;
                let key = shape.key.as_deref().unwrap_or_default();
                let member = shape.member.as_deref().unwrap_or_default();
                values.iter().try_for_each(|(name, value)| {
                    self.value(key, &Value::from(name.as_str()), path)?;
                    self.value(member, value, &format!("{path}.{name}"))
                })
            }
            (Kind::String, Value::String(text)) => shape.check_text(text, path),
            (Kind::Integer | Kind::Long, Value::Number(number)) if !number.is_f64() => {
                shape.check_range(number.as_f64().unwrap_or_default(), path, "value")
            }
            (Kind::Float | Kind::Double, Value::Number(number)) => {
                shape.check_range(number.as_f64().unwrap_or_default(), path, "value")
            }
            (Kind::Boolean, Value::Bool(_))
            | (Kind::Blob, Value::String(_))
            | (Kind::Timestamp, Value::Number(_) | Value::String(_)) => Ok(()),
            _ => violated(path, "Member must be of another type".to_owned()),
        }
    }

    fn members(
        &self,
        shape: &Shape,
        members: &Map<String, Value>,
        path: &str,
    ) -> Result<(), Violation> {
        let of = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        let is_missing = |name: &&String| members.get(*name).is_none_or(Value::is_null);
        if let Some(name) = shape.required.iter().find(is_missing) {
            return violated(&of(name), "Member must not be null".to_owned());
        }
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            match shape.members.get(name) {
                Some(member) => self.value(member, value, &of(name))?,
                None if self.unknown == Unknown::Ignored => {}
                None => return violated(&of(name), "Member is unknown".to_owned()),
            }
        }
        Ok(())
    }
}

impl Shape {
    fn check_text(&self, text: &str, path: &str) -> Result<(), Violation> {
        // Services count the bytes of the few texts that are not ASCII.
        self.check_number(text.len(), path, "length")?;
        if !self.choices.is_empty() && !self.choices.iter().any(|choice| choice == text) {
            let choices = self.choices.join(", ");
            return violated(path, format!("Member must satisfy enum value set: [{choices}]"));
        }
        match &self.pattern {
            Some(pattern) if !pattern.is_match(text) => {
                violated(path, format!("Member must satisfy regular expression pattern: {pattern}"))
            }
            _ => Ok(()),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "a request has 16 MB at most")]
    fn check_number(&self, number: usize, path: &str, what: &str) -> Result<(), Violation> {
        self.check_range(number as f64, path, what)
    }

    fn check_range(&self, number: f64, path: &str, what: &str) -> Result<(), Violation> {
        let bounds = [
            (self.least.filter(|least| number < *least), "greater"),
            (self.most.filter(|most| number > *most), "less"),
        ];
        match bounds.into_iter().find_map(|(bound, side)| Some((bound?, side))) {
            Some((bound, side)) => {
                violated(path, format!("Member must have {what} {side} than or equal to {bound}"))
            }
            None => Ok(()),
        }
    }
}

fn violated(path: &str, constraint: String) -> Result<(), Violation> {
    Err(Violation { path: path.to_owned(), constraint })
}

/// A pattern of the whole text.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Regex>, D::Error> {
    let pattern = Option::<String>::deserialize(deserializer)?;
    let whole = pattern.map(|pattern| Regex::new(&format!("^(?:{pattern})$")));
    whole.transpose().map_err(D::Error::custom)
}
