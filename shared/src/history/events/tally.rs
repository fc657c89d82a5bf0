//! What is known of many events without them.

use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row, number, text};

/// A number of events, their bytes as lines of an archive, and the sum of the digests of these lines modulo 2^128. Whatever holds
/// the same events has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub events: u64,
    /// Bytes of their lines, uncompressed.
    pub bytes: u64,
    /// The sum of the first 16 bytes of the SHA-256 of each line, big-endian.
    pub sum: u128,
}

impl Tally {
    /// Takes away what is not there any more.
    pub fn subtract(&mut self, other: Self) {
        self.events = self.events.saturating_sub(other.events);
        self.bytes = self.bytes.saturating_sub(other.bytes);
        self.sum = self.sum.wrapping_sub(other.sum);
    }

    /// The same taken away, modulo 2^64: whatever is added later makes up for it.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            events: self.events.wrapping_neg(),
            bytes: self.bytes.wrapping_neg(),
            sum: self.sum.wrapping_neg(),
        }
    }

    /// Adds another, modulo 2^64.
    pub fn add(&mut self, other: Self) {
        self.events = self.events.wrapping_add(other.events);
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.sum = self.sum.wrapping_add(other.sum);
    }

    pub fn attributes(&self) -> Item {
        Item::from([
            ("events".to_owned(), number(self.events)),
            ("bytes".to_owned(), number(self.bytes)),
            ("sum".to_owned(), text(format!("{:032x}", self.sum))),
        ])
    }

    /// What an item says, if it says anything.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Option<Self>, DynamoError> {
        let Some(sum) = row.optional_text("sum")? else { return Ok(None) };
        let sum = u128::from_str_radix(sum, 16);
        let sum = sum.map_err(|_| row.corrupt("sum", "128 bits in hex"))?;
        Ok(Some(Self { events: row.count("events")?, bytes: row.count("bytes")?, sum }))
    }
}
