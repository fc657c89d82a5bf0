//! What a view counts of one viewer: whoever is shown a count and what they have done themselves is shown both as of
//! one moment, that of the view.
//!
//! The row of a viewer is ahead of the view, and nobody who reads it knows whether the view has folded it. So the view
//! says itself what it counts of whom, in the write that counts it: an entry of ten to twenty bytes under a digest of the
//! viewer. Those of the [latest](ROOM) viewers are in the view, so for what few have done nothing else is written, ever.
//!
//! # Statements
//!
//! Where there are more, the entries that the view was read with leave it. Before it is written without them each becomes a
//! *statement*, an item of its own: *as of this version the view counts this of this viewer*.
//!
//! ```text
//! own#<generation><digest>   <version>   state
//! ```
//!
//! A statement is about a version that is stored and will not change, so it is true whoever writes it, however often
//! and however late, and whether or not the write of the view behind it succeeds. What is folded by the very write that
//! is about to be tried is never stated; it stays in the view until it has been read from there.
//!
//! # Why that is exact
//!
//! A reader has the view at version V. If the viewer is among its entries, the entry says what V counts. Otherwise the
//! reader asks for the last statement up to V, after it has read the view. Let M ≤ V be the last version that has changed
//! what is counted of the viewer. Its entry was in the view from M on and is not in V, so it left with a version E,
//! M < E ≤ V, and a statement about E − 1 ≥ M was written before. Whatever statement is the last up to V is therefore
//! about a version from M to V, all of which count the same. Statements beyond V are passed, so what is folded between the
//! two reads changes nothing, and a projector that dies between two calls leaves statements that are true of a view
//! that still has the entries. Nothing is read twice.
//!
//! # What is not known
//!
//! A view of an earlier version, or one that an earlier version or a repair has written, has counted viewers of whom it has
//! no entry: it is *partial*. So is what a dead letter has brought back, out of order. There the
//! [row decides](Own::Row), which is ahead of the view until it is folded. A view notices by the version which is noted with its
//! entries that somebody has written it who does not know of them; it begins a new generation then, in which
//! statements of before are not found.
//!
//! # What it costs, and what grows
//!
//! One write unit for each viewer who is counted, where more than some thirty are, and none where fewer are. A
//! read takes no item more, but for one query where the view has stated something and the viewer is not among its entries.
//!
//! Of one viewer there are as many statements as changes of theirs that were counted among many others, each a command of
//! its own. They name nobody and nothing: the generation is a number that was drawn for this view, the digest is of both its key and the
//! viewer. So what is forgotten leaves statements that nobody can tell apart from others, and a view that has gone and comes again
//! finds none of them.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::{Followed, Views};
use crate::crypto::hash::hex;
use crate::dynamo::item::{Item, Key, Row, text};
use crate::dynamo::{DynamoError, Query};
use crate::runtime::deadline::Deadline;
use crate::values::{Packer, Unpacker};

/// The attribute of a view with its entries.
pub const OWN: &str = "own";
/// How the partition keys of statements begin.
const STATEMENTS: &str = "own#";
/// The attribute of a statement.
const STATE: &str = "state";
/// What a statement says where the row decides.
const ROW: &str = "row";
/// Up to how many bytes of entries stay in a view: some thirty likes.
const ROOM: usize = 320;
/// Beyond how many bytes a view gives up its entries, and rows decide. What is folded at once is less.
const MOST: usize = 40_960;

/// A viewer, for one view: a digest, which says nothing to whoever does not know both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who([u8; 8]);

impl Who {
    /// A viewer, by id, of whom the view at a key counts something.
    #[must_use]
    pub fn of(view: &Key, viewer: &str) -> Self {
        let text = format!("{}#{viewer}", view.pk);
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&digest.as_ref()[..8]);
        Self(first)
    }
}

/// What a view counts of one viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Own {
    /// This, as the feature has written it. Empty where nothing is counted.
    Counted(Vec<u8>),
    /// What the row says, as far as the view knows.
    Row,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    who: Who,
    own: Own,
    /// True if the view was read with it.
    is_stored: bool,
}

/// What a view says of single viewers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnStates {
    /// The version of the view that was read.
    version: i64,
    /// In which generation its statements are.
    generation: u64,
    /// There may be viewers whom it counts and of whom it has said nothing.
    is_partial: bool,
    /// It has stated something.
    has_stated: bool,
    latest: Vec<Entry>,
}

/// What the item of a view says of a viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// This.
    Known(Own),
    /// It may have been stated: [`Views::stated`] knows.
    Elsewhere,
}

impl OwnStates {
    /// Reads it from the item of a view.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let version = row.number("version")?;
        let stored = row.packed(OWN, "what a view counts of viewers", Self::from_bytes)?;
        Ok(match stored {
            Some(stored) if stored.version == version => stored,
            Some(_) => Self { version, ..Self::default() }.partial(),
            None => Self { version, is_partial: version > 0, ..Self::default() },
        })
    }

    /// Adds it to the item of the view, which is the one after the version that was read.
    pub fn write(&self, item: &mut Item) {
        item.insert(OWN.to_owned(), AttributeValue::B(Blob::new(self.to_bytes())));
    }

    /// From now on this is counted of a viewer.
    pub fn set(&mut self, who: Who, own: Own) {
        if self.generation == 0 {
            // A view that has gone and comes again finds none of the statements of before.
            self.generation = fastrand::u64(1..);
        }
        self.latest.retain(|entry| entry.who != who);
        self.latest.push(Entry { who, own, is_stored: false });
        if self.bytes() > MOST {
            *self = std::mem::take(self).partial();
        }
    }

    /// The same where others than its feature's folds have changed what is counted: rows decide.
    #[must_use]
    pub fn partial(self) -> Self {
        let generation = fastrand::u64(1..);
        Self { generation, is_partial: true, has_stated: false, latest: Vec::new(), ..self }
    }

    /// Entries that leave the view, if there are many: what has to be written before it is.
    pub fn spill(&mut self) -> Vec<Followed> {
        if self.bytes() <= ROOM {
            return Vec::new();
        }
        let (stored, new) =
            std::mem::take(&mut self.latest).into_iter().partition(|entry| entry.is_stored);
        let stored: Vec<Entry> = stored;
        self.latest = new;
        self.has_stated |= !stored.is_empty();
        let statements = stored.into_iter().map(|Entry { who, own, .. }| {
            let state = match own {
                Own::Counted(bytes) => hex(&bytes),
                Own::Row => ROW.to_owned(),
            };
            let key = Key { pk: self.partition(who), sk: sort_key(self.version) };
            Followed { key, numbers: Vec::new(), texts: vec![(STATE, state)], goes_on: false }
        });
        statements.collect()
    }

    /// What the item of the view says of a viewer.
    #[must_use]
    pub fn of(&self, who: Who) -> Said {
        let entry = self.latest.iter().find(|entry| entry.who == who);
        match entry {
            Some(entry) => Said::Known(entry.own.clone()),
            None if self.has_stated => Said::Elsewhere,
            None => Said::Known(self.unsaid()),
        }
    }

    /// What is counted of those of whom nothing was said.
    fn unsaid(&self) -> Own {
        if self.is_partial { Own::Row } else { Own::Counted(Vec::new()) }
    }

    fn partition(&self, Who(digest): Who) -> String {
        format!("{STATEMENTS}{:016x}{}", self.generation, hex(&digest))
    }

    fn bytes(&self) -> usize {
        let bytes = |entry: &Entry| match &entry.own {
            Own::Counted(bytes) => 9 + bytes.len(),
            Own::Row => 9,
        };
        self.latest.iter().map(bytes).sum()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        packer.number(u64::try_from(self.version + 1).unwrap_or(0));
        packer.number(self.generation);
        packer.number(u64::from(self.is_partial) | (u64::from(self.has_stated) << 1));
        let mut bytes = packer.into_bytes();
        for Entry { who: Who(digest), own, .. } in &self.latest {
            bytes.extend_from_slice(digest);
            // 0 where the row decides, else one more than the length.
            let counted = match own {
                Own::Counted(counted) => Some(counted),
                Own::Row => None,
            };
            let length = counted.map_or(0, |counted| counted.len() + 1);
            bytes.push(u8::try_from(length).unwrap_or(0));
            bytes.extend(counted.filter(|_| length <= usize::from(u8::MAX)).into_iter().flatten());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker::new(bytes);
        let (version, generation) = (unpacker.number()?, unpacker.number()?);
        let (flags, mut latest) = (unpacker.number()?, Vec::new());
        while !unpacker.is_empty() {
            let who = Who(unpacker.bytes()?);
            let [length] = unpacker.bytes()?;
            let own = match length.checked_sub(1) {
                None => Own::Row,
                Some(length) => {
                    let bytes = (0..length).map(|_| unpacker.bytes().map(|[byte]: [u8; 1]| byte));
                    Own::Counted(bytes.collect::<Option<_>>()?)
                }
            };
            latest.push(Entry { who, own, is_stored: true });
        }
        let (is_partial, has_stated) = (flags & 1 == 1, flags & 2 == 2);
        let version = i64::try_from(version).ok()?;
        Some(Self { version, generation, is_partial, has_stated, latest })
    }
}

impl Views {
    /// What a view counts of a viewer of whom it says nothing itself, as of the version that was read: one query.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn stated(
        &self,
        states: &OwnStates,
        who: Who,
        deadline: Deadline,
    ) -> Result<Own, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk AND sk <= :sk"),
            values: vec![
                (":pk", text(states.partition(who))),
                (":sk", text(sort_key(states.version))),
            ],
            descending: true,
            limit: Some(1),
            ..Query::default()
        };
        let page = self.table().page(&query, deadline).await?;
        page.rows.first().map_or_else(|| Ok(states.unsaid()), stated)
    }
}

fn stated(row: &Row<'_>) -> Result<Own, DynamoError> {
    let state = row.text(STATE)?;
    if state == ROW {
        return Ok(Own::Row);
    }
    let pairs = state.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = pairs.map(byte).collect::<Option<_>>();
    bytes.map(Own::Counted).ok_or_else(|| row.corrupt(STATE, "hexadecimal digits"))
}

/// True if a key of the views is a statement's.
#[must_use]
pub fn is_statement(key: &Key) -> bool {
    key.pk.starts_with(STATEMENTS)
}

fn sort_key(version: i64) -> String {
    format!("{version:020}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamo::item::number;
    use proptest::prelude::*;

    fn view() -> Key {
        Key { pk: "activity#a".to_owned(), sk: "likes".to_owned() }
    }

    fn who(viewer: u8) -> Who {
        Who::of(&view(), &viewer.to_string())
    }

    /// As it is read from what it has written.
    fn stored(states: &OwnStates, version: i64) -> OwnStates {
        let mut item = Item::from([("version".to_owned(), number(version))]);
        states.write(&mut item);
        OwnStates::read(&Row { table: "views", item }).expect("what was written")
    }

    proptest! {
        /// Whatever is folded in whatever batches, and whichever attempts fail behind their statements: as of each
        /// version the view and the statements say what was counted then.
        #[test]
        fn each_version_says_what_it_counts(
            batches in prop::collection::vec(
                (prop::collection::vec((0_u8..80, any::<bool>()), 1..50), any::<bool>()), 1..20),
        ) {
            let mut states = OwnStates::default();
            let mut counted = vec![false; 80];
            let (mut versions, mut statements) = (Vec::new(), Vec::new());
            for (changes, is_written) in batches {
                let (mut next, mut then) = (states.clone(), counted.clone());
                for (viewer, liked) in changes {
                    then[usize::from(viewer)] = liked;
                    next.set(who(viewer), Own::Counted(vec![1; usize::from(liked)]));
                }
                statements.extend(next.spill());
                if is_written {
                    states = stored(&next, states.version + 1);
                    counted = then;
                    versions.push((states.clone(), counted.clone()));
                }
            }
            for (states, counted) in versions {
                for (viewer, liked) in (0..).zip(counted) {
                    let key = Key { pk: states.partition(who(viewer)), sk: sort_key(states.version) };
                    let upto = statements.iter().filter(|it: &&Followed| it.key.pk == key.pk && it.key.sk <= key.sk);
                    let last = upto.max_by_key(|it| &it.key.sk).map(|it| {
                        stated(&Row { table: "views", item: it.clone().into_item() }).expect("a statement")
                    });
                    let own = match states.of(who(viewer)) {
                        Said::Known(own) => own,
                        Said::Elsewhere => last.unwrap_or_else(|| states.unsaid()),
                    };
                    prop_assert_eq!(own, Own::Counted(vec![1; usize::from(liked)]));
                }
            }
        }
    }

    #[test]
    fn who_writes_a_view_without_knowing_of_entries_leaves_rows_to_decide() {
        let mut states = OwnStates::default();
        states.set(who(1), Own::Counted(vec![1]));
        assert_eq!(stored(&states, 1).of(who(1)), Said::Known(Own::Counted(vec![1])));
        assert_eq!(stored(&states, 1).of(who(2)), Said::Known(Own::Counted(vec![])));
        let overtaken = stored(&states, 2);
        assert_eq!(overtaken.of(who(1)), Said::Known(Own::Row));
        assert_ne!(overtaken.generation, 0, "statements of before are not found");
        let item = Item::from([("version".to_owned(), number(7))]);
        let earlier = OwnStates::read(&Row { table: "views", item }).expect("none");
        assert_eq!(earlier.of(who(1)), Said::Known(Own::Row));
    }

    #[test]
    fn there_is_a_bound_to_what_a_view_says() {
        let mut states = OwnStates::default();
        for viewer in 0..2_000_u32 {
            states.set(Who::of(&view(), &viewer.to_string()), Own::Counted(vec![1; 36]));
            assert!(states.to_bytes().len() < MOST + 64);
        }
        assert!(states.is_partial);
    }
}
