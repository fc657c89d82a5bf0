//! What an activity carries: a payload that is given back as it was sent.

mod readable;
mod shape;

use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

/// The longest payload, in bytes of JSON as sent.
pub const MAX_PAYLOAD_BYTES: usize = 4096;
/// The most arrays and objects inside each other in a payload. A scalar has none.
pub const MAX_PAYLOAD_DEPTH: usize = 64;
/// Any JSON value of at most 4 KiB, kept as the very text that was sent: numbers keep their digits,
/// objects the order of their members.
///
/// One that a producer sends nests at most 64 levels and has no lone surrogates, because many clients'
/// parsers fail on those ([`Payload::from_raw`], [`Payload::parse`]).
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct Payload(Box<RawValue>);

/// Why a text is not a payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    #[error("expected at most 4096 bytes of JSON, got {0}")]
    TooLong(usize),
    #[error("expected a JSON value")]
    NotJson,
    /// More than [`MAX_PAYLOAD_DEPTH`] arrays and objects inside each other.
    #[error("expected at most 64 levels of arrays and objects")]
    TooDeep,
    /// An escape such as `\ud800` without its other half.
    #[error("expected whole surrogate pairs, got half of one")]
    LoneSurrogate,
    #[error("expected each name once in an object")]
    RepeatedName,
    #[error("expected numbers within the range of a double")]
    TooGreat,
}

impl Payload {
    /// Takes a JSON value as it stood in the command of a producer.
    ///
    /// # Errors
    /// [`PayloadError`]: over 4 KiB, deeper than 64 levels, or with a lone surrogate.
    pub fn from_raw(value: &RawValue) -> Result<Self, PayloadError> {
        let payload = Self::of_length(value)?;
        shape::check(payload.as_json())?;
        Ok(payload)
    }

    /// Parses a text that holds one JSON value, as a producer sends it.
    ///
    /// # Errors
    /// [`PayloadError`] says what was expected.
    pub fn parse(text: &str) -> Result<Self, PayloadError> {
        Self::from_raw(json_value(text)?)
    }

    /// Reads back what was stored. Its content was checked when it was accepted.
    ///
    /// # Errors
    /// [`PayloadError::NotJson`] or [`PayloadError::TooLong`]: nobody accepted that, ever.
    pub fn stored(text: &str) -> Result<Self, PayloadError> {
        Self::of_length(json_value(text)?)
    }

    /// Checks that readers of archives can read it, whatever their parser: no object has a name
    /// twice, and all numbers are finite doubles.
    ///
    /// # Errors
    /// [`PayloadError`] says what was expected.
    pub fn check_readable(&self) -> Result<(), PayloadError> {
        readable::check(self.as_json())
    }

    fn of_length(value: &RawValue) -> Result<Self, PayloadError> {
        match value.get().len() {
            0..=MAX_PAYLOAD_BYTES => Ok(Self(value.to_owned())),
            length => Err(PayloadError::TooLong(length)),
        }
    }

    /// The JSON text, byte for byte as it was sent.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Eq for Payload {}

impl PartialOrd for Payload {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// By the bytes of the text: an order that every writer agrees on, to break ties with.
impl Ord for Payload {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_json().cmp(other.as_json())
    }
}

fn json_value(text: &str) -> Result<&RawValue, PayloadError> {
    serde_json::from_str(text).map_err(|_| PayloadError::NotJson)
}

/// Says the size only: payloads stay out of logs.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.as_json().len())
    }
}

impl std::str::FromStr for Payload {
    type Err = PayloadError;
    fn from_str(text: &str) -> Result<Self, PayloadError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_digits() {
        for text in ["1.0", "1e400", "-0", "123456789012345678901234567890", r#"{"b":1,"a":2}"#] {
            assert_eq!(Payload::parse(text).map(|p| p.as_json().to_owned()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn ends_at_four_kibibytes() {
        let of = |length: usize| Payload::parse(&format!("\"{}\"", "x".repeat(length - 2)));
        assert!(of(4096).is_ok());
        assert_eq!(of(4097), Err(PayloadError::TooLong(4097)));
        assert_eq!(Payload::parse("{"), Err(PayloadError::NotJson));
    }
}
