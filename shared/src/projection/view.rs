//! One view: what it says, how far it has come, and how changes are folded into it.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::recent::RECENT;
use super::{Change, HighWaterMarks, Sequence, SetAside, Shard, Write};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Key, Row, number};
use crate::ledger::FORGET_AT;
use crate::values::Timestamp;

/// How far the view has come.
const MARKS: &str = "marks";
/// What it has passed without folding it.
const SET_ASIDE: &str = "set_aside_runs";
/// The same, as an earlier version wrote it.
const SET_ASIDE_BEFORE: &str = "set_aside";
/// Why a change is set aside that could be folded.
const NO_ROOM: &str =
    "one before it was set aside, and there is no room to note that of single changes";
/// How often it was written: nobody else has written it as long as this stays the same.
pub(super) const VERSION: &str = "version";
/// The attributes of every view.
const OURS: [&str; 8] =
    ["pk", "sk", MARKS, SET_ASIDE, SET_ASIDE_BEFORE, VERSION, FORGET_AT, RECENT];

/// What an item among the views says.
pub trait State: Default {
    /// The attributes that it writes, or has written in some version. Those that nobody knows are of a later version,
    /// and stay as they are.
    const ATTRIBUTES: &'static [&'static str];

    /// Reads it.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    fn read(row: &Row<'_>) -> Result<Self, DynamoError>;

    /// Writes it: attributes other than those of this module.
    fn write(&self) -> Item;

    /// What is stored of whose changes were folded last, with this version of the view; nothing where no answer
    /// depends on it.
    fn recent(&self, version: u64) -> Option<AttributeValue> {
        let _ = version;
        None
    }
}

/// What a projection makes of changes.
pub trait Fold: State {
    /// Goes on by one change. Changes that were set aside come later, so whatever their order the end is the same.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: a row that is not what the feature writes. The view is as it was.
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError>;
}

/// A view as it was read, or as nobody has written it yet; and what has been folded into it since.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct View<S> {
    /// What it says.
    pub state: S,
    marks: HighWaterMarks,
    set_aside: SetAside,
    version: i64,
    forget_at: Option<AttributeValue>,
    /// True if the shard whose changes are folded needs a checkpoint, now or soon.
    wants_checkpoint: bool,
    /// Attributes of a later version.
    unknown: Item,
    /// What is there and why it cannot be read, though its marks can.
    unreadable: Option<(Item, String)>,
}

/// How a view is read from its item: [`View::read_from`], or [`View::read_to_fold`].
pub type Reader<S> = fn(&Row<'_>) -> Result<View<S>, DynamoError>;

/// What became of some changes of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folded {
    /// How many were folded that were not folded before.
    pub new: usize,
    /// Those that are set aside, by this delivery or an earlier one. They have to become dead letters before the
    /// changes are acknowledged.
    pub unfolded: Vec<Unfolded>,
    /// Whether the view has to be written for what it says of changes alone.
    pub is_noted: bool,
    /// True if the shard needs a checkpoint, because the view has many marks.
    pub wants_checkpoint: bool,
}

/// A change that could not be folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfolded {
    /// Where it is.
    pub sequence: Sequence,
    /// Why, in a sentence that quotes nothing of what is stored.
    pub why: String,
}

/// Changes that the store refuses to fold, each with the reason.
pub type Refused = BTreeMap<Sequence, String>;

impl Unfolded {
    /// All changes, of a view of which nobody knows how far it has come. Nothing can be noted there.
    #[must_use]
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

    /// Reads it from its item, to go on from there: one that cannot be read stays as it is, but for how far it has
    /// come.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: nobody knows how far it has come.
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
        let runs = row.packed(SET_ASIDE, expected, SetAside::from_bytes)?.unwrap_or_default();
        let set_aside =
            row.packed(SET_ASIDE_BEFORE, expected, |bytes| runs.clone().with_changes(bytes))?;
        let is_known = |name: &str| OURS.contains(&name) || S::ATTRIBUTES.contains(&name);
        let unknown = row.item.iter().filter(|(name, _)| !is_known(name));
        Ok(Self {
            state: S::default(),
            marks: marks.unwrap_or_default(),
            set_aside: set_aside.unwrap_or(runs),
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

    /// Whether checkpoints say more than its marks, or are needed soon: marks are three quarters of what there may be.
    pub(super) fn needs_checkpoints(&self, most: usize) -> bool {
        self.marks.is_pruned() || self.marks.shards().len() > most / 4 * 3
    }

    /// Drops marks that checkpoints say as well, if there are too many, and goes on from the checkpoint of a shard.
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

    /// Whether it says nothing that anybody can read.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.unreadable.is_some()
    }

    /// True if it has been written.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.version > 0
    }

    /// How often it was written: two readings of the same version are of the same view.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The same view, which goes at this second unless it says something by then.
    #[must_use]
    pub fn until(self, forget_at: i64) -> Self {
        Self { forget_at: Some(number(forget_at)), ..self }
    }

    /// The same view, which stays.
    pub fn stay(&mut self) {
        self.forget_at = None;
    }

    /// True if it goes.
    #[must_use]
    pub fn is_going(&self) -> bool {
        self.forget_at.is_some()
    }

    /// The same view, saying something else.
    #[must_use]
    pub fn with(self, state: S) -> Self {
        Self { state, unreadable: None, ..self }
    }

    /// The same view, which says what it said when it was read and cannot go on: what comes is set aside.
    #[must_use]
    pub fn stuck(self, state: &S, why: String) -> Self {
        Self { state: S::default(), unreadable: Some((state.write(), why)), ..self }
    }

    /// The same view as of what another has folded: what that has passed is in what this one says.
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

    /// What writes it, unless somebody else has written it since it was read.
    #[must_use]
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
        for (name, value) in [(MARKS, marks), (SET_ASIDE, set_aside), (SET_ASIDE_BEFORE, None)] {
            item.remove(name);
            item.extend(value.map(|value| (name.to_owned(), value)));
        }
        item.insert(VERSION.to_owned(), number(self.version + 1));
        // A view of what was erased goes at its time, whatever is folded into it until then.
        item.extend(self.forget_at.clone().map(|at| (FORGET_AT.to_owned(), at)));
        Write::View { item, seen: self.version }
    }

    /// How many of these changes of a shard, from the first on, are folded or set aside.
    #[must_use]
    pub fn passed(&self, shard: Shard, changes: &[&Change]) -> usize {
        changes.partition_point(|change| !self.marks.is_new(shard, change.sequence))
    }
}

impl<F: Fold> View<F> {
    /// Folds changes of one shard, in their order, which begin with the first of a batch. What it has folded already
    /// is passed, and what cannot be folded is set aside, as is what was refused before.
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
            let done = match (&self.unreadable, refused.get(&change.sequence)) {
                (Some((_, why)), _) | (_, Some(why)) => Err(why.clone()),
                _ if before.is_some() && self.set_aside.is_full() => Err(NO_ROOM.to_owned()),
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

    /// Those that an earlier delivery has set aside and whose dead letters it may not have sent.
    fn set_aside_before(&self, shard: Shard, changes: &[&Change]) -> Vec<Unfolded> {
        let why = "set aside by an earlier delivery, whose log says why";
        let unfolded = self.set_aside.among(shard, changes).into_iter();
        unfolded.map(|sequence| Unfolded { sequence, why: why.to_owned() }).collect()
    }
}
