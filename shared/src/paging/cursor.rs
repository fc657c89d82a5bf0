//! Cursors: a sealed position in a list.
//!
//! A cursor carries all that the next page needs (direction, range, position, and [what was shown](super::seen)
//! so far), so that no parameter can contradict it. It is
//!
//! * **opaque**: base64url of bytes that callers must not rely on;
//! * **versioned**: the first byte. Another version is refused, never guessed at;
//! * **sealed**: an HMAC-SHA-256 over the bytes *and the list's name*, truncated to 128 bits. A cursor
//!   that was cut, flipped, forged or given for another list fails alike;
//! * **short**: at most [`MAX_CURSOR_LENGTH`] characters, for it travels in a query string.
//!
//! Two secrets are valid at a time ([`crate::crypto::seal`]).
//!
//! The position is a key and not an offset, so it stays right whatever is written, deleted or expires,
//! the very entry it names included.

mod encoding;

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::List;
use super::fingerprint::{FINGERPRINT, Salt};
use super::seen::{Capacity, INLINE, MOST, Seen};
use crate::crypto::seal::{SEAL_LENGTH, Seal, Secrets};
use crate::values::{Order, SortKey, Timestamp};
use encoding::{FILTERED, ROOM_FOR_FILTER, SHORTER, VERSION, decode, encode};

/// The longest cursor, in characters.
pub const MAX_CURSOR_LENGTH: usize = 512;
/// The longest filter that a cursor has room for, in bytes.
pub const MAX_FILTER_BYTES: usize = 160;

const PURPOSE: &str = "nagare cursor";
const SALTS: &str = "nagare cursor salt";

/// Keeps activities with `from` ≤ `published_at` < `to`, where they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// The first instant that is kept.
    pub from: Option<Timestamp>,
    /// The first instant that is not.
    pub to: Option<Timestamp>,
}

/// Where a client of [`Position::Newer`] has not looked, and will not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Floor {
    /// The last activity of a page of the newest: what lies below is on the pages after it.
    After(SortKey),
    /// An instant before which nobody knows any more what was shown.
    From(Timestamp),
}

/// Where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// With a page in an order.
    Page {
        /// The direction to go on in.
        order: Order,
        /// The last activity that was given out; the page begins beyond it. None: begin at the end.
        after: Option<SortKey>,
    },
    /// With what became visible since.
    Newer {
        /// What is not looked at, if it reaches into the window.
        floor: Option<Floor>,
    },
}

impl Default for Position {
    fn default() -> Self {
        Self::Page { order: Order::default(), after: None }
    }
}

/// A position in a list, and the way to go on from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The range that was asked for at the start.
    pub range: Range,
    /// Where to go on.
    pub position: Position,
    /// What was shown since the start, if anything was.
    pub seen: Option<Seen>,
    /// Whether activities are shown with their likes.
    pub likes: bool,
    /// What of the list is shown, as the list itself writes it: empty for all, at most [`MAX_FILTER_BYTES`].
    pub filter: Vec<u8>,
}

/// Why a text is not a cursor of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Of a version this function does not speak.
    #[error("the cursor is of another version; start again without one")]
    Version,
    /// Damaged, forged, or of another list.
    #[error("the cursor is damaged or belongs to another list or viewer; start again without one")]
    Damaged,
}

/// Seals cursors and opens them.
#[derive(Debug, Clone)]
pub struct CursorSeal {
    seal: Seal,
    salts: Seal,
    capacity: Capacity,
}

impl CursorSeal {
    /// A seal made of secrets that all readers share.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        let [seal, salts] = [PURPOSE, SALTS].map(|purpose| Seal::new(purpose, secrets));
        Self { seal, salts, capacity: Capacity { inline: INLINE, most: MOST } }
    }

    /// The same for cursors that hold fewer fingerprints, so that tests need not show so much.
    #[must_use]
    pub fn holding(self, inline: usize) -> Self {
        let inline = inline.min(INLINE);
        Self { capacity: Capacity { inline, ..self.capacity }, ..self }
    }

    /// The same for clients of whom fewer fingerprints are remembered, likewise.
    #[must_use]
    pub fn remembering(self, most: usize) -> Self {
        let most = most.min(MOST);
        Self { capacity: Capacity { most, ..self.capacity }, ..self }
    }

    /// How many fingerprints there is room for, in a cursor beside a filter and in all.
    #[must_use]
    pub fn capacity(&self, filter: &[u8]) -> Capacity {
        let taken = filter.len().saturating_sub(ROOM_FOR_FILTER).div_ceil(FINGERPRINT);
        let inline = self.capacity.inline.min(INLINE.saturating_sub(taken));
        Capacity { inline, ..self.capacity }
    }

    /// What the fingerprints of a list's cursors are keyed with from the first page on.
    #[must_use]
    pub fn salt(&self, list: &List) -> Salt {
        let salt = self.salts.of(&[list.name().as_bytes()]);
        std::array::from_fn(|index| salt[index])
    }

    /// The text to give to a client of this list.
    #[must_use]
    pub fn seal(&self, list: &List, cursor: &Cursor) -> String {
        self.seal_for(list.name(), encode(cursor))
    }

    /// Reads what [`seal`](Self::seal) made for the same list.
    ///
    /// # Errors
    /// [`CursorError`] for anything else.
    pub fn open(&self, list: &List, text: &str) -> Result<Cursor, CursorError> {
        let body = self.open_for(list.name(), text)?;
        decode(&body, list.lookback())
            .filter(|cursor| encode(cursor) == body)
            .ok_or(CursorError::Damaged)
    }

    /// The text of a position in another list, which names the list and whose it is: a viewer's or an actor's. No other
    /// opens it.
    #[must_use]
    pub fn seal_in(&self, list: &str, whose: &impl Display, position: &[u8]) -> String {
        self.seal_for(&in_list(list, whose), [&[VERSION], position].concat())
    }

    /// Reads the position that [`seal_in`](Self::seal_in) sealed for the same list.
    ///
    /// # Errors
    /// [`CursorError`] for anything else.
    pub fn open_in(
        &self,
        list: &str,
        whose: &impl Display,
        text: &str,
    ) -> Result<Vec<u8>, CursorError> {
        self.open_for(&in_list(list, whose), text).map(|body| body[1..].to_vec())
    }

    fn seal_for(&self, list: &str, mut bytes: Vec<u8>) -> String {
        let seal = self.seal.of(&sealed(list, &bytes));
        bytes.extend_from_slice(&seal);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// What was sealed; its first byte is the version.
    fn open_for(&self, list: &str, text: &str) -> Result<Vec<u8>, CursorError> {
        if text.len() > MAX_CURSOR_LENGTH {
            return Err(CursorError::Damaged);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Damaged)?;
        match bytes.first() {
            Some(version) if matches!(version & !SHORTER, VERSION | FILTERED) => {}
            Some(_) => return Err(CursorError::Version),
            None => return Err(CursorError::Damaged),
        }
        let (body, seal) = bytes.split_last_chunk::<SEAL_LENGTH>().ok_or(CursorError::Damaged)?;
        if !self.seal.fits(&sealed(list, body), seal) {
            return Err(CursorError::Damaged);
        }
        Ok(body.to_vec())
    }
}

/// No name contains a zero byte, so a list and what follows it cannot run into each other. A timeline is named by its
/// viewer.
fn sealed<'a>(list: &'a str, body: &'a [u8]) -> [&'a [u8]; 3] {
    [list.as_bytes(), b"\0", body]
}

/// The name of another list. No id contains `#`, so it is no timeline's.
fn in_list(list: &str, whose: &impl Display) -> String {
    format!("{list}#{whose}")
}

#[cfg(test)]
mod tests {
    use super::super::fingerprint::Lookback;
    use super::super::seen::Stored;
    use super::encoding::{HAS_FROM, HAS_KEY, HAS_SET};
    use super::*;
    use crate::values::{ActivityId, ViewerId};
    use proptest::prelude::*;

    fn seal() -> CursorSeal {
        CursorSeal::new(&Secrets::new(b"a secret of thirty-two bytes ....").expect("long enough"))
    }

    fn viewer(id: &str) -> ViewerId {
        ViewerId::new(id).expect("an id")
    }

    fn list(id: &str) -> List {
        List::timeline(&viewer(id))
    }

    fn instants() -> impl Strategy<Value = Timestamp> {
        (0_i64..4_000_000_000_000).prop_map(Timestamp::from_unix_millis)
    }

    fn keys() -> impl Strategy<Value = SortKey> {
        (instants(), "[A-Za-z0-9._:@-]{1,128}").prop_map(|(published_at, id)| SortKey {
            published_at,
            activity_id: ActivityId::new(id).expect("an id"),
        })
    }

    /// What was seen, up to more than a cursor holds.
    fn seen() -> impl Strategy<Value = Seen> {
        let ids = proptest::collection::vec((0_i64..4_000_000, 0_u32..9999), 0..60);
        let most = prop_oneof![Just(MOST), 1_usize..60];
        (instants(), any::<Salt>(), ids, any::<bool>(), most).prop_map(
            |(newest, salt, ids, again, most)| {
                let keys: Vec<_> = ids
                    .into_iter()
                    .map(|(ago, id)| SortKey {
                        published_at: newest.plus_millis(-ago),
                        activity_id: ActivityId::new(id.to_string()).expect("an id"),
                    })
                    .collect();
                let nothing = Seen::until(Lookback::Hour, newest, salt);
                let capacity = Capacity { inline: INLINE, most };
                let (seen, new) = nothing.and(&nothing.with_stored(None), keys.iter(), capacity);
                let stored = new.as_ref().map(|new| Stored { bytes: &new.bytes, is_old: false });
                let shown = if again { &keys[..keys.len().min(INLINE)] } else { &[] };
                seen.and(&seen.with_stored(stored), shown.iter(), capacity).0
            },
        )
    }

    fn cursors() -> impl Strategy<Value = Cursor> {
        use proptest::option::of;
        let position = prop_oneof![
            (any::<bool>(), of(keys())).prop_map(|(oldest, after)| Position::Page {
                order: if oldest { Order::Oldest } else { Order::Newest },
                after,
            }),
            of(keys()).prop_map(|key| Position::Newer { floor: key.map(Floor::After) }),
            instants().prop_map(|at| Position::Newer { floor: Some(Floor::From(at)) }),
        ];
        let filter = proptest::collection::vec(any::<u8>(), 0..=MAX_FILTER_BYTES);
        let filter = prop_oneof![Just(Vec::new()), filter];
        (of(instants()), of(instants()), position, of(seen()), any::<bool>(), filter).prop_map(
            |(from, to, position, seen, likes, filter)| {
                // Beside the longest filter there is no room for all that was seen.
                let seen = seen.map(|seen| if filter.is_empty() { seen } else { seen.forgotten() });
                Cursor { range: Range { from, to }, position, seen, likes, filter }
            },
        )
    }

    proptest! {
        #[test]
        fn opens_what_it_sealed(cursor in cursors()) {
            let text = seal().seal(&list("bob"), &cursor);
            prop_assert!(text.len() <= MAX_CURSOR_LENGTH);
            prop_assert_eq!(seal().open(&list("bob"), &text), Ok(cursor));
        }

        #[test]
        fn a_position_is_of_one_list_and_one_viewer(position in proptest::collection::vec(any::<u8>(), 0..150)) {
            let text = seal().seal_in("likes", &viewer("bob"), &position);
            prop_assert!(text.len() <= MAX_CURSOR_LENGTH);
            prop_assert_eq!(seal().open_in("likes", &viewer("bob"), &text), Ok(position));
            prop_assert!(seal().open_in("like", &viewer("bob"), &text).is_err());
            prop_assert!(seal().open_in("likes", &viewer("eve"), &text).is_err());
            prop_assert!(seal().open(&list("bob"), &text).is_err());
        }

        #[test]
        fn refuses_other_viewers_cuts_and_flips(
            cursor in cursors(), cut in 1_usize..400, at in any::<proptest::sample::Index>(), bit in 0_u8..8,
        ) {
            let text = seal().seal(&list("bob"), &cursor);
            prop_assert!(seal().open(&list("bo"), &text).is_err());
            prop_assert!(seal().open(&list("Bob"), &text).is_err());
            prop_assert!(seal().open(&list("bob"), &text[..text.len().saturating_sub(cut)]).is_err());
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).expect("base64");
            let index = at.index(bytes.len());
            bytes[index] ^= 1 << bit;
            prop_assert!(seal().open(&list("bob"), &URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }

        #[test]
        fn two_secrets_open_and_the_first_seals(
            cursor in cursors(),
            [old, new, strange] in [any::<[u8; 32]>(), any::<[u8; 32]>(), any::<[u8; 32]>()],
        ) {
            prop_assume!(old != new && old != strange && new != strange);
            let bob = list("bob");
            let secrets = |secret: &[u8]| Secrets::new(secret).expect("long enough");
            let only = |secret: &[u8]| CursorSeal::new(&secrets(secret));
            let both = |first: &[u8], other: &[u8]| {
                CursorSeal::new(&secrets(first).also_opening(other).expect("long enough"))
            };
            // Side by side while a secret is changed: whatever one of them seals, both open.
            let (before, after) = (both(&old, &new), both(&new, &old));
            for (seal, secret) in [(&before, &old), (&after, &new)] {
                let text = seal.seal(&bob, &cursor);
                prop_assert_eq!(&text, &only(secret).seal(&bob, &cursor));
                for reader in [&before, &after] {
                    prop_assert_eq!(reader.open(&bob, &text), Ok(cursor.clone()));
                    prop_assert!(reader.open(&list("anna"), &text).is_err());
                }
                prop_assert!(both(&strange, &strange).open(&bob, &text).is_err());
            }
            // And once the old one is gone.
            let text = before.seal(&bob, &cursor);
            prop_assert_eq!(both(&new, &strange).open(&bob, &text), Err(CursorError::Damaged));
        }

        #[test]
        fn never_panics(text in "[A-Za-z0-9_-]{0,600}") {
            prop_assert!(seal().open(&list("bob"), &text).is_err());
        }
    }

    /// Nobody without the secret can make one; it would not be what was sealed.
    #[test]
    fn refuses_what_it_would_not_have_written() {
        let open = |body: &[u8]| {
            let bob = list("bob");
            let mac = seal().seal.of(&sealed(bob.name(), body));
            seal().open(&bob, &URL_SAFE_NO_PAD.encode([body, &mac].concat()))
        };
        assert_eq!(open(&[VERSION, 0]), Ok(Cursor::default()));
        let beyond_the_year_9999 = [&[VERSION, HAS_FROM][..], &i64::MAX.to_be_bytes()].concat();
        for body in
            [&[VERSION, 0, 0][..], &[VERSION, HAS_KEY], &[VERSION, HAS_SET], &beyond_the_year_9999]
        {
            assert_eq!(open(body), Err(CursorError::Damaged), "{body:?}");
        }
    }

    #[test]
    fn refuses_other_versions() {
        let text = URL_SAFE_NO_PAD.encode([1; 40]);
        assert_eq!(seal().open(&list("bob"), &text), Err(CursorError::Version));
        assert_eq!(seal().open(&list("bob"), ""), Err(CursorError::Damaged));
    }
}
