//! Items in JSON, as in DynamoDB's requests, responses and streams.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::Blob;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::item::Item;

/// An item in an answer, or in a record of a stream.
#[derive(Debug, Clone, Deserialize)]
pub struct AnsweredItem(HashMap<String, Answered>);

/// A value of an attribute.
#[derive(Debug, Clone, Deserialize)]
enum Answered {
    S(String),
    N(String),
    #[serde(rename = "BOOL")]
    Bool(bool),
    #[serde(rename = "NULL")]
    Null(bool),
    B(Bytes),
    M(HashMap<String, Answered>),
    L(Vec<Answered>),
    #[serde(rename = "SS")]
    Strings(Vec<String>),
    #[serde(rename = "NS")]
    Numbers(Vec<String>),
    #[serde(rename = "BS")]
    Binaries(Vec<Bytes>),
}

/// Bytes, in base64.
#[derive(Debug, Clone)]
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        STANDARD.decode(String::deserialize(from)?).map(Self).map_err(D::Error::custom)
    }
}

impl From<AnsweredItem> for Item {
    fn from(item: AnsweredItem) -> Self {
        item.0.into_iter().map(|(name, value)| (name, value.into())).collect()
    }
}

impl From<Answered> for AttributeValue {
    fn from(value: Answered) -> Self {
        match value {
            Answered::S(text) => Self::S(text),
            Answered::N(number) => Self::N(number),
            Answered::Bool(truth) => Self::Bool(truth),
            Answered::Null(null) => Self::Null(null),
            Answered::B(Bytes(bytes)) => Self::B(Blob::new(bytes)),
            Answered::M(values) => Self::M(AnsweredItem(values).into()),
            Answered::L(values) => Self::L(values.into_iter().map(Self::from).collect()),
            Answered::Strings(texts) => Self::Ss(texts),
            Answered::Numbers(numbers) => Self::Ns(numbers),
            Answered::Binaries(all) => {
                Self::Bs(all.into_iter().map(|Bytes(bytes)| Blob::new(bytes)).collect())
            }
        }
    }
}

/// The JSON of an item that [`AnsweredItem`] reads. Names are sorted, so an item always has the same text.
pub fn to_json(item: &Item) -> Value {
    item.iter().map(|(name, value)| (name.clone(), json!(WrittenValue(value)))).collect()
}

/// A value or an item, written as [`AnsweredItem`] reads it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenValue<'a, T>(pub(super) &'a T);

impl Serialize for WrittenValue<'_, Item> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, WrittenValue(value))))
    }
}

impl Serialize for WrittenValue<'_, Vec<AttributeValue>> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(WrittenValue))
    }
}

impl Serialize for WrittenValue<'_, AttributeValue> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        fn typed<S: Serializer>(
            to: S,
            name: &str,
            value: impl Serialize,
        ) -> Result<S::Ok, S::Error> {
            to.collect_map([(name, value)])
        }
        let bytes = |bytes: &Blob| STANDARD.encode(bytes);
        match self.0 {
            AttributeValue::S(text) => typed(to, "S", text),
            AttributeValue::N(number) => typed(to, "N", number),
            AttributeValue::Bool(truth) => typed(to, "BOOL", truth),
            AttributeValue::B(blob) => typed(to, "B", bytes(blob)),
            AttributeValue::M(values) => typed(to, "M", WrittenValue(values)),
            AttributeValue::L(values) => typed(to, "L", WrittenValue(values)),
            AttributeValue::Ss(texts) => typed(to, "SS", texts),
            AttributeValue::Ns(numbers) => typed(to, "NS", numbers),
            AttributeValue::Bs(blobs) => {
                typed(to, "BS", blobs.iter().map(bytes).collect::<Vec<_>>())
            }
            // The SDK may add types; nothing here reads one.
            _ => typed(to, "NULL", true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_all_types_survives_its_json() {
        let said = json!({
            "s": {"S": "\u{0}\"é"}, "n": {"N": "1.50"}, "bool": {"BOOL": false}, "null": {"NULL": true},
            "b": {"B": "AP8="}, "bs": {"BS": ["AA==", ""]}, "ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1"]},
            "m": {"M": {"l": {"L": [{"S": "x"}, {"M": {}}, {"L": []}]}}},
        });
        let item: AnsweredItem = serde_json::from_value(said.clone()).expect("an item");
        assert_eq!(to_json(&item.into()), said);
    }
}
