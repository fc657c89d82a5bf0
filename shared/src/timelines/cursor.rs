//! Cursors: a sealed position in one viewer's timeline.
//!
//! A cursor carries all that the next page needs (direction, range, position, and the newest activity
//! seen so far), so that nothing is kept on the server and no parameter can contradict it. It is
//!
//! * **opaque**: base64url of bytes that callers must not rely on;
//! * **versioned**: the first byte. Another version is refused, never guessed at;
//! * **sealed**: an HMAC-SHA-256 over the bytes *and the viewer's id*, truncated to 128 bits. A cursor
//!   that was cut, flipped, forged or given to another viewer fails alike;
//! * **short**: at most [`MAX_CURSOR_LENGTH`] characters, for it travels in a query string.
//!
//! Two secrets are valid at a time ([`crate::crypto::seal`]).
//!
//! The position is a key and not an offset, so it stays right whatever is written, deleted or expires,
//! the very entry it names included.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::crypto::seal::{SEAL_LENGTH, Seal, Secrets};
use crate::values::{ActivityId, MAX_ID_LENGTH, SortKey, Timestamp, ViewerId};

/// The longest cursor, in characters.
pub const MAX_CURSOR_LENGTH: usize = 512;

const VERSION: u8 = 1;
const PURPOSE: &str = "nagare cursor";

/// Which end of the timeline comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The latest activity first.
    #[default]
    Newest,
    /// The earliest activity first.
    Oldest,
}

/// Keeps activities with `from` ≤ `published_at` < `to`, where they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// The first instant that is kept.
    pub from: Option<Timestamp>,
    /// The first instant that is not.
    pub to: Option<Timestamp>,
}

/// A position in a timeline, and the way to go on from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The direction to go on in.
    pub order: Order,
    /// The range that was asked for at the start.
    pub range: Range,
    /// The last activity that was given out; the page begins beyond it. None: begin at the end.
    pub after: Option<SortKey>,
    /// The newest activity seen since the start, for `newer_cursor`.
    pub newest: Option<SortKey>,
}

/// Why a text is not a cursor of this viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Of a version this function does not speak.
    #[error("the cursor is of another version; start again without one")]
    Version,
    /// Damaged, forged, or another viewer's.
    #[error("the cursor is damaged or belongs to another viewer; start again without one")]
    Damaged,
}

/// Seals cursors and opens them.
#[derive(Debug, Clone)]
pub struct CursorSeal(Seal);

impl CursorSeal {
    /// A seal made of secrets that all readers share.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        Self(Seal::new(PURPOSE, secrets))
    }

    /// The text to give to this viewer.
    #[must_use]
    pub fn seal(&self, viewer: &ViewerId, cursor: &Cursor) -> String {
        let mut bytes = encode(cursor);
        let seal = self.0.of(&sealed(viewer, &bytes));
        bytes.extend_from_slice(&seal);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads what [`seal`](Self::seal) made for the same viewer.
    ///
    /// # Errors
    /// [`CursorError`] for anything else.
    pub fn open(&self, viewer: &ViewerId, text: &str) -> Result<Cursor, CursorError> {
        if text.len() > MAX_CURSOR_LENGTH {
            return Err(CursorError::Damaged);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Damaged)?;
        match bytes.first() {
            Some(&VERSION) => {}
            Some(_) => return Err(CursorError::Version),
            None => return Err(CursorError::Damaged),
        }
        let (body, seal) = bytes.split_last_chunk::<SEAL_LENGTH>().ok_or(CursorError::Damaged)?;
        if !self.0.fits(&sealed(viewer, body), seal) {
            return Err(CursorError::Damaged);
        }
        decode(body).ok_or(CursorError::Damaged)
    }
}

/// No id contains a zero byte, so viewer and body cannot run into each other.
fn sealed<'a>(viewer: &'a ViewerId, body: &'a [u8]) -> [&'a [u8]; 3] {
    [viewer.as_str().as_bytes(), b"\0", body]
}

const OLDEST_FIRST: u8 = 1;
const HAS_FROM: u8 = 2;
const HAS_TO: u8 = 4;
const HAS_AFTER: u8 = 8;
const HAS_NEWEST: u8 = 16;
const FLAGS: u8 = OLDEST_FIRST | HAS_FROM | HAS_TO | HAS_AFTER | HAS_NEWEST;

fn encode(cursor: &Cursor) -> Vec<u8> {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let flags = flag(cursor.order == Order::Oldest, OLDEST_FIRST)
        | flag(cursor.range.from.is_some(), HAS_FROM)
        | flag(cursor.range.to.is_some(), HAS_TO)
        | flag(cursor.after.is_some(), HAS_AFTER)
        | flag(cursor.newest.is_some(), HAS_NEWEST);
    let mut bytes = vec![VERSION, flags];
    for instant in [cursor.range.from, cursor.range.to].into_iter().flatten() {
        bytes.extend_from_slice(&instant.unix_millis().to_be_bytes());
    }
    for key in [&cursor.after, &cursor.newest].into_iter().flatten() {
        let id = key.activity_id.as_str().as_bytes();
        bytes.extend_from_slice(&key.published_at.unix_millis().to_be_bytes());
        bytes.push(u8::try_from(id.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(id);
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Cursor> {
    let (&[_, flags], mut rest) = bytes.split_first_chunk::<2>()?;
    if flags & !FLAGS != 0 {
        return None;
    }
    let rest = &mut rest;
    let has = |flag: u8| flags & flag != 0;
    let order = if has(OLDEST_FIRST) { Order::Oldest } else { Order::Newest };
    let from = if has(HAS_FROM) { Some(take_instant(rest)?) } else { None };
    let to = if has(HAS_TO) { Some(take_instant(rest)?) } else { None };
    let after = if has(HAS_AFTER) { Some(take_key(rest)?) } else { None };
    let newest = if has(HAS_NEWEST) { Some(take_key(rest)?) } else { None };
    let range = Range { from, to };
    rest.is_empty().then_some(Cursor { order, range, after, newest })
}

fn take_instant(rest: &mut &[u8]) -> Option<Timestamp> {
    let (bytes, tail) = rest.split_first_chunk::<8>()?;
    *rest = tail;
    let millis = i64::from_be_bytes(*bytes);
    Some(Timestamp::from_unix_millis(millis)).filter(|at| at.unix_millis() == millis)
}

fn take_key(rest: &mut &[u8]) -> Option<SortKey> {
    let published_at = take_instant(rest)?;
    let (&length, tail) = rest.split_first()?;
    let (id, tail) = tail.split_at_checked(usize::from(length))?;
    *rest = tail;
    let activity_id = ActivityId::new(std::str::from_utf8(id).ok()?).ok()?;
    Some(SortKey { published_at, activity_id })
}

// The longest cursor there can be: flags, two instants, two keys, the seal, in base64.
const _: () = assert!(
    (2 + 2 * 8 + 2 * (8 + 1 + MAX_ID_LENGTH) + SEAL_LENGTH).div_ceil(3) * 4 <= MAX_CURSOR_LENGTH
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seal() -> CursorSeal {
        CursorSeal::new(&Secrets::new(b"a secret of thirty-two bytes ....").expect("long enough"))
    }

    fn viewer(id: &str) -> ViewerId {
        ViewerId::new(id).expect("an id")
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

    fn cursors() -> impl Strategy<Value = Cursor> {
        use proptest::option::of;
        (any::<bool>(), of(instants()), of(instants()), of(keys()), of(keys())).prop_map(
            |(oldest, from, to, after, newest)| Cursor {
                order: if oldest { Order::Oldest } else { Order::Newest },
                range: Range { from, to },
                after,
                newest,
            },
        )
    }

    proptest! {
        #[test]
        fn opens_what_it_sealed(cursor in cursors()) {
            let text = seal().seal(&viewer("bob"), &cursor);
            prop_assert!(text.len() <= MAX_CURSOR_LENGTH);
            prop_assert_eq!(seal().open(&viewer("bob"), &text), Ok(cursor));
        }

        #[test]
        fn refuses_other_viewers_cuts_and_flips(
            cursor in cursors(), cut in 1_usize..400, at in any::<proptest::sample::Index>(), bit in 0_u8..8,
        ) {
            let text = seal().seal(&viewer("bob"), &cursor);
            prop_assert!(seal().open(&viewer("bo"), &text).is_err());
            prop_assert!(seal().open(&viewer("Bob"), &text).is_err());
            prop_assert!(seal().open(&viewer("bob"), &text[..text.len().saturating_sub(cut)]).is_err());
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).expect("base64");
            let index = at.index(bytes.len());
            bytes[index] ^= 1 << bit;
            prop_assert!(seal().open(&viewer("bob"), &URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }

        #[test]
        fn two_secrets_open_and_the_first_seals(
            cursor in cursors(),
            [old, new, strange] in [any::<[u8; 32]>(), any::<[u8; 32]>(), any::<[u8; 32]>()],
        ) {
            prop_assume!(old != new && old != strange && new != strange);
            let bob = viewer("bob");
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
                    prop_assert!(reader.open(&viewer("anna"), &text).is_err());
                }
                prop_assert!(both(&strange, &strange).open(&bob, &text).is_err());
            }
            // And once the old one is gone.
            let text = before.seal(&bob, &cursor);
            prop_assert_eq!(both(&new, &strange).open(&bob, &text), Err(CursorError::Damaged));
        }

        #[test]
        fn never_panics(text in "[A-Za-z0-9_-]{0,600}") {
            prop_assert!(seal().open(&viewer("bob"), &text).is_err());
        }
    }

    /// Nobody without the secret can make one; it would not be what was sealed.
    #[test]
    fn refuses_what_it_would_not_have_written() {
        let open = |body: &[u8]| {
            let bob = viewer("bob");
            let mac = seal().0.of(&sealed(&bob, body));
            seal().open(&bob, &URL_SAFE_NO_PAD.encode([body, &mac].concat()))
        };
        assert_eq!(open(&[VERSION, 0]), Ok(Cursor::default()));
        let beyond_the_year_9999 = [&[VERSION, HAS_FROM][..], &i64::MAX.to_be_bytes()].concat();
        for body in
            [&[VERSION, 32][..], &[VERSION, 0, 0], &[VERSION, HAS_AFTER], &beyond_the_year_9999]
        {
            assert_eq!(open(body), Err(CursorError::Damaged), "{body:?}");
        }
    }

    #[test]
    fn refuses_other_versions() {
        let text = URL_SAFE_NO_PAD.encode([2; 40]);
        assert_eq!(seal().open(&viewer("bob"), &text), Err(CursorError::Version));
        assert_eq!(seal().open(&viewer("bob"), ""), Err(CursorError::Damaged));
    }
}
