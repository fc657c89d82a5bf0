//! Items as DynamoDB's answers say them, in JSON, where it is not the SDK that reads them.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::Blob;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::item::Item;

/// An item in an answer.
#[derive(Debug, Deserialize)]
pub(super) struct AnsweredItem(HashMap<String, Answered>);

/// A value of an attribute.
#[derive(Debug, Deserialize)]
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
#[derive(Debug)]
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
