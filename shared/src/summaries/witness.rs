//! The witness of a period: how many events of a tenant the stream has brought, and the sum of the digests of their lines, as
//! the archive adds them up. It has never read the table, nor the archive.

use super::fold::{SummaryState, added};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Row};
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
        Ok(Self { tally: Tally::read(row)?.unwrap_or_default() })
    }

    fn write(&self) -> Item {
        self.tally.attributes()
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

impl SummaryState for WitnessView {}
