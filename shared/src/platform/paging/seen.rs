//! What a client has been shown of a timeline. With it a `newer_cursor` returns each activity once, even late ones.
//!
//! # What is stored
//!
//! An activity becomes visible when its entry is written, or when the backfill of a follow is complete. Neither follows the order of
//! `published_at`: SQS delivers in any order, tables refuse writes, a backfill is weeks old. So a position alone would miss what
//! appears after it. A cursor therefore has the newest instant that was shown, and *which* activities of the time before it were
//! shown, by a [`Fingerprint`] of each. That time, which ends with the newest instant, is the *window*: an hour, and
//! [more](#walks-that-are-cut) while a poll that was cut is walked.
//!
//! A poll reads the entries from the start of the window on, skips those with a stored fingerprint, and shows the others, oldest
//! first. Then their fingerprints are stored, and the window moves on with the newest instant.
//!
//! # Why nothing is missed and nothing comes twice
//!
//! * *Missed.* An activity that is visible when a poll reads, within the window and without stored fingerprint, is shown by that
//!   poll, unless the page is full first. Then it is newer than all of the page. The window begins at most its length before the last
//!   activity of the page, so it still contains the rest, and the next poll shows it.
//! * *Twice.* A fingerprint is stored as long as its activity is within the window, and the window only moves forward. Only the
//!   fingerprints of shown activities are stored.
//!
//! The reason for being late makes no difference. An entry that was written late, or whose actor was hidden during a backfill, was not
//! shown, so its fingerprint is not stored. A repeated fan-out writes the same key again. After an unfollow and a follow, what was
//! seen before counts as seen. Deleted activities do not come back, and an edit changes no key.
//!
//! A newest-first page leaves what is below it to its `next_cursor`: its `newer_cursor` has the end of the page as its
//! [floor](super::Floor) as long as that is within the window.
//!
//! # Walks that are cut
//!
//! A poll that skips too many hidden rows is cut before its end: it has examined rows up to some row, and the next page continues
//! from there. So what appears after that row has to wait for the poll that begins again at the start of the window, after the last
//! page. Until then the window is *held*: it begins no later than when the walk was first cut, whatever is shown. So what appeared
//! behind a page of the walk, up to an hour before the newest activity shown by then, is within the window when the next poll reads,
//! and has no stored fingerprint.
//!
//! A window that is held begins with a whole minute: a cursor has room for the minutes of any window, and for the milliseconds of four
//! hours.
//!
//! # If more is shown than is stored
//!
//! At most [`MOST`] fingerprints are stored. For a client that was shown more, the earliest are dropped, and the window begins after
//! them. So both statements above hold in a shorter window: the cursor says where it [begins](Seen::window). Anything before it is
//! older than at least as many shown activities as are stored, except for those in the minute of the last dropped one.
//!
//! # Where it is stored
//!
//! A cursor has room for [`INLINE`] fingerprints, enough for the default page. The fingerprints of a client that has seen more within
//! the window are in an item of the ledger ([`store`](super::seen_sets)). It never changes, and its key is the digest of its content,
//! so writing it is idempotent. It expires after two days, and is written again by a poll that reads it in the second of them. So a
//! client that comes back within a day finds it. A later poll may not find it: it shows what is newer than the newest instant, and
//! stores fingerprints again from there on.

use std::collections::{BTreeSet, HashSet};

use ring::digest::{SHA256, digest};

use super::fingerprint::{
    FINGERPRINT, Fingerprint, SALT, Salt, first, minute, minutes_before, start_of,
};
use crate::platform::values::{SortKey, Timestamp};

/// The minutes of a window, unless it is held.
const WINDOW: i64 = 60;
/// The most minutes of a window whose milliseconds fit into three bytes.
const EXACT: i64 = 240;
/// The most minutes of any window: they fit into three bytes, and are 31 years.
const LONGEST: i64 = (1 << 24) - 1;
/// Fingerprints in a cursor: as many as fit with the longest ids.
pub const INLINE: usize = 25;
/// The most fingerprints: with its key, an item of less than 128 KB.
pub const MOST: usize = 18_000;
/// The size of the used part of the digest of a set, in bytes.
pub(super) const SET_ID: usize = 16;

/// The most bytes of this part of a cursor besides fingerprints: the newest instant, the salt, the set and its count, and the start
/// of the window.
pub(super) const FRAME: usize = 8 + SALT + SET_ID + 2 + 3;

/// The number of fingerprints that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenCapacity {
    pub inline: usize,
    pub most: usize,
}

/// A set in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredSet {
    pub(super) id: [u8; SET_ID],
    pub(super) count: u16,
}

/// What was shown, as far as it is in a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The newest instant that was shown.
    pub(super) newest: Timestamp,
    pub(super) salt: Salt,
    /// The start of the window, unless it is an hour before the newest instant.
    pub(super) since: Option<Timestamp>,
    /// The stored set, if not all of it fits into the cursor.
    pub(super) stored: Option<StoredSet>,
    recent: BTreeSet<Fingerprint>,
}

/// What was shown within the window: the cursor and the stored set together.
#[derive(Debug, Clone)]
pub struct SeenSet {
    salt: Salt,
    newest: Timestamp,
    /// `None` if the stored set is gone.
    fingerprints: Option<HashSet<Fingerprint>>,
    /// True if the stored set has to be written again before it expires.
    is_old: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    pub bytes: &'a [u8],
    /// True if it has to be written again before it expires.
    pub is_old: bool,
}

/// A set to be stored before a cursor that refers to it is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSet {
    pub(super) id: [u8; SET_ID],
    pub(super) bytes: Vec<u8>,
}

/// True if a cursor has room for the instant at which a window begins that ends with another.
pub(super) fn is_exact(newest: Timestamp, window: Timestamp) -> bool {
    window >= minutes_before(newest, EXACT)
}

fn read_all(bytes: &[u8], newest: Timestamp) -> Option<impl Iterator<Item = Fingerprint>> {
    let (fingerprints, rest) = bytes.as_chunks::<FINGERPRINT>();
    let read = move |bytes| Fingerprint::read(bytes, newest);
    rest.is_empty().then(|| fingerprints.iter().map(read))
}

impl Seen {
    /// Nothing shown up to an instant.
    pub fn until(newest: Timestamp, salt: Salt) -> Self {
        Self { newest, salt, stored: None, since: None, recent: BTreeSet::new() }
    }

    /// Only the instant, because the stored set is gone.
    #[must_use]
    pub fn forgotten(&self) -> Self {
        Self::until(self.newest, self.salt)
    }

    /// The start of the window.
    pub fn window(&self) -> Timestamp {
        self.since.unwrap_or_else(|| minutes_before(self.newest, WINDOW))
    }

    /// The number of entries of the window that were probably shown.
    pub fn count(&self) -> usize {
        self.stored.map_or(0, |stored| usize::from(stored.count)) + self.recent.len()
    }

    /// True if part of it is in the ledger.
    pub fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// All of it, given the stored set; `None` if that is gone.
    pub fn with_stored(&self, stored: Option<Stored<'_>>) -> SeenSet {
        let all = || -> Option<HashSet<_>> {
            let mut all: HashSet<_> = self.recent.iter().copied().collect();
            if self.stored.is_some() {
                let (newest, bytes) = stored?.bytes.split_first_chunk::<8>()?;
                let newest = Timestamp::from_unix_millis(i64::from_be_bytes(*newest));
                all.extend(
                    read_all(bytes, newest)?.map(|fingerprint| fingerprint.beside(self.newest)),
                );
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
        capacity: SeenCapacity,
    ) -> (Self, Option<NewSet>) {
        let newest = shown.clone().map(|key| key.published_at).fold(self.newest, Timestamp::max);
        let [usual, earliest] = [WINDOW, LONGEST].map(|minutes| minutes_before(newest, minutes));
        let window = held.map_or(usual, |held| held.clamp(earliest, usual)).max(self.window());
        let window = if window < usual { self.whole_minute(window) } else { window };
        let since = (window != usual).then_some(window);
        let mut after = Self { newest, since, ..self.forgotten() };
        let Some(known) = &set.fingerprints else {
            return (Self { stored: self.stored, ..after }, None);
        };
        let shown = shown.map(|key| Fingerprint::of(self.salt, key).beside(newest));
        let within = |window: Timestamp| {
            let first = minute(window);
            move |fingerprint: &Fingerprint| fingerprint.minute >= first
        };
        let known = known.iter().map(|fingerprint| fingerprint.beside(newest));
        let all = known.chain(shown.clone());
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
        let recent = self.recent.iter().map(|fingerprint| fingerprint.beside(newest));
        let recent = recent.chain(shown);
        let recent: BTreeSet<_> = recent.filter(within(after.window())).collect();
        if self.stored.is_some() && recent.len() <= capacity.inline && !set.is_old {
            return (Self { stored: self.stored, recent, ..after }, None);
        }
        // The count never overflows: the item would be too large.
        let count = u16::try_from(all.len()).unwrap_or(u16::MAX);
        let new = NewSet::new(&all, newest);
        (Self { stored: Some(StoredSet { id: new.id, count }), ..after }, Some(new))
    }

    /// The whole minute with which a window begins that is held from an instant on. All that was shown in the minute of the instant is
    /// known, unless this window is shorter than an hour because there was no room for more: then it is the next minute.
    fn whole_minute(&self, window: Timestamp) -> Timestamp {
        let begun = start_of(minute(window));
        let is_short = self.window() > minutes_before(self.newest, WINDOW);
        if is_short && begun < window { start_of(minute(window) + 1) } else { begun }
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
    /// True if an activity was shown, or counts as shown because the stored set is gone.
    pub fn holds(&self, key: &SortKey) -> bool {
        match &self.fingerprints {
            Some(all) => all.contains(&Fingerprint::of(self.salt, key).beside(self.newest)),
            None => key.published_at <= self.newest,
        }
    }

    /// The instant up to which everything counts as shown, because the stored set is gone.
    pub fn lost_until(&self) -> Option<Timestamp> {
        self.fingerprints.is_none().then_some(self.newest)
    }
}

impl NewSet {
    fn new(all: &BTreeSet<Fingerprint>, newest: Timestamp) -> Self {
        let mut bytes = newest.unix_millis().to_be_bytes().to_vec();
        bytes.extend(all.iter().flat_map(|fingerprint| fingerprint.bytes(newest)));
        Self { id: first(digest(&SHA256, &bytes).as_ref()), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::values::ActivityId;
    use proptest::prelude::*;

    fn key(at: i64, id: u32) -> SortKey {
        let activity_id = ActivityId::new(id.to_string()).expect("an id");
        SortKey { published_at: Timestamp::from_unix_millis(at), activity_id }
    }

    fn salt() -> Salt {
        [7; SALT]
    }

    const CAPACITY: SeenCapacity = SeenCapacity { inline: INLINE, most: MOST };

    /// What a client does: it shows some, in steps, and keeps the latest of what it was given.
    fn shown_in_steps(steps: &[Vec<SortKey>], capacity: SeenCapacity) -> (Seen, SeenSet) {
        let steps: Vec<_> = steps.iter().map(|step| (step.clone(), None)).collect();
        shown_and_held(&steps, capacity)
    }

    /// The same with a window that steps hold.
    fn shown_and_held(
        steps: &[(Vec<SortKey>, Option<Timestamp>)],
        capacity: SeenCapacity,
    ) -> (Seen, SeenSet) {
        let first = steps.iter().flat_map(|(step, _)| step).map(|key| key.published_at).next();
        let mut seen = Seen::until(first.unwrap_or(Timestamp::LAST), salt());
        let mut set = seen.with_stored(None);
        let mut stored: Option<NewSet> = None;
        for (step, held) in steps {
            let (after, new) = seen.and(&set, step.iter(), *held, capacity);
            let room = capacity.inline;
            assert!(after.recent.len() <= room && after.recent().count() <= room);
            assert!(
                minute(after.window()) >= minute(seen.window()),
                "the window only moves forward"
            );
            stored = new.or(stored).filter(|_| after.is_stored());
            let bytes = stored.as_ref().map(|new| Stored { bytes: &new.bytes, is_old: false });
            (set, seen) = (after.with_stored(bytes), after);
        }
        (seen, set)
    }

    proptest! {
        /// All that was shown within the window is remembered, and nothing else, however it is kept. Where the window is
        /// shorter than an hour, as many were shown after its start as are remembered.
        #[test]
        fn remembers_what_was_shown_within_the_window(
            steps in proptest::collection::vec(
                (
                    proptest::collection::vec((0_i64..40_000_000, 0_u32..50), 0..30),
                    proptest::option::of(0_i64..40_000_000),
                ),
                1..8,
            ),
            inline in 0_usize..40,
            most in prop_oneof![Just(MOST), 1_usize..60],
            crowded: bool,
        ) {
            let scale = if crowded { 50 } else { 1 };
            let steps: Vec<(Vec<_>, _)> = steps
                .into_iter()
                .map(|(step, held)| {
                    let held = held.map(|at| Timestamp::from_unix_millis(at / scale));
                    (step.into_iter().map(|(at, id)| key(at / scale, id)).collect(), held)
                })
                .collect();
            let (seen, set) = shown_and_held(&steps, SeenCapacity { inline, most });
            let steps: Vec<_> = steps.into_iter().map(|(step, _)| step).collect();
            // Whatever the way, the newest is the newest.
            if let Some(newest) = steps.iter().flatten().map(|key| key.published_at).max() {
                prop_assert_eq!(seen.newest, newest);
            }
            let all: BTreeSet<_> = steps.iter().flatten().collect();
            for shown in all.iter().filter(|key| key.published_at >= seen.window()) {
                prop_assert!(set.holds(shown), "{}", shown);
                let other = key(shown.published_at.unix_millis(), 50);
                prop_assert!(!set.holds(&other), "{}", other);
            }
            prop_assert!(seen.count() <= steps.iter().map(Vec::len).sum());
            if seen.window() > minutes_before(seen.newest, WINDOW) {
                let last = minute(seen.window().plus_millis(-1));
                let newer = all.iter().filter(|key| minute(key.published_at) >= last);
                prop_assert!(newer.count() >= most, "from {} on", seen.window());
            }
        }
    }

    #[test]
    fn a_set_that_is_gone_counts_as_all_up_to_the_newest() {
        let shown: Vec<_> = (0..30).map(|n| key(1_000 * i64::from(n), n)).collect();
        let (seen, _) = shown_in_steps(std::slice::from_ref(&shown), CAPACITY);
        assert!(seen.is_stored() && seen.count() == 30);
        let set = seen.with_stored(None);
        assert_eq!(set.lost_until(), Some(seen.newest));
        assert!(set.holds(&key(29_000, 99)) && !set.holds(&key(29_001, 99)));
        for bytes in [&b""[..], &[0; 7], &[0; 9], &[0; 16]] {
            let stored = Some(Stored { bytes, is_old: false });
            assert!(seen.with_stored(stored).lost_until().is_some(), "{bytes:?}");
        }
    }

    /// Of what was shown, the earliest are forgotten, and the window begins after them.
    #[test]
    fn what_there_is_no_room_for_is_not_looked_for_again() {
        // Six hundred a minute, so all of the first minute are too many.
        let shown: Vec<_> =
            (0..MOST + 10).map(|n| key(100 * i64::try_from(n).unwrap_or(0), 0)).collect();
        let nothing = Seen::until(shown[0].published_at, salt());
        let (seen, new) = nothing.and(&nothing.with_stored(None), shown.iter(), None, CAPACITY);
        assert_eq!((seen.count(), seen.window()), (MOST - 590, shown[600].published_at));
        let stored = new.as_ref().map(|new| Stored { bytes: &new.bytes, is_old: false });
        let set = seen.with_stored(stored);
        assert!(!set.holds(&shown[599]) && shown[600..].iter().all(|key| set.holds(key)));
        // An hour goes by, and there is room again.
        let later = [key(3_700_000, 0)];
        let (seen, _) = seen.and(&set, later.iter(), None, CAPACITY);
        assert_eq!((seen.since, seen.window()), (None, Timestamp::from_unix_millis(100_000)));
    }

    /// Of those that share a minute some would be shown twice if only others of them were remembered.
    #[test]
    fn what_shares_a_minute_is_forgotten_together() {
        let shown: Vec<_> = (0..=MOST).map(|n| key(60, u32::try_from(n).unwrap_or(0))).collect();
        for (count, left) in [(MOST, MOST), (MOST + 1, 0)] {
            let nothing = Seen::until(Timestamp::from_unix_millis(60), salt());
            let shown = shown[..count].iter();
            let (seen, _) = nothing.and(&nothing.with_stored(None), shown, None, CAPACITY);
            assert_eq!(seen.count(), left);
            let next = Timestamp::from_unix_millis(61);
            assert_eq!(seen.window() == next, left == 0, "{}", seen.window());
        }
    }

    /// While a walk holds it, the window stays, whatever is shown, and moves on afterwards.
    #[test]
    fn a_window_is_held() {
        let at = |minute: i64| key(60_000 * minute, 0);
        let begin = |seen: &Seen| seen.window().unix_millis() / 60_000;
        let first = Seen::until(at(600).published_at, salt());
        let (mut seen, mut set) = (first.clone(), first.with_stored(None));
        // What was shown, where the window is held, and where it begins then.
        for (shown, held, window) in [
            (600, None, 540),
            (610, Some(580), 550),
            (700, Some(550), 550),
            (790, Some(550), 550),
            (791, Some(550), 550),
            (806, Some(550), 550),
            (20_000, Some(550), 550),
            (20_010, None, 19_950),
            (20_300, Some(19_950), 19_950),
            (20_300, Some(20_300), 20_240),
        ] {
            let held = held.map(|minute| at(minute).published_at);
            (seen, _) = seen.and(&set, [at(shown)].iter(), held, CAPACITY);
            set = seen.with_stored(None);
            assert_eq!(begin(&seen), window, "{shown}, held at {held:?}");
            for known in [700, 20_010] {
                let was_shown = seen.newest >= at(known).published_at;
                assert_eq!(set.holds(&at(known)), was_shown && window <= known, "{known}");
            }
            assert!(!set.holds(&key(60_000 * 700, 1)));
        }
    }

    #[test]
    fn an_old_set_is_stored_again() {
        let shown: Vec<_> = (0..30).map(|n| key(1_000, n)).collect();
        let nothing = Seen::until(Timestamp::from_unix_millis(1_000), salt());
        let (seen, new) = nothing.and(&nothing.with_stored(None), shown.iter(), None, CAPACITY);
        let new = new.expect("more than fit");
        for is_old in [false, true] {
            let set = seen.with_stored(Some(Stored { bytes: &new.bytes, is_old }));
            let (after, again) = seen.and(&set, [].iter(), None, CAPACITY);
            assert_eq!((&after, again), (&seen, is_old.then(|| new.clone())));
        }
    }
}
