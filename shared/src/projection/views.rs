//! The table of views, and how changes are folded into one of them.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::{Change, HighWaterMarks, Sequence, SetAside, Shard};
use crate::dynamo::item::{Item, Key, Row, number};
use crate::dynamo::{Condition, Dynamo, DynamoError, Put, Table};
use crate::ledger::FORGET_AT;
use crate::runtime::deadline::Deadline;
use crate::values::Timestamp;

/// How far the view has come.
const MARKS: &str = "marks";
/// What it has passed without folding it.
const SET_ASIDE: &str = "set_aside";
/// How often it was written: nobody else has written it as long as this stays the same.
const VERSION: &str = "version";

/// What a projection makes of changes.
pub trait Fold: Default {
    /// Reads what the view says.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    fn read(row: &Row<'_>) -> Result<Self, DynamoError>;

    /// Writes what it says: attributes other than those of this module.
    fn write(&self) -> Item;

    /// Goes on by one change. Changes that were set aside come later, so whatever their order the end is the same.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: a row that is not what the feature writes. The view is as it was.
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError>;
}

/// What became of some changes of one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// How many were folded that were not folded before.
    pub new: usize,
    /// How often the view was written by somebody else meanwhile.
    pub conflicts: usize,
    /// Those that are set aside, by this call or an earlier one. They have to become dead letters before the changes
    /// are acknowledged.
    pub unfolded: Vec<Unfolded>,
}

/// A change that could not be folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfolded {
    /// Where it is.
    pub sequence: Sequence,
    /// Why, in a sentence that quotes nothing of what is stored.
    pub why: String,
}

/// The table of views. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Views(Table);

impl Views {
    /// The views in this table.
    #[must_use]
    pub fn new(table: Table) -> Self {
        Self(table)
    }

    /// The same for another piece of work, whose usage counts there.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self(self.0.over(dynamo))
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.0
    }

    /// Folds changes of one shard, in their order, into one view. What it has folded already is passed, and what
    /// cannot be folded is set aside.
    ///
    /// `facts` is the name of the table that the changes are of, for errors.
    ///
    /// # Errors
    /// [`DynamoError`]; they may be folded.
    pub async fn fold<F: Fold>(
        &self,
        key: Key,
        shard: Shard,
        changes: &[&Change],
        facts: &str,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Folded, DynamoError> {
        let mut there = self.0.get(key.clone().into_item(), deadline).await?.map(|row| row.item);
        let mut conflicts = 0;
        loop {
            let seen = there.map(|item| Seen::<F>::read(&self.0.row(item))).transpose();
            let mut seen = match seen {
                Ok(seen) => seen.unwrap_or_default(),
                Err(corrupt) => return Ok(without_marks(changes, &corrupt)),
            };
            let new = changes.iter().filter(|change| seen.marks.is_new(shard, change.sequence));
            let new: Vec<_> = new.copied().collect();
            let mut unfolded = set_aside_before(&seen.set_aside, shard, changes);
            let Some(last) = new.last() else { return Ok(Folded { new: 0, conflicts, unfolded }) };
            let failed = seen.fold(&new, facts);
            let folded = new.len() - failed.len();
            unfolded.extend(failed);
            seen.marks.raise(shard, last.sequence, now);
            seen.set_aside.retain(shard, changes[0].sequence, &seen.marks);
            unfolded.iter().for_each(|change| seen.set_aside.insert(shard, change.sequence));
            let version = seen.version;
            let unchanged = match version {
                0 => Condition::new("attribute_not_exists(version)"),
                _ => Condition::new("version = :seen").value(":seen", number(version)),
            };
            match self.0.put_if(seen.write(key.clone()), unchanged, deadline).await? {
                Put::Done => return Ok(Folded { new: folded, conflicts, unfolded }),
                // By somebody else, or by an attempt of ours whose answer was lost: the marks tell.
                Put::Refused(other) => there = Some(other).filter(|item| !item.is_empty()),
            }
            conflicts += 1;
        }
    }
}

/// All changes, of a view of which nobody knows how far it has come. Nothing can be noted there.
fn without_marks(changes: &[&Change], corrupt: &DynamoError) -> Folded {
    let unfolded = changes.iter().map(|change| {
        let (sequence, why) = (change.sequence, corrupt.to_string());
        Unfolded { sequence, why }
    });
    Folded { new: 0, conflicts: 0, unfolded: unfolded.collect() }
}

/// Those that an earlier delivery has set aside and whose dead letters it may not have sent.
fn set_aside_before(set_aside: &SetAside, shard: Shard, changes: &[&Change]) -> Vec<Unfolded> {
    let why = "set aside by an earlier delivery, whose log says why";
    let unfolded = set_aside.among(shard, changes).into_iter();
    unfolded.map(|sequence| Unfolded { sequence, why: why.to_owned() }).collect()
}

/// A view as it was read.
#[derive(Default)]
struct Seen<F> {
    view: F,
    marks: HighWaterMarks,
    set_aside: SetAside,
    version: i64,
    forget_at: Option<AttributeValue>,
    /// What is there and why it cannot be read, though its marks can.
    unreadable: Option<(Item, String)>,
}

impl<F: Fold> Seen<F> {
    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let marks = row.item.get(MARKS).and_then(|marks| marks.as_b().ok());
        let marks = marks.and_then(|bytes| HighWaterMarks::from_bytes(bytes.as_ref()));
        let marks = marks.ok_or_else(|| row.corrupt(MARKS, "the high-water marks of a view"))?;
        let set_aside = match row.item.get(SET_ASIDE) {
            None => SetAside::default(),
            Some(bytes) => {
                let bytes =
                    bytes.as_b().ok().and_then(|bytes| SetAside::from_bytes(bytes.as_ref()));
                bytes.ok_or_else(|| row.corrupt(SET_ASIDE, "changes that were set aside"))?
            }
        };
        let (version, forget_at) = (row.number(VERSION)?, row.item.get(FORGET_AT).cloned());
        let (view, unreadable) = match F::read(row) {
            Ok(view) => (view, None),
            Err(corrupt) => (F::default(), Some((row.item.clone(), corrupt.to_string()))),
        };
        Ok(Self { view, marks, set_aside, version, forget_at, unreadable })
    }

    /// Goes on by these changes. Returns those that cannot be folded.
    fn fold(&mut self, changes: &[&Change], facts: &str) -> Vec<Unfolded> {
        let unfolded = changes.iter().filter_map(|change| {
            let folded = match &self.unreadable {
                None => self.view.fold(change, facts).map_err(|failure| failure.to_string()),
                Some((_, why)) => Err(why.clone()),
            };
            Some(Unfolded { sequence: change.sequence, why: folded.err()? })
        });
        unfolded.collect()
    }

    /// The item after that. One that cannot be read stays as it is, but for how far it has come.
    fn write(self, key: Key) -> Item {
        let bytes = |bytes| AttributeValue::B(Blob::new(bytes));
        let mut item = key.into_item();
        match self.unreadable {
            None => item.extend(self.view.write()),
            Some((there, _)) => item.extend(there),
        }
        item.insert(MARKS.to_owned(), bytes(self.marks.to_bytes()));
        match self.set_aside.is_empty() {
            true => drop(item.remove(SET_ASIDE)),
            false => drop(item.insert(SET_ASIDE.to_owned(), bytes(self.set_aside.to_bytes()))),
        }
        item.insert(VERSION.to_owned(), number(self.version + 1));
        // A view of what was erased goes at its time, whatever is folded into it until then.
        item.extend(self.forget_at.map(|at| (FORGET_AT.to_owned(), at)));
        item
    }
}
