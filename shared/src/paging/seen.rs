//! What a client has been shown of a timeline: what makes a `newer_cursor` deliver each activity once, late
//! ones included.
//!
//! # What is remembered
//!
//! An activity becomes visible when its entry is written, or when a follow that brings it in is complete. Neither
//! follows the order of `published_at`: SQS delivers in any order, tables refuse writes, a follow brings in
//! what is weeks old. So a position alone loses what appears behind it. A cursor therefore remembers the
//! newest instant that was shown, and *which* activities of the hour before it were shown: a [`Fingerprint`] of
//! each. The hour that ends with the newest instant is the *window*.
//!
//! A poll reads the entries from the start of the window on, skips those that are remembered, and shows the
//! others, oldest first. What it has shown is remembered, and the window moves on with the newest instant.
//!
//! # Why nothing is missed and nothing comes twice
//!
//! * *Missed.* What is visible when a poll reads, within the window and not remembered, is shown by that poll; if the page
//!   is full first, it is newer than all of the page. The window then begins at most an hour before the last
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
//! # How long a fingerprint is
//!
//! Seven bytes: the minute of `published_at`, by which those that the window has left are dropped, and 48 bits
//! of a SHA-256 over a salt and the sort key. The salt comes from the reader's secret and the viewer, so nobody who
//! publishes can find an id that hides another. By chance an activity is taken for another with a probability of
//! 2⁻⁴⁸ for each one shown in the same minute: with 50 a minute one in five million million is missed.
//!
//! The salt travels in the cursor. A secret that is changed changes it for new cursors only.
//!
//! # Where it is kept
//!
//! A cursor holds [`INLINE`] fingerprints, which is enough for the default page. The fingerprints of a client that has
//! seen more within an hour are in an item of the ledger ([`store`](super::store)). It never changes. Its key is the
//! digest of its content, so writing it twice does no harm. It lives for two days, and is written again by whoever reads it in
//! the second of them. So a client that comes back within a day finds it. A poll that comes later may not, nor one whose set
//! would be larger than [`MOST`]: it shows what is newer than the newest instant, and remembers again from there on.

use std::collections::{BTreeSet, HashSet};

use ring::digest::{Context, SHA256, digest};

use crate::values::{SortKey, Timestamp};

/// How far behind the newest activity that was shown others may appear and still be shown, in milliseconds.
const WINDOW: i64 = 60 * MINUTE;
const MINUTE: i64 = 60_000;
/// Fingerprints in a cursor: as many as fit beside the longest ids.
pub const INLINE: usize = 25;
/// The most that are remembered: 210 KB of an item that may have 400.
const MOST: usize = 30_000;
/// How long a fingerprint is, in bytes.
pub(super) const FINGERPRINT: usize = 7;
/// How much of the salt, of a digest and of the digest of a set is used, in bytes.
pub(super) const SALT: usize = 8;
const DIGEST: usize = FINGERPRINT - 1;
pub(super) const SET_ID: usize = 16;

/// The most that a cursor says about what was shown, in bytes.
pub(super) const MOST_BYTES: usize = 8 + SALT + SET_ID + 2 + INLINE * FINGERPRINT;

/// What the fingerprints of one viewer are keyed with.
pub type Salt = [u8; SALT];

/// What an activity is remembered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Fingerprint {
    /// Minutes since 1970 at which it was published.
    minute: i64,
    digest: [u8; DIGEST],
}

/// A set in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredSet {
    pub(super) id: [u8; SET_ID],
    /// How many fingerprints it holds.
    pub(super) count: u16,
}

impl StoredSet {
    /// Stands for a set that was too large: it is never there.
    const GIVEN_UP: Self = Self { id: [0; SET_ID], count: 0 };
}

/// What a cursor says about what was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The newest instant that was shown.
    pub(super) newest: Timestamp,
    pub(super) salt: Salt,
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
    /// Its content.
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

impl Fingerprint {
    fn of(salt: Salt, key: &SortKey) -> Self {
        let mut digest = Context::new(&SHA256);
        digest.update(&salt);
        digest.update(key.to_string().as_bytes());
        Self { minute: minute(key.published_at), digest: first(digest.finish().as_ref()) }
    }

    /// Its bytes beside an instant that is at most 255 minutes later.
    fn bytes(self, newest: Timestamp) -> [u8; FINGERPRINT] {
        let ago = u8::try_from(minute(newest) - self.minute).unwrap_or(u8::MAX);
        let mut bytes = [ago; FINGERPRINT];
        bytes[1..].copy_from_slice(&self.digest);
        bytes
    }

    fn read(bytes: &[u8; FINGERPRINT], newest: Timestamp) -> Self {
        let [ago, digest @ ..] = *bytes;
        Self { minute: minute(newest) - i64::from(ago), digest }
    }
}

fn minute(at: Timestamp) -> i64 {
    at.unix_millis().div_euclid(MINUTE)
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|index| bytes[index])
}

/// The start of the window that ends with an instant.
fn window(newest: Timestamp) -> Timestamp {
    newest.plus_millis(-WINDOW)
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
        Self { newest, salt, stored: None, recent: BTreeSet::new() }
    }

    /// The same, when what was stored is gone: nothing but the instant.
    #[must_use]
    pub fn forgotten(&self) -> Self {
        Self::until(self.newest, self.salt)
    }

    /// The start of the window.
    #[must_use]
    pub fn window(&self) -> Timestamp {
        window(self.newest)
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
        SeenSet { salt: self.salt, newest: self.newest, fingerprints: all(), is_old }
    }

    /// What has been seen once more has been shown, of which a cursor holds `inline`; and what has to be stored for
    /// that.
    #[must_use]
    pub fn and<'k>(
        &self,
        set: &SeenSet,
        shown: impl Iterator<Item = &'k SortKey> + Clone,
        inline: usize,
    ) -> (Self, Option<NewSet>) {
        let newest = shown.clone().map(|key| key.published_at).fold(self.newest, Timestamp::max);
        let first = minute(window(newest));
        let shown = shown.map(|key| Fingerprint::of(self.salt, key));
        let in_window = |fingerprint: &Fingerprint| fingerprint.minute >= first;
        let after = |stored, recent| Self { newest, salt: self.salt, stored, recent };
        let Some(known) = &set.fingerprints else {
            return (after(self.stored, BTreeSet::new()), None);
        };
        let all: BTreeSet<_> =
            known.iter().copied().chain(shown.clone()).filter(in_window).collect();
        if all.len() <= inline {
            return (after(None, all), None);
        }
        let recent: BTreeSet<_> =
            self.recent.iter().copied().chain(shown).filter(in_window).collect();
        if self.stored.is_some() && recent.len() <= inline && !set.is_old {
            return (after(self.stored, recent), None);
        }
        match u16::try_from(all.len()) {
            Ok(count) if all.len() <= MOST => {
                let new = NewSet::of(&all, newest);
                (after(Some(StoredSet { id: new.id, count }), BTreeSet::new()), Some(new))
            }
            _ => (after(Some(StoredSet::GIVEN_UP), BTreeSet::new()), None),
        }
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
mod tests {
    use super::*;
    use crate::values::ActivityId;
    use proptest::prelude::*;

    fn key(at: i64, id: u32) -> SortKey {
        let activity_id = ActivityId::new(id.to_string()).expect("an id");
        SortKey { published_at: Timestamp::from_unix_millis(at), activity_id }
    }

    fn salt() -> Salt {
        [7; SALT]
    }

    /// What a client does: it shows some, in steps, and keeps the latest of what it was given.
    fn shown_in_steps(steps: &[Vec<SortKey>], inline: usize) -> (Seen, SeenSet) {
        let first = steps.iter().flatten().map(|key| key.published_at).next();
        let mut seen = Seen::until(first.unwrap_or(Timestamp::LAST), salt());
        let mut set = seen.with_stored(None);
        let mut stored: Option<NewSet> = None;
        for step in steps {
            let (after, new) = seen.and(&set, step.iter(), inline);
            assert!(after.recent.len() <= inline && after.recent().count() <= inline);
            stored = new.or(stored).filter(|_| after.is_stored());
            let bytes = stored.as_ref().map(|new| Stored { bytes: &new.bytes, is_old: false });
            (set, seen) = (after.with_stored(bytes), after);
        }
        (seen, set)
    }

    proptest! {
        /// All that was shown within the hour is remembered, and nothing else, however it is kept.
        #[test]
        fn remembers_what_was_shown_within_the_hour(
            steps in proptest::collection::vec(
                proptest::collection::vec((0_i64..20_000_000, 0_u32..50), 0..30), 1..8,
            ),
            inline in 0_usize..40,
        ) {
            let steps: Vec<Vec<_>> = steps
                .into_iter()
                .map(|step| step.into_iter().map(|(at, id)| key(at, id)).collect())
                .collect();
            let (seen, set) = shown_in_steps(&steps, inline);
            // Whatever the way, the newest is the newest.
            if let Some(newest) = steps.iter().flatten().map(|key| key.published_at).max() {
                prop_assert_eq!(seen.newest, newest);
            }
            for shown in steps.iter().flatten().filter(|key| key.published_at >= seen.window()) {
                prop_assert!(set.holds(shown), "{}", shown);
                let other = key(shown.published_at.unix_millis(), 50);
                prop_assert!(!set.holds(&other), "{}", other);
            }
            prop_assert!(seen.count() <= steps.iter().map(Vec::len).sum());
        }
    }

    #[test]
    fn a_set_that_is_gone_counts_as_all_up_to_the_newest() {
        let shown: Vec<_> = (0..30).map(|n| key(1_000 * i64::from(n), n)).collect();
        let (seen, _) = shown_in_steps(std::slice::from_ref(&shown), 25);
        assert!(seen.is_stored() && seen.count() == 30);
        let set = seen.with_stored(None);
        assert_eq!(set.lost_until(), Some(seen.newest));
        assert!(set.holds(&key(29_000, 99)) && !set.holds(&key(29_001, 99)));
        for bytes in [&b""[..], &[0; 7], &[0; 9], &[0; 16]] {
            let stored = Some(Stored { bytes, is_old: false });
            assert!(seen.with_stored(stored).lost_until().is_some(), "{bytes:?}");
        }
    }

    #[test]
    fn a_set_that_is_too_large_is_given_up() {
        let shown: Vec<_> = (0..=MOST).map(|n| key(60, u32::try_from(n).unwrap_or(0))).collect();
        for (count, is_kept) in [(MOST, true), (MOST + 1, false)] {
            let nothing = Seen::until(Timestamp::from_unix_millis(60), salt());
            let (seen, new) =
                nothing.and(&nothing.with_stored(None), shown[..count].iter(), INLINE);
            assert_eq!((new.is_some(), seen.is_stored()), (is_kept, true), "{count}");
            assert_eq!(seen.count(), if is_kept { count } else { 0 });
        }
    }

    #[test]
    fn an_old_set_is_stored_again() {
        let shown: Vec<_> = (0..30).map(|n| key(1_000, n)).collect();
        let nothing = Seen::until(Timestamp::from_unix_millis(1_000), salt());
        let (seen, new) = nothing.and(&nothing.with_stored(None), shown.iter(), INLINE);
        let new = new.expect("more than fit");
        for is_old in [false, true] {
            let set = seen.with_stored(Some(Stored { bytes: &new.bytes, is_old }));
            let (after, again) = seen.and(&set, [].iter(), INLINE);
            assert_eq!((&after, again), (&seen, is_old.then(|| new.clone())));
        }
    }

    /// Cursors and sets that are out were made like this.
    #[test]
    fn fingerprints_never_change() {
        let newest = Timestamp::from_unix_millis(120_000);
        let fingerprint = Fingerprint::of(salt(), &key(59_999, 17));
        assert_eq!(crate::crypto::hash::hex(&fingerprint.bytes(newest)), "02bdff4fbf5642");
        assert_eq!(Fingerprint::read(&fingerprint.bytes(newest), newest), fingerprint);
    }
}
