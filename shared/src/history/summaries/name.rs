//! The view of a name: the number of its events of a tenant, in one part of the stream.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::fold::{CountedEvent, SummaryState};
use super::tally::{Day, Days, NameTally, day_of};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row};
use crate::platform::projection::{Change, Fold, State};
use crate::platform::values::{Packer, Unpacker};

pub const SHOWN_DAYS: u32 = 400;
/// The number of days that are kept: more than are shown, because an event may be ahead of the reader's clock.
const KEPT_DAYS: u32 = SHOWN_DAYS + 10;

const TALLY: &str = "tally";
const DAYS: &str = "days";

/// The events of a name: all, and by day for the latest days.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NameView {
    /// All events; nothing before the first.
    pub tally: Option<NameTally>,
    /// The latest days.
    pub days: Days,
}

impl NameView {
    /// Adds another part of the stream.
    pub fn join(&mut self, other: &Self) {
        self.tally = NameTally::sum(self.tally.into_iter().chain(other.tally));
        self.days.join(&other.days);
    }

    /// Removes events of these days, whichever part counted them.
    pub fn take(&mut self, days: &Days) {
        let fewer = NameTally::fewer(days.events());
        self.tally = NameTally::sum(self.tally.into_iter().chain([fewer]));
        self.days.subtract(days);
        self.trim();
    }

    /// Removes all events but those of some days, which it counts.
    pub fn retain(&mut self, is_kept: impl FnMut(Day) -> bool) {
        self.days = self.days.filtered(is_kept);
        let count = self.days.events();
        self.tally = self.tally.map(|tally| NameTally { count, ..tally });
    }

    /// Removes the first and the last instant.
    pub fn forget_instants(&mut self) {
        self.tally = self.tally.map(|tally| NameTally::at_no_time(tally.count));
    }

    /// Sets the first and the last instant, where they are given.
    pub fn learn_instants(&mut self, known: NameTally) {
        let known = NameTally { count: 0, ..known };
        self.tally = NameTally::sum(self.tally.into_iter().chain([known]));
    }

    /// The same without what was removed before it was folded; `None` if no event is left.
    #[must_use]
    pub(super) fn shown(mut self) -> Option<Self> {
        self.tally = self.tally.filter(NameTally::is_something);
        self.days.shown();
        self.tally.is_some().then_some(self)
    }

    /// The same without the days that are no longer shown.
    pub fn trim(&mut self) {
        if let Some(last) = self.days.last() {
            drop(self.days.split_before(last.saturating_sub(KEPT_DAYS)));
        }
    }
}

impl State for NameView {
    const ATTRIBUTES: &'static [&'static str] = &[TALLY, DAYS];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let tally = |bytes: &[u8]| {
            let mut unpacker = Unpacker::new(bytes);
            NameTally::unpack(&mut unpacker).filter(|_| unpacker.is_empty())
        };
        let days = |bytes: &[u8]| {
            let mut unpacker = Unpacker::new(bytes);
            Days::unpack(&mut unpacker).filter(|_| unpacker.is_empty())
        };
        Ok(Self {
            tally: row.packed(TALLY, "a count and two instants", tally)?,
            days: row.packed(DAYS, "days and their counts", days)?.unwrap_or_default(),
        })
    }

    fn write(&self) -> Item {
        let bytes = |packer: Packer| AttributeValue::B(Blob::new(packer.into_bytes()));
        let Some(counted) = &self.tally else { return Item::new() };
        let (mut tally, mut days) = (Packer::default(), Packer::default());
        counted.pack(&mut tally);
        self.days.pack(&mut days);
        Item::from([(TALLY.to_owned(), bytes(tally)), (DAYS.to_owned(), bytes(days))])
    }
}

impl Fold for NameView {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        if let Some(said) = CountedEvent::of(change, facts)? {
            let mut one = Self { tally: Some(NameTally::one(said.at)), days: Days::default() };
            one.days.add(day_of(said.at), 1);
            self.join(&one);
            self.trim();
        }
        Ok(())
    }
}

impl SummaryState for NameView {
    fn is_nothing(&self) -> bool {
        self.tally.is_none_or(|tally| tally.count == 0) && self.days.is_empty()
    }
}
