//! One view: its state, its marks, and how changes are folded into it.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::caller_part::{Note, RECENT};
use super::{Change, HighWaterMarks, Sequence, SetAside, Shard, Write};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Key, Row, number};
use crate::platform::ledger::FORGET_AT;
use crate::platform::values::Timestamp;

/// The attribute with the high-water marks.
const MARKS: &str = "marks";
/// The attribute with the changes that were set aside.
const SET_ASIDE: &str = "set_aside_runs";
/// The attribute with the refused changes whose letters may not have been sent.
const OWED: &str = "owed_letters";
/// The reason noted for a change that is set aside although it could be folded.
const NO_ROOM: &str =
    "one before it was set aside, and there is no room to note that of single changes";
/// The attribute with the version: it is raised by each write.
pub(crate) const VERSION: &str = "version";
/// The attributes of every view.
const OURS: [&str; 8] = ["pk", "sk", MARKS, SET_ASIDE, OWED, VERSION, FORGET_AT, RECENT];

pub trait State: Default {
    /// The attributes of the state. Unknown attributes are of a later version, and are kept.
    const ATTRIBUTES: &'static [&'static str];

    /// Reads it.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    fn read(row: &Row<'_>) -> Result<Self, DynamoError>;

    /// The attributes of the state, without those of this module.
    fn write(&self) -> Item;

    /// The stored list of [recent](super::caller_part) people for this version of the view; `None` if no answer depends on it.
    fn recent(&self, version: u64) -> Option<AttributeValue> {
        let _ = version;
        None
    }

    /// Takes people off the list of [recent](super::caller_part) ones if it is long, as the view with this key and version has it. Returns
    /// their notes.
    fn leaving(&mut self, view: &Key, version: u64) -> Vec<Note> {
        let _ = (view, version);
        Vec::new()
    }

    /// True if the list is long, so that the view has to be written again.
    fn is_long(&self) -> bool {
        false
    }
}

/// A state that changes are folded into.
pub trait Fold: State {
    /// Folds one change. Changes that were set aside come later, so the result must not depend on the order of changes.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: the feature does not write such a row. The state is unchanged.
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError>;

    /// True if a change is refused, because of what its producer has sent. It is passed without an effect, and counted in the write
    /// that raises the mark above it.
    fn refuses(&self, change: &Change, facts: &str) -> bool {
        let _ = (change, facts);
        false
    }
}

/// A view as it was read (the default if nobody has written it yet), with what has been folded into it since.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct View<S> {
    pub state: S,
    marks: HighWaterMarks,
    set_aside: SetAside,
    /// Refused changes whose letters may not have been sent.
    owed: SetAside,
    version: i64,
    forget_at: Option<AttributeValue>,
    /// True if the shard whose changes are folded needs a checkpoint, now or soon.
    wants_checkpoint: bool,
    /// Attributes of a later version.
    unknown: Item,
    /// The stored item, and why its state cannot be read, though its marks can.
    unreadable: Option<(Item, String)>,
}

/// How a view is read from its item: [`View::read_from`], or [`View::read_to_fold`].
pub type Reader<S> = fn(&Row<'_>) -> Result<View<S>, DynamoError>;

/// The outcome of some changes of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folded {
    /// How many were folded now.
    pub new: usize,
    /// Changes that this or an earlier delivery has set aside. They have to become dead letters before the batch is
    /// acknowledged.
    pub unfolded: Vec<Unfolded>,
    /// Changes that are refused now.
    pub refused: Vec<Sequence>,
    /// True if the view has to be written even if its state is the same.
    pub is_noted: bool,
    /// True if the shard needs a checkpoint, because the view has many marks.
    pub wants_checkpoint: bool,
}

/// A change that could not be folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfolded {
    pub sequence: Sequence,
    /// Why, in a sentence that quotes nothing stored.
    pub why: String,
}

/// Changes that the store refuses to fold, each with the reason.
pub type Refused = BTreeMap<Sequence, String>;

impl Unfolded {
    /// All changes, for a view whose marks cannot be read. Nothing can be noted there.
    pub fn all(changes: &[&Change], why: &str) -> Vec<Self> {
        let unfolded = changes.iter().map(|change| {
            let (sequence, why) = (change.sequence, why.to_owned());
            Self { sequence, why }
        });
        unfolded.collect()
    }
}

impl<S: State> View<S> {
    /// Reads it from its item.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read_from(row: &Row<'_>) -> Result<Self, DynamoError> {
        let view = Self::read_marks(row)?;
        Ok(Self { state: S::read(row)?, ..view })
    }

    /// Reads it from its item, to fold into it. A state that cannot be read stays as it is, and only its marks change.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: its marks cannot be read.
    pub fn read_to_fold(row: &Row<'_>) -> Result<Self, DynamoError> {
        let view = Self::read_marks(row)?;
        Ok(match S::read(row) {
            Ok(state) => Self { state, ..view },
            Err(corrupt) => {
                Self { unreadable: Some((row.item.clone(), corrupt.to_string())), ..view }
            }
        })
    }

    /// How far it has come.
    fn read_marks(row: &Row<'_>) -> Result<Self, DynamoError> {
        let marks =
            row.packed(MARKS, "the high-water marks of a view", HighWaterMarks::from_bytes)?;
        let expected = "changes that were set aside";
        let set_aside = row.packed(SET_ASIDE, expected, SetAside::from_bytes)?;
        let owed = row.packed(OWED, "refused changes", SetAside::from_bytes)?;
        let is_known = |name: &str| OURS.contains(&name) || S::ATTRIBUTES.contains(&name);
        let unknown = row.item.iter().filter(|(name, _)| !is_known(name));
        Ok(Self {
            state: S::default(),
            marks: marks.unwrap_or_default(),
            set_aside: set_aside.unwrap_or_default(),
            owed: owed.unwrap_or_default(),
            version: row.number(VERSION)?,
            forget_at: row.item.get(FORGET_AT).cloned(),
            wants_checkpoint: false,
            unknown: unknown.map(|(name, value)| (name.clone(), value.clone())).collect(),
            unreadable: None,
        })
    }

    pub(super) fn marks(&self) -> &HighWaterMarks {
        &self.marks
    }

    /// True if its marks depend on checkpoints, or will soon: it has three quarters of the marks that it may have.
    pub(super) fn needs_checkpoints(&self, most: usize) -> bool {
        self.marks.is_pruned() || self.marks.shards().len() > most / 4 * 3
    }

    /// Drops marks that checkpoints make redundant, if there are too many, and continues from the checkpoint of a shard.
    pub(super) fn check_marks(
        &mut self,
        shard: Shard,
        checkpoints: &BTreeMap<Shard, Sequence>,
        most: usize,
        now: Timestamp,
    ) {
        self.wants_checkpoint = true;
        if self.marks.shards().len() > most {
            self.marks.prune(checkpoints, now);
        }
        if let Some(through) = checkpoints.get(&shard).filter(|_| self.marks.is_pruned()) {
            self.marks.pass(shard, *through, now);
        }
    }

    /// True if its state cannot be read.
    pub fn is_unreadable(&self) -> bool {
        self.unreadable.is_some()
    }

    /// True if it has been written.
    pub fn is_there(&self) -> bool {
        self.version > 0
    }

    /// The version: two readings with the same version are the same view.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Takes people off a long list of [recent](super::caller_part) ones. Nothing may have been folded since the view was read.
    pub(super) fn leaving(&mut self, key: &Key) -> Vec<Note> {
        self.state.leaving(key, self.version.unsigned_abs())
    }

    /// Lets the view expire at this unix second, unless it is written again by then.
    #[must_use]
    pub fn until(self, forget_at: i64) -> Self {
        Self { forget_at: Some(number(forget_at)), ..self }
    }

    /// The same view, which stays.
    pub fn stay(&mut self) {
        self.forget_at = None;
    }

    /// True if it goes.
    pub fn is_going(&self) -> bool {
        self.forget_at.is_some()
    }

    /// The view with another state.
    #[must_use]
    pub fn with(self, state: S) -> Self {
        Self { state, unreadable: None, ..self }
    }

    /// The view with the state that was read, which cannot go on: further changes are set aside.
    #[must_use]
    pub fn stuck(self, state: &S, why: String) -> Self {
        Self { state: S::default(), unreadable: Some((state.write(), why)), ..self }
    }

    /// Takes over the marks of another view: the state of this one contains what that has passed.
    #[must_use]
    pub fn caught_up_with<T>(mut self, other: &View<T>) -> Self {
        self.marks.join(&other.marks);
        self
    }

    /// The same, once it is written.
    #[must_use]
    pub fn written(self) -> Self {
        Self { version: self.version + 1, ..self }
    }

    /// The write of this view, conditional on nobody having written it since it was read.
    pub fn write(&self, key: Key) -> Write {
        let bytes = |bytes| AttributeValue::B(Blob::new(bytes));
        let mut item = self.unknown.clone();
        match &self.unreadable {
            None => {
                let recent = self.state.recent((self.version + 1).unsigned_abs());
                item.extend(self.state.write());
                item.extend(recent.map(|recent| (RECENT.to_owned(), recent)));
            }
            Some((there, _)) => item.extend(there.clone()),
        }
        item.extend(key.into_item());
        let marks = (!self.marks.is_empty()).then(|| bytes(self.marks.to_bytes()));
        let set_aside = (!self.set_aside.is_empty()).then(|| bytes(self.set_aside.to_bytes()));
        let owed = (!self.owed.is_empty()).then(|| bytes(self.owed.to_bytes()));
        for (name, value) in [(MARKS, marks), (SET_ASIDE, set_aside), (OWED, owed)] {
            item.remove(name);
            item.extend(value.map(|value| (name.to_owned(), value)));
        }
        item.insert(VERSION.to_owned(), number(self.version + 1));
        // The view of something erased expires at its time, whatever is folded into it until then.
        item.extend(self.forget_at.clone().map(|at| (FORGET_AT.to_owned(), at)));
        Write::View { item, seen: self.version }
    }

    /// Refused changes of a shard, among these, whose letters may not have been sent.
    pub fn owed(&self, shard: Shard, changes: &[&Change]) -> Vec<Sequence> {
        self.owed.among(shard, changes)
    }

    /// Notes that the letters of these changes, and of all before them in their shard, were sent. Returns false if that was known.
    pub fn pay(&mut self, shard: Shard, changes: &[&Change]) -> bool {
        let Some(last) = changes.last().filter(|_| !self.owed.is_empty()) else { return false };
        let before = self.owed.clone();
        self.owed.drop_through(shard, last.sequence, &self.marks);
        self.owed != before
    }

    /// Notes that some of these changes are refused and have letters. Returns false if there is no room for so many notes.
    pub fn owe(&mut self, shard: Shard, changes: &[&Change], letters: &BTreeSet<Sequence>) -> bool {
        let mut before = None;
        for change in changes {
            let sequence = Some(change.sequence).filter(|it| letters.contains(it));
            if let Some(sequence) = sequence {
                self.owed.insert(shard, before, sequence);
            }
            before = sequence;
        }
        !self.owed.is_overfull()
    }

    /// The number of leading changes of a shard that are folded or set aside already.
    pub fn passed(&self, shard: Shard, changes: &[&Change]) -> usize {
        changes.partition_point(|change| !self.marks.is_new(shard, change.sequence))
    }
}

impl<F: Fold> View<F> {
    /// Folds changes of one shard, in order, from the first of a batch on. Skips what is folded already, and sets aside what
    /// cannot be folded or was refused before.
    ///
    /// `facts` is the name of the table that the changes are of, for errors.
    pub fn fold(
        &mut self,
        shard: Shard,
        changes: &[&Change],
        refused: &Refused,
        facts: &str,
        now: Timestamp,
    ) -> Folded {
        let mut folded =
            Folded { unfolded: self.set_aside_before(shard, changes), ..Folded::default() };
        folded.wants_checkpoint = self.wants_checkpoint;
        let (passed, new) = changes.split_at(self.passed(shard, changes));
        let (Some(first), Some(last)) = (changes.first(), new.last()) else { return folded };
        self.marks.raise(shard, last.sequence, now);
        let noted = self.set_aside.clone();
        self.set_aside.retain(shard, first.sequence, &self.marks);
        let mut before = passed.last().map(|change| change.sequence);
        before = before.filter(|before| self.set_aside.has(shard, *before));
        for change in new {
            let is_refused = || self.state.refuses(change, facts);
            let done = match (&self.unreadable, refused.get(&change.sequence)) {
                (Some((_, why)), _) | (_, Some(why)) => Err(why.clone()),
                _ if before.is_some() && self.set_aside.is_full() => Err(NO_ROOM.to_owned()),
                _ if is_refused() => {
                    folded.refused.push(change.sequence);
                    before = None;
                    continue;
                }
                _ => self.state.fold(change, facts).map_err(|failure| failure.to_string()),
            };
            before = match done {
                Ok(()) => {
                    folded.new += 1;
                    None
                }
                Err(why) => {
                    self.set_aside.insert(shard, before, change.sequence);
                    folded.unfolded.push(Unfolded { sequence: change.sequence, why });
                    Some(change.sequence)
                }
            };
        }
        folded.is_noted = self.set_aside != noted;
        folded
    }

    /// Changes that an earlier delivery has set aside, whose dead letters it may not have sent.
    fn set_aside_before(&self, shard: Shard, changes: &[&Change]) -> Vec<Unfolded> {
        let why = "set aside by an earlier delivery, whose log says why";
        let unfolded = self.set_aside.among(shard, changes).into_iter();
        unfolded.map(|sequence| Unfolded { sequence, why: why.to_owned() }).collect()
    }
}
