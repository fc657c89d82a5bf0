//! What a view has counted of people, so that a sum and the caller's own part in it are of one
//! moment.
//!
//! A reader has the view, which counts what was folded, and the caller's own row, which may be
//! ahead of the view or was read a moment before it. The view says what it has counted of the
//! caller, and the reader replaces that by what the row says. So the answer is that of the moment
//! right after this row was folded.
//!
//! * The view lists the people whose changes it has folded last, with what it counts of them: at
//!   least [`KEPT`].
//! * A person who leaves the list has a [`Note`], an item beside the view with what is counted of
//!   one person. It is written before the view is written without them, under the condition that it
//!   replaces an older one. So the note of a person who is not listed says what the view counts,
//!   and a person without a note is not counted.
//! * A note has the version of the view that listed its person last. A reader whose view is older
//!   reads the view again: the person was folded in between.
//!
//! A reader needs the note of a caller who is not listed only if their row has changed within
//! [`IN_DOUBT`]. An older row is folded: otherwise the projector is behind by as much, which pages
//! an operator.
//!
//! Changes of one person come in order, except those that waited or were set aside and come back.
//! If such a change is folded behind others, it is unknown what counts of that person. The same is
//! so if a change does not begin with what is counted, because then an earlier one is still to
//! come. Even one that makes no difference now may make one once the poll is closed early. Such a
//! person is listed, and has a note, as unknown.
//!
//! The list is bound to the version of the view. Another version of this software may write the view
//! and carry the list along without changing it. Then neither the list nor the notes are valid.
//!
//! Nobody is named: 48 bits of a digest stand for an id. Two people with the same bits, one pair in
//! 18 million million, are taken for each other. What is counted of a person who is erased is
//! replaced when their row is deleted.

use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::Change;
pub(crate) use super::view::VERSION;
use crate::platform::crypto::hash::fingerprint;
use crate::platform::dynamo::item::{Item, Key, Row, number};
use crate::platform::dynamo::{Condition, DynamoError, keys};
use crate::platform::values::{Packer, Timestamp, Unpacker, ViewerId};

/// The number of people listed, besides those of the last batch. With them, a view of an activity
/// or a poll is still less than a kilobyte.
pub const KEPT: usize = 12;
/// A view with a longer list is written again at once, so that pages read it with one unit.
const LONG: usize = 64;
/// The time after which a row is certainly folded.
pub const IN_DOUBT: Duration = Duration::from_secs(3600);
/// How often a view is read for a caller whose changes are folded faster than it is read.
pub(crate) const ATTEMPTS: usize = 4;
/// The attribute.
pub(super) const RECENT: &str = "recent";
/// The prefix of the partition keys of notes.
const NOTES: &str = "counted#";
/// The sort key of a note.
const NOTE: &str = "counted";
/// The attribute of a note with what is counted.
const VALUE: &str = "value";

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
    /// Nothing is counted of a person who never did anything, or whose row was deleted.
    Counted(Option<T>),
    /// The person's [`Note`] says it.
    Noted,
    Unknown,
}

/// What a view counts of one person who is not listed any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    key: Key,
    /// The version of the view that listed the person last.
    version: u64,
    value: Vec<u8>,
}

impl Note {
    pub(super) fn into_item(self) -> Item {
        let Self { key, version, value } = self;
        let mut item = key.into_item();
        item.insert(VERSION.to_owned(), number(version));
        item.insert(VALUE.to_owned(), AttributeValue::B(Blob::new(value)));
        item
    }

    /// The condition that it replaces an older note.
    pub(super) fn is_newer(&self) -> Condition<'static> {
        let condition = "attribute_not_exists(#version) OR #version < :version";
        Condition::new(condition).name("#version", VERSION).value(":version", number(self.version))
    }

    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let bytes = row.packed(VALUE, "what is counted", |bytes| Some(bytes.to_vec()))?;
        Ok(Self {
            key: Key::of(row)?,
            version: row.count(VERSION)?,
            value: bytes.unwrap_or_default(),
        })
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }
}

/// Whether a change may be folded after later ones, because it has waited, or was set aside and
/// comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    No,
    Maybe,
}

impl Late {
    /// Whether a change of the stream may be late.
    pub fn of(change: &Change) -> Self {
        if change.redriven.is_some() { Self::Maybe } else { Self::No }
    }
}

/// The people whose changes were folded last, the latest at the end, each with what is counted;
/// `None` if that is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent<T> {
    people: Vec<(u64, Option<Option<T>>)>,
    others: Others,
    /// The notes that are valid have this number in their keys; zero before the first one. A view
    /// that is recounted, or expires and begins again, gets another one.
    notes: u64,
    /// Something was noted since it was read, so the view has to be written even if its state is
    /// the same.
    is_noted: bool,
}

/// The people who are not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    /// Nothing is counted of them.
    Nobody,
    /// Those who are counted have a note.
    Noted,
    /// Those who have no note may be counted.
    Unknown,
}

impl<T> Default for Recent<T> {
    /// The list of a view that has folded nothing.
    fn default() -> Self {
        Self { people: Vec::new(), others: Others::Nobody, notes: 0, is_noted: false }
    }
}

impl<T: CountedValue> Recent<T> {
    /// The list of a view whose people are unknown.
    pub fn unknown() -> Self {
        Self { others: Others::Unknown, ..Self::default() }
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
    pub fn write(&self, version: u64) -> AttributeValue {
        let mut packer = Packer::default();
        packer.number(version);
        packer.number(match self.others {
            Others::Unknown => 0,
            Others::Nobody => 1,
            Others::Noted => 2,
        });
        packer.number(self.notes);
        for (who, counted) in &self.people {
            packer.number(*who);
            pack(*counted, &mut packer);
        }
        AttributeValue::B(Blob::new(packer.into_bytes()))
    }

    fn unpack(bytes: &[u8]) -> Option<(Self, u64)> {
        let mut unpacker = Unpacker::new(bytes);
        let version = unpacker.number()?;
        let others = match unpacker.number()? {
            0 => Others::Unknown,
            1 => Others::Nobody,
            2 => Others::Noted,
            _ => return None,
        };
        let (notes, mut people) = (unpacker.number()?, Vec::new());
        while !unpacker.is_empty() {
            people.push((unpacker.number()?, unpack(&mut unpacker)?));
        }
        Some((Self { people, others, notes, is_noted: false }, version))
    }

    /// Notes that a change of somebody was folded: what counted of them before, and what counts
    /// now. `late` says whether it may have been folded after later changes of theirs.
    ///
    /// A change that makes no difference and begins with what is counted is not noted. It may be
    /// folded any number of times.
    pub fn note(&mut self, viewer: &ViewerId, [before, told]: [Option<T>; 2], late: Late) {
        let who = fingerprint(viewer.as_str());
        let place = self.people.iter().position(|(there, _)| *there == who);
        // Otherwise an earlier change of theirs waits or was set aside.
        let follows = match place.map(|place| self.people[place].1) {
            Some(counted) => counted.is_none_or(|counted| counted == before),
            None => self.others != Others::Nobody || before.is_none(),
        };
        if follows && before == told {
            return;
        }
        self.is_noted = true;
        place.map(|place| self.people.remove(place));
        let is_late = late == Late::Maybe && (place.is_some() || self.others != Others::Nobody);
        // What is known of them may be of a later change.
        let counted = (follows && !is_late).then_some(told);
        if counted != Some(None) || self.others != Others::Nobody {
            self.people.push((who, counted));
        }
    }

    /// Takes people off the list if there are many, as the view with this key and version, which is
    /// stored, has them. Returns their notes, which have to be written before the view is.
    pub(crate) fn leaving(&mut self, view: &Key, version: u64) -> Vec<Note> {
        if self.people.len() <= KEPT {
            return Vec::new();
        }
        if self.notes == 0 {
            self.notes = u64::from(fastrand::u32(1..));
        }
        if self.others == Others::Nobody {
            self.others = Others::Noted;
        }
        let leaving = self.people.drain(..self.people.len() - KEPT);
        let notes = self.notes;
        let note = |(who, counted)| {
            let mut packer = Packer::default();
            pack(counted, &mut packer);
            Note { key: note_key(view, notes, who), version, value: packer.into_bytes() }
        };
        leaving.map(note).collect()
    }

    /// True if people have to leave the list at once.
    pub fn is_long(&self) -> bool {
        self.people.len() > LONG
    }

    /// Forgets what is counted of the people that this does not hold for.
    pub fn retain(&mut self, stays: impl Fn(T) -> bool) {
        for (_, counted) in &mut self.people {
            *counted = counted.filter(|counted| counted.is_none_or(&stays));
        }
    }

    /// True if nothing was noted of anybody.
    pub fn is_untouched(&self) -> bool {
        self.people.is_empty() && self.others == Others::Nobody && !self.is_noted
    }

    /// What was counted of somebody.
    pub fn own(&self, viewer: &ViewerId) -> Own<T> {
        let who = fingerprint(viewer.as_str());
        match self.people.iter().find(|(there, _)| *there == who) {
            Some((_, counted)) => counted.map_or(Own::Unknown, Own::Counted),
            None if self.notes > 0 => Own::Noted,
            None => self.unnoted(),
        }
    }

    fn unnoted(&self) -> Own<T> {
        match self.others {
            Others::Unknown => Own::Unknown,
            Others::Nobody | Others::Noted => Own::Counted(None),
        }
    }

    /// The key of the note of somebody, beside the view with this key.
    pub fn note_of(&self, view: &Key, viewer: &ViewerId) -> Key {
        note_key(view, self.notes, fingerprint(viewer.as_str()))
    }

    /// What the note of somebody who is not listed says, for a view of this version; `None` if the
    /// view is older than the note.
    pub fn noted(&self, note: Option<&Note>, version: u64) -> Option<Own<T>> {
        let Some(note) = note else { return Some(self.unnoted()) };
        if note.version > version {
            return None;
        }
        let counted = unpack(&mut Unpacker::new(&note.value)).flatten();
        Some(counted.map_or(Own::Unknown, Own::Counted))
    }
}

fn pack<T: CountedValue>(counted: Option<Option<T>>, packer: &mut Packer) {
    match counted {
        None => packer.number(0),
        Some(None) => packer.number(1),
        Some(Some(counted)) => {
            packer.number(2);
            counted.pack(packer);
        }
    }
}

fn unpack<T: CountedValue>(unpacker: &mut Unpacker<'_>) -> Option<Option<Option<T>>> {
    Some(match unpacker.number()? {
        0 => None,
        1 => Some(None),
        2 => Some(Some(T::unpack(unpacker)?)),
        _ => return None,
    })
}

/// The key of a note, which names neither the person nor the view. Each note is in a partition of
/// its own, so that a popular view is not a hot partition.
fn note_key(Key { pk, sk }: &Key, notes: u64, who: u64) -> Key {
    let view = fingerprint(&format!("{pk}#{sk}"));
    Key { pk: format!("{NOTES}{view:012x}#{notes:08x}#{who:012x}"), sk: NOTE.to_owned() }
}

keys! {stored
    (note: String) = "counted#{note}", "counted" in Views as "counted part" {
        says: "what a view counts of one person",
        most: 256, grows: "nothing: what a view counts of one person, one for each person beyond the last 12",
        at_bound: "cannot be exceeded",
        test: "`own_part::the_sum_agrees_beyond_the_people_that_a_view_lists`",
        later: AsOthers, erased: Gone,
    };
}

/// True if the row of a caller may not be folded yet.
pub fn is_in_doubt(recorded_at: Option<Timestamp>, now: Timestamp) -> bool {
    recorded_at.is_some_and(|recorded_at| now.since(recorded_at) < IN_DOUBT)
}
