//! Message attributes: typed name-value pairs that travel beside the body.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::error::QueueError;
use super::limits;

const MAX_ATTRIBUTES: usize = 10;

/// A message's attributes, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<String, MessageAttribute>);

/// One attribute: a value and the type its sender gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAttribute {
    data_type: String,
    value: AttributeValue,
}

/// What travels in an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// For the types `String` and `Number`.
    Text(String),
    /// For the type `Binary`.
    Binary(Vec<u8>),
}

/// An attribute as it is written on the wire and in storage.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct RawAttribute {
    data_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
}

impl Attributes {
    /// These attributes and one more.
    pub fn with(
        mut self,
        name: impl Into<String>,
        attribute: MessageAttribute,
    ) -> Result<Self, QueueError> {
        let name = name.into();
        check_name(&name)?;
        self.0.insert(name, attribute);
        if self.0.len() <= MAX_ATTRIBUTES {
            return Ok(self);
        }
        let sentence = format!("Number of message attributes [{}] exceeds 10.", self.0.len());
        Err(QueueError::InvalidParameterValue(sentence))
    }

    /// Name and attribute, in the order of the names' bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &MessageAttribute)> {
        self.0.iter().map(|(name, attribute)| (name.as_str(), attribute))
    }

    pub fn get(&self, name: &str) -> Option<&MessageAttribute> {
        self.0.get(name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What they add to the size of their message.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|(name, a)| name.len() + a.data_type.len() + a.value.bytes().len()).sum()
    }

    pub(super) fn from_raw(raw: BTreeMap<String, RawAttribute>) -> Result<Self, QueueError> {
        raw.into_iter().try_fold(Self::default(), |attributes, (name, raw)| {
            let attribute = raw.parse(&name)?;
            attributes.with(name, attribute)
        })
    }

    pub(super) fn into_raw(self) -> BTreeMap<String, RawAttribute> {
        self.0.into_iter().map(|(name, attribute)| (name, attribute.into_raw())).collect()
    }
}

impl MessageAttribute {
    /// An attribute of type `String`, `Number` or `Binary`, or of one of these with a label of the
    /// sender's own behind a dot, such as `Number.int`.
    pub fn new(data_type: impl Into<String>, value: AttributeValue) -> Result<Self, QueueError> {
        let data_type = data_type.into();
        let logical = data_type.split('.').next().unwrap_or_default();
        let fits = match (logical, &value) {
            ("String", AttributeValue::Text(text)) => limits::check_characters(text).is_ok(),
            ("Number", AttributeValue::Text(text)) => is_number(text),
            ("Binary", AttributeValue::Binary(_)) => true,
            _ => false,
        };
        if fits && data_type.len() <= 256 && !value.bytes().is_empty() {
            return Ok(Self { data_type, value });
        }
        let sentence = format!("The message attribute's value does not fit its type {data_type}.");
        Err(QueueError::InvalidParameterValue(sentence))
    }

    /// The type, with the sender's own label if there is one.
    pub fn data_type(&self) -> &str {
        &self.data_type
    }

    pub fn value(&self) -> &AttributeValue {
        &self.value
    }

    fn into_raw(self) -> RawAttribute {
        let (string_value, binary_value) = match self.value {
            AttributeValue::Text(text) => (Some(text), None),
            AttributeValue::Binary(bytes) => (None, Some(BASE64.encode(bytes))),
        };
        RawAttribute { data_type: self.data_type, string_value, binary_value }
    }
}

impl AttributeValue {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

impl RawAttribute {
    fn parse(self, name: &str) -> Result<MessageAttribute, QueueError> {
        let value = match (self.string_value, self.binary_value) {
            (Some(text), None) => Some(AttributeValue::Text(text)),
            (None, Some(text)) => BASE64.decode(text).ok().map(AttributeValue::Binary),
            _ => None,
        };
        let value = value.ok_or_else(|| {
            QueueError::InvalidParameterValue(format!(
                "The message attribute '{name}' must contain one non-empty value of its type."
            ))
        })?;
        MessageAttribute::new(self.data_type, value)
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

fn check_name(name: &str) -> Result<(), QueueError> {
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let lower = name.to_ascii_lowercase();
    if (1..=256).contains(&name.len())
        && name.bytes().all(alphabet)
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
        && !lower.starts_with("aws.")
        && !lower.starts_with("amazon.")
    {
        return Ok(());
    }
    let sentence = format!("The message attribute name '{name}' is invalid.");
    Err(QueueError::InvalidParameterValue(sentence))
}
