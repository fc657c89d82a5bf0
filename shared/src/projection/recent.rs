//! The people whose changes a view has folded last, with what it counted of them, so that a sum and the caller's own part
//! in it are of one moment.
//!
//! A reader has the view, which counts what was folded, and the caller's own row, which may be ahead of the view or was read
//! a moment before it. The view says what it has counted of the caller, and the reader replaces that by what the row says. So
//! the answer is that of the moment right after this row was folded.
//!
//! * As long as no more than [`KEPT`] people have changed anything, all of them are listed. Whoever is not listed has no part
//!   in the view.
//! * Beyond that, the latest are listed. Anybody else either was counted earlier, as nearly everybody was, or is not counted
//!   yet. Their row is shown beside the sum as it is: at least [`KEPT`] others came since, and the answer is that of a moment in
//!   which one of these came after theirs. Changes of different shards come in no order.
//!
//! Changes of one person come in order, except those that waited or were set aside and come back. If such a change is folded
//! behind others, it is unknown what counts of that person. The same is so if a change does not begin with what is counted,
//! because then an earlier one is still to come. Even one that makes no difference now may make one once the poll is closed early.
//!
//! The list is bound to the version of the view. A version of this software that does not know the list carries it along and
//! folds on; then the list is no longer valid.
//!
//! Nobody is named: 48 bits of a digest stand for an id. Two people with the same bits, one pair in 18 million million, are
//! taken for each other. Whoever is erased leaves the list when their row is deleted.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::Change;
use super::view::VERSION;
use crate::crypto::hash::fingerprint;
use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;
use crate::values::{Packer, Unpacker, ViewerId};

/// The number of people listed. With them, a view of an activity or a poll is still less than a kilobyte.
pub const KEPT: usize = 16;
/// The attribute.
pub(super) const RECENT: &str = "recent";

/// What a view has counted of somebody, in a few bytes.
pub trait CountedValue: Copy + PartialEq {
    fn pack(self, packer: &mut Packer);

    fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self>;
}

impl CountedValue for bool {
    fn pack(self, packer: &mut Packer) {
        packer.number(u64::from(self));
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        match unpacker.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// A person's part in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own<T> {
    Counted(T),
    Nothing,
    /// Others came since, or the view is of a version that did not note it.
    Unknown,
}

/// Whether a change may be folded after later ones, because it has waited, or was set aside and comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    No,
    Maybe,
}

impl Late {
    /// Whether a change of the stream may be late.
    #[must_use]
    pub fn of(change: &Change) -> Self {
        if change.redriven.is_some() { Self::Maybe } else { Self::No }
    }
}

/// The people whose changes were folded last, the latest at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent<T> {
    people: Vec<(u64, T)>,
    /// Nobody else has changed anything.
    is_all: bool,
    /// Something was noted since it was read, so the view has to be written even if its state is the same.
    is_noted: bool,
}

impl<T> Default for Recent<T> {
    /// The list of a view that has folded nothing.
    fn default() -> Self {
        Self { people: Vec::new(), is_all: true, is_noted: false }
    }
}

impl<T: CountedValue> Recent<T> {
    /// The list of a view whose people are unknown.
    #[must_use]
    pub fn unknown() -> Self {
        Self { people: Vec::new(), is_all: false, is_noted: false }
    }

    /// Reads the list of a view.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        match row.packed(RECENT, "whose changes were folded last", Self::unpack)? {
            Some((recent, version)) if version == row.count(VERSION)? => Ok(recent),
            _ => Ok(Self::unknown()),
        }
    }

    /// What is stored with this version of the view.
    #[must_use]
    pub fn write(&self, version: u64) -> AttributeValue {
        let mut packer = Packer::default();
        packer.number(version);
        packer.number(u64::from(self.is_all));
        for (who, told) in &self.people {
            packer.number(*who);
            told.pack(&mut packer);
        }
        AttributeValue::B(Blob::new(packer.into_bytes()))
    }

    fn unpack(bytes: &[u8]) -> Option<(Self, u64)> {
        let mut unpacker = Unpacker::new(bytes);
        let (version, is_all) = (unpacker.number()?, bool::unpack(&mut unpacker)?);
        let mut people = Vec::new();
        while !unpacker.is_empty() {
            people.push((unpacker.number()?, T::unpack(&mut unpacker)?));
        }
        Some((Self { people, is_all, is_noted: false }, version))
    }

    /// Notes that a change of somebody was folded: what counted of them before, and what counts now. `late` says whether it may
    /// have been folded after later changes of theirs.
    ///
    /// A change that makes no difference and begins with what is counted is not noted. It may be folded any number of times.
    pub fn note(&mut self, viewer: &ViewerId, [before, told]: [Option<T>; 2], late: Late) {
        let who = fingerprint(viewer.as_str());
        let place = self.people.iter().position(|(there, _)| *there == who);
        let counted = place.map(|place| self.people[place].1);
        // Otherwise an earlier change of theirs waits or was set aside.
        let follows = counted == before || (place.is_none() && !self.is_all);
        if follows && before == told {
            return;
        }
        self.is_noted = true;
        place.map(|place| self.people.remove(place));
        if !follows || (late == Late::Maybe && (place.is_some() || !self.is_all)) {
            // What is known of them may be of a later change.
            self.is_all = false;
            return;
        }
        self.people.extend(told.map(|told| (who, told)));
        if self.people.len() > KEPT {
            self.people.remove(0);
            self.is_all = false;
        }
    }

    /// Keeps the people that this holds for. What was counted of the others is then unknown.
    pub fn retain(&mut self, stays: impl Fn(T) -> bool) {
        let before = self.people.len();
        self.people.retain(|(_, told)| stays(*told));
        self.is_all &= self.people.len() == before;
    }

    /// True if nothing was noted of anybody.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        self.people.is_empty() && self.is_all && !self.is_noted
    }

    /// What was counted of somebody.
    #[must_use]
    pub fn of(&self, viewer: &ViewerId) -> Own<T> {
        let who = fingerprint(viewer.as_str());
        match self.people.iter().find(|(there, _)| *there == who) {
            Some((_, told)) => Own::Counted(*told),
            None if self.is_all => Own::Nothing,
            None => Own::Unknown,
        }
    }
}
