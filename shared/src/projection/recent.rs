//! Whose changes a view has folded last, and what it made of them: so that a number and the caller's own part in it are
//! of one moment.
//!
//! A reader has two things: the view, which counts what was folded, and the caller's own row, which may be ahead of the
//! view, or was read a moment before it. The view says what it has counted of the caller, so the reader
//! puts what the row says in its place: the answer is that of the moment in which this row was folded, and nothing after.
//!
//! * As long as no more than [`KEPT`] people have changed anything, all of them are here. Who is not has no part in the
//!   view.
//! * Of more, the latest are here. Somebody else either was counted earlier, as nearly everybody was, or is not counted yet.
//!   What their row says goes beside the number as it is: at least [`KEPT`] others came since, and the answer is that of
//!   a moment in which one of these came after theirs. Changes of different shards come in no order.
//!
//! Changes of one person come in their order, but for those that wait for something, or were set aside and come back: of whom such a
//! change is folded behind others, nobody knows what counts.
//!
//! It is bound to the version of the view. A version of this software that knows nothing of it carries it along as it is
//! and folds on; then it is not believed any more.
//!
//! Nobody is named: 48 bits of a digest stand for an id. Of two people with the same ones, one in 18 million million, one
//! is taken for the other. Who is forgotten leaves it, as their row is deleted.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::Change;
use super::view::VERSION;
use crate::crypto::hash::fingerprint;
use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;
use crate::values::{Packer, Unpacker, ViewerId};

/// How many people are kept: with them a view of an activity or a poll is still less than a kilobyte.
pub const KEPT: usize = 16;
/// The attribute.
pub(super) const RECENT: &str = "recent";

/// What a view has counted of somebody, in a few bytes.
pub trait CountedValue: Copy + PartialEq {
    /// Writes it.
    fn pack(self, packer: &mut Packer);

    /// Reads what was written.
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

/// What a view knows of somebody's part in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own<T> {
    /// This was counted.
    Counted(T),
    /// Nothing was.
    Nothing,
    /// Nobody knows: others came since, or the view is of a version that did not note it.
    Unknown,
}

/// Whether a change may be folded after some that came behind it: it has waited, or was set aside and comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// It comes in its order.
    No,
    /// Nobody knows.
    Maybe,
}

impl Late {
    /// Whether a change is, as the stream tells of it.
    #[must_use]
    pub fn of(change: &Change) -> Self {
        if change.redriven.is_some() { Self::Maybe } else { Self::No }
    }
}

/// Whose changes were folded last, the latest at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent<T> {
    people: Vec<(u64, T)>,
    /// Nobody else has changed anything.
    is_all: bool,
    /// Something was noted since it was read: then the view is to be written, with how far it has come, even if it says
    /// the same as before.
    is_noted: bool,
}

impl<T> Default for Recent<T> {
    /// That of a view which has folded nothing.
    fn default() -> Self {
        Self { people: Vec::new(), is_all: true, is_noted: false }
    }
}

impl<T: CountedValue> Recent<T> {
    /// That of a view of which nobody knows who is in it.
    #[must_use]
    pub fn unknown() -> Self {
        Self { people: Vec::new(), is_all: false, is_noted: false }
    }

    /// Reads that of a view.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        match row.packed(RECENT, "whose changes were folded last", Self::unpack)? {
            Some((recent, version)) if version == row.count(VERSION)? => Ok(recent),
            _ => Ok(Self::unknown()),
        }
    }

    /// What is stored of it with a version of its view.
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

    /// A change of somebody was folded, in its order or `late`, after some of those that came behind it: what counts of them was
    /// one thing and is another, or nothing.
    ///
    /// A change that makes no difference is not noted. It may be folded any number of times, at any time.
    pub fn note(&mut self, viewer: &ViewerId, [before, told]: [Option<T>; 2], late: Late) {
        if before == told {
            return;
        }
        self.is_noted = true;
        let who = fingerprint(viewer.as_str());
        let people = self.people.len();
        self.people.retain(|(there, _)| *there != who);
        let is_here = self.people.len() < people;
        if late == Late::Maybe && (is_here || !self.is_all) {
            // What is known of them may be what came behind it.
            self.is_all = false;
            return;
        }
        self.people.extend(told.map(|told| (who, told)));
        if self.people.len() > KEPT {
            self.people.remove(0);
            self.is_all = false;
        }
    }

    /// Those of whom this holds stay. What was counted of the others is not known any more.
    pub fn retain(&mut self, stays: impl Fn(T) -> bool) {
        let before = self.people.len();
        self.people.retain(|(_, told)| stays(*told));
        self.is_all &= self.people.len() == before;
    }

    /// True as long as nothing was noted of anybody.
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
