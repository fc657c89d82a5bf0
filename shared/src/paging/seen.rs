//! What a client has been shown of a timeline: what makes a `newer_cursor` deliver each activity once, late
//! ones included.
//!
//! # What is remembered
//!
//! An activity becomes visible when its entry is written, or when a follow that brings it in is complete. Neither
//! follows the order of `published_at`: SQS delivers in any order, tables refuse writes, a follow brings in
//! what is weeks old. So a position alone loses what appears behind it. A cursor therefore remembers the
//! newest instant that was shown, and *which* activities of the time before it were shown: a [`Fingerprint`] of
//! each. That time, which ends with the newest instant, is the *window*: an hour, and [more](#walks-that-are-cut) while a
//! poll that was cut is walked.
//!
//! A poll reads the entries from the start of the window on, skips those that are remembered, and shows the
//! others, oldest first. What it has shown is remembered, and the window moves on with the newest instant.
//!
//! # Why nothing is missed and nothing comes twice
//!
//! * *Missed.* What is visible when a poll reads, within the window and not remembered, is shown by that poll; if the page
//!   is full first, it is newer than all of the page. The window then begins at most its length before the last
//!   of the page, so it still holds what was left, and the next poll shows it.
//! * *Twice.* What was shown is remembered for as long as it is within the window. The window only moves forward.
//!   Only what is shown is remembered, and only under its own fingerprint.
//!
//! It makes no difference why something appeared late. An entry that was written late, or whose actor was
//! hidden while a follow brought it in, was not shown, so it is not remembered. A fan-out that repeats writes the same
//! key again. After an unfollow and a follow, what was seen before counts as seen. What was deleted does not come
//! back, and an edit changes no key.
//!
//! A page of the newest that has more below it hands that over to its `next_cursor`: its `newer_cursor` has
//! the end of the page as its [floor](super::Floor) for as long as that lies within the window.
//!
//! # Walks that are cut
//!
//! A poll that passes too much that is hidden is cut before it has come to its end: what it looked at ends at some row, and
//! the next page goes on from there. So what appears behind that row has to wait for the poll that begins again at the start
//! of the window, after the last page. Until then the window is *held*: it begins no later than where the walk was first
//! cut, and stays there whatever is shown. So what appeared behind a page of the walk, up to an hour behind the newest that was
//! shown by then, lies within the window when the next poll reads, and is not remembered.
//!
//! No window is longer than four hours. In a walk that shows what is three hours newer than what was shown
//! before it, what is more than that behind the newest is not looked for again.
//!
//! # Where more is shown than is remembered
//!
//! No more than [`MOST`] are remembered. Of a client that was shown more, the earliest are dropped, and the window
//! begins behind them. So both statements above hold as they are, in a shorter window: the cursor says
//! where it [begins](Seen::window). What lies before it has at least as many newer ones that were shown as are remembered,
//! but for those that share the minute of the last that was dropped.
//!
//! # Where it is kept
//!
//! A cursor holds [`INLINE`] fingerprints, which is enough for the default page. The fingerprints of a client that has
//! seen more within the window are in an item of the ledger ([`store`](super::seen_sets)). It never changes. Its key is the
//! digest of its content, so writing it twice does no harm. It lives for two days, and is written again by whoever reads it in
//! the second of them. So a client that comes back within a day finds it. A poll that comes later may not:
//! it shows what is newer than the newest instant, and remembers again from there on.

use std::collections::{BTreeSet, HashSet};

use ring::digest::{SHA256, digest};

use super::fingerprint::{FINGERPRINT, Fingerprint, SALT, Salt, first, minute, minutes_before};
use crate::values::{SortKey, Timestamp};

/// How many minutes a window has, unless it is held.
const WINDOW: i64 = 60;
/// How many minutes a window has at most: fewer than a byte counts.
const LONGEST: i64 = 240;
/// Fingerprints in a cursor: as many as fit beside the longest ids.
pub const INLINE: usize = 25;
/// The most that are remembered: with its key, an item of less than 128 KB.
pub const MOST: usize = 18_000;
/// How much of the digest of a set is used, in bytes.
pub(super) const SET_ID: usize = 16;

/// What a cursor says about what was shown besides fingerprints, in bytes, at most: the newest instant, the salt, the set
/// and its count, and where the window begins.
pub(super) const FRAME: usize = 8 + SALT + SET_ID + 2 + 3;

/// How many fingerprints there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    pub inline: usize,
    pub most: usize,
}

/// A set in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredSet {
    pub(super) id: [u8; SET_ID],
    pub(super) count: u16,
}

/// What a cursor says about what was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The newest instant that was shown.
    pub(super) newest: Timestamp,
    pub(super) salt: Salt,
    /// Where the window begins, unless that is an hour before the newest.
    pub(super) since: Option<Timestamp>,
    /// Most of it, if it does not fit into the cursor.
    pub(super) stored: Option<StoredSet>,
    recent: BTreeSet<Fingerprint>,
}

/// What was shown, as far as it lies within the window: the cursor and what is stored, together.
#[derive(Debug, Clone)]
pub struct SeenSet {
    salt: Salt,
    newest: Timestamp,
    /// None if what was stored is gone.
    fingerprints: Option<HashSet<Fingerprint>>,
    /// True if what is stored has to be stored again, or it will expire.
    is_old: bool,
}

/// A set as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    pub bytes: &'a [u8],
    /// True if it has to be stored again, or it will expire.
    pub is_old: bool,
}

/// A set to be stored before a cursor that names it is given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSet {
    pub(super) id: [u8; SET_ID],
    pub(super) bytes: Vec<u8>,
}

fn read_all(bytes: &[u8], newest: Timestamp) -> Option<impl Iterator<Item = Fingerprint>> {
    let (fingerprints, rest) = bytes.as_chunks::<FINGERPRINT>();
    let read = move |bytes| Fingerprint::read(bytes, newest);
    rest.is_empty().then(|| fingerprints.iter().map(read))
}

impl Seen {
    /// Nothing yet but an instant.
    #[must_use]
    pub fn until(newest: Timestamp, salt: Salt) -> Self {
        Self { newest, salt, stored: None, since: None, recent: BTreeSet::new() }
    }

    /// The same, when what was stored is gone: nothing but the instant.
    #[must_use]
    pub fn forgotten(&self) -> Self {
        Self::until(self.newest, self.salt)
    }

    /// The start of the window.
    #[must_use]
    pub fn window(&self) -> Timestamp {
        self.since.unwrap_or_else(|| minutes_before(self.newest, WINDOW))
    }

    /// How many entries of the window are likely to have been shown.
    #[must_use]
    pub fn count(&self) -> usize {
        self.stored.map_or(0, |stored| usize::from(stored.count)) + self.recent.len()
    }

    /// True if part of it is in the ledger.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// All of it, given what is stored: nothing if that is gone.
    #[must_use]
    pub fn with_stored(&self, stored: Option<Stored<'_>>) -> SeenSet {
        let all = || -> Option<HashSet<_>> {
            let mut all: HashSet<_> = self.recent.iter().copied().collect();
            if self.stored.is_some() {
                let (newest, bytes) = stored?.bytes.split_first_chunk::<8>()?;
                let newest = Timestamp::from_unix_millis(i64::from_be_bytes(*newest));
                all.extend(read_all(bytes, newest)?);
            }
            Some(all)
        };
        let is_old = stored.is_some_and(|stored| stored.is_old);
        let Self { salt, newest, .. } = *self;
        SeenSet { salt, newest, fingerprints: all(), is_old }
    }

    /// Adds what was shown, as far as `capacity` allows. Also returns the set that has to be stored for that. The window begins no
    /// later than `held`.
    #[must_use]
    pub fn and<'k>(
        &self,
        set: &SeenSet,
        shown: impl Iterator<Item = &'k SortKey> + Clone,
        held: Option<Timestamp>,
        capacity: Capacity,
    ) -> (Self, Option<NewSet>) {
        let newest = shown.clone().map(|key| key.published_at).fold(self.newest, Timestamp::max);
        let [usual, earliest] = [WINDOW, LONGEST].map(|minutes| minutes_before(newest, minutes));
        let window = held.map_or(usual, |held| held.clamp(earliest, usual)).max(self.window());
        let since = (window != usual).then_some(window);
        let mut after = Self { newest, since, ..self.forgotten() };
        let Some(known) = &set.fingerprints else {
            return (Self { stored: self.stored, ..after }, None);
        };
        let shown = shown.map(|key| Fingerprint::of(self.salt, key));
        let within = |window: Timestamp| {
            let first = minute(window);
            move |fingerprint: &Fingerprint| fingerprint.minute >= first
        };
        let all = known.iter().copied().chain(shown.clone());
        let mut all: BTreeSet<_> = all.filter(within(after.window())).collect();
        if let Some(last) = all.len().checked_sub(capacity.most + 1).and_then(|n| all.iter().nth(n))
        {
            let (last, behind_all) = (*last, newest.plus_millis(1));
            after.since = Some(last.next_minute().min(behind_all));
            all.retain(|fingerprint| fingerprint.minute > last.minute);
        }
        if all.len() <= capacity.inline {
            return (Self { recent: all, ..after }, None);
        }
        let recent = self.recent.iter().copied().chain(shown);
        let recent: BTreeSet<_> = recent.filter(within(after.window())).collect();
        if self.stored.is_some() && recent.len() <= capacity.inline && !set.is_old {
            return (Self { stored: self.stored, recent, ..after }, None);
        }
        // A set has fewer than can be counted: its item would be too large.
        let count = u16::try_from(all.len()).unwrap_or(u16::MAX);
        let new = NewSet::of(&all, newest);
        (Self { stored: Some(StoredSet { id: new.id, count }), ..after }, Some(new))
    }

    pub(super) fn recent(&self) -> impl Iterator<Item = [u8; FINGERPRINT]> {
        self.recent.iter().map(|fingerprint| fingerprint.bytes(self.newest))
    }

    pub(super) fn with_recent(mut self, bytes: &[u8]) -> Option<Self> {
        self.recent = read_all(bytes, self.newest)?.collect();
        Some(self)
    }
}

impl SeenSet {
    /// True if an activity was shown, or has to count as shown because what was stored is gone.
    #[must_use]
    pub fn holds(&self, key: &SortKey) -> bool {
        match &self.fingerprints {
            Some(all) => all.contains(&Fingerprint::of(self.salt, key)),
            None => key.published_at <= self.newest,
        }
    }

    /// The instant up to which all counts as shown, because what was stored is gone.
    #[must_use]
    pub fn lost_until(&self) -> Option<Timestamp> {
        self.fingerprints.is_none().then_some(self.newest)
    }
}

impl NewSet {
    fn of(all: &BTreeSet<Fingerprint>, newest: Timestamp) -> Self {
        let mut bytes = newest.unix_millis().to_be_bytes().to_vec();
        bytes.extend(all.iter().flat_map(|fingerprint| fingerprint.bytes(newest)));
        Self { id: first(digest(&SHA256, &bytes).as_ref()), bytes }
    }
}

#[cfg(test)]
mod tests;
