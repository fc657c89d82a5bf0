//! The witness of a period: how many events of a tenant the stream has brought, and the sum of the digests of their lines, as
//! the archive adds them up. It has never read the table, nor the archive.

use super::fold::{SummaryState, added};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Row, number};
use crate::events::{Event, Tally};
use crate::projection::{Change, Fold, State};

/// What the stream has brought, in one of its parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WitnessView {
    /// Events and their digests.
    pub tally: Tally,
}

impl State for WitnessView {
    const ATTRIBUTES: &'static [&'static str] = &["events", "bytes", "sum"];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let Some(sum) = row.optional_text("sum")? else { return Ok(Self::default()) };
        let sum = u128::from_str_radix(sum, 16);
        let sum = sum.map_err(|_| row.corrupt("sum", "128 bits in hex"))?;
        let [events, bytes] = [row.number("events")?, row.number("bytes")?].map(i64::cast_unsigned);
        Ok(Self { tally: Tally { events, bytes, sum } })
    }

    fn write(&self) -> Item {
        let mut item = self.tally.attributes();
        // A part from which more was taken than it has brought is less than nothing.
        item.insert("events".to_owned(), number(self.tally.events.cast_signed()));
        item.insert("bytes".to_owned(), number(self.tally.bytes.cast_signed()));
        item
    }
}

impl Fold for WitnessView {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        if let Some(item) = added(change) {
            let event = Event::read(&Row { table: facts, item: item.clone() })?;
            self.tally.add(Tally::of_line(&event.line()));
        }
        Ok(())
    }
}

impl SummaryState for WitnessView {
    fn is_nothing(&self) -> bool {
        self.tally == Tally::default()
    }
}
