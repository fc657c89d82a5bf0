//! Cursors: a sealed position in a list.
//!
//! A cursor contains everything that the next page needs (direction, range, position, and [what was shown](super::seen)
//! so far), so that no parameter can contradict it. It is
//!
//! * **opaque**: base64url of bytes that callers must not rely on;
//! * **versioned**: the first byte. Another version is refused;
//! * **sealed**: an HMAC-SHA-256 over the bytes *and the list's name*, truncated to 128 bits. A cursor
//!   that was cut, flipped, forged or given for another list fails alike;
//! * **short**: at most [`MAX_CURSOR_LENGTH`] characters, for it travels in a query string.
//!
//! Two secrets are valid at a time ([`crate::platform::crypto::seal`]).
//!
//! The position is a key and not an offset, so it stays right whatever is written, deleted or expires,
//! even the entry that it names.

mod encoding;

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::List;
use super::fingerprint::Salt;
use super::seen::{INLINE, MOST, Seen, SeenCapacity};
use crate::platform::crypto::seal::{SEAL_LENGTH, Seal, Secrets};
use crate::platform::values::{ActivityId, Order, SortKey, Timestamp};
use encoding::{
    FILTERED, HAS_WINDOW, IN_MINUTES, VERSION, decode, encode, room_for_fingerprints, room_for_id,
};

/// The longest cursor, in characters.
pub const MAX_CURSOR_LENGTH: usize = 512;
/// The longest filter that a cursor has room for, in bytes.
pub const MAX_FILTER_BYTES: usize = 160;

const PURPOSE: &str = "nagare cursor";
const SALTS: &str = "nagare cursor salt";

/// Keeps activities with `from` ≤ `published_at` < `to`, where they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// The start of the range, included.
    pub from: Option<Timestamp>,
    /// The end of the range, excluded.
    pub to: Option<Timestamp>,
}

/// What a client of [`Position::Newer`] has not read, and will not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Floor {
    /// The last activity of a newest-first page: what lies below is on the pages after it.
    After(SortKey),
    /// An instant before which it is unknown what was shown.
    From(Timestamp),
}

/// Where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    Page {
        order: Order,
        /// The last activity that was returned; the page begins after it. `None`: it begins at the end.
        after: Option<SortKey>,
    },
    Newer {
        /// What is not read, if it reaches into the window.
        floor: Option<Floor>,
        /// While a poll that was cut is walked, the last row that was examined; the page begins after it. `None`: it begins at the
        /// window or the floor.
        after: Option<SortKey>,
    },
}

impl Position {
    /// A poll above a floor, with a filter, that continues after a row. It has as much of the row's id as a cursor has room for, at
    /// least six characters. So it may begin before the row: those rows were shown, or are hidden.
    pub fn walking(floor: Option<Floor>, row: &SortKey, filter: &[u8]) -> Self {
        let id = row.activity_id.as_str();
        let id = &id[..id.len().min(room_for_id(filter, floor.as_ref()))];
        let activity_id = ActivityId::new(id).unwrap_or_else(|_| row.activity_id.clone());
        Self::Newer { floor, after: Some(SortKey { activity_id, ..*row }) }
    }
}

impl Default for Position {
    fn default() -> Self {
        Self::Page { order: Order::default(), after: None }
    }
}

/// A position in a list, and how to continue from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The range of the first request.
    pub range: Range,
    pub position: Position,
    /// What was shown since the first request, if anything was.
    pub seen: Option<Seen>,
    /// Whether activities are shown with their likes.
    pub likes: bool,
    /// The filter, as the list itself writes it: empty for everything, at most [`MAX_FILTER_BYTES`].
    pub filter: Vec<u8>,
}

/// Why a text is not a cursor of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// The version is unknown.
    #[error("the cursor is of another version; start again without one")]
    Version,
    #[error("the cursor is damaged or belongs to another list or viewer; start again without one")]
    Damaged,
}

/// Seals cursors and opens them.
#[derive(Debug, Clone)]
pub struct CursorSeal {
    seal: Seal,
    salts: Seal,
    capacity: SeenCapacity,
}

impl CursorSeal {
    /// A seal with secrets that all readers share.
    pub fn new(secrets: &Secrets) -> Self {
        let [seal, salts] = [PURPOSE, SALTS].map(|purpose| Seal::new(purpose, secrets));
        Self { seal, salts, capacity: SeenCapacity { inline: INLINE, most: MOST } }
    }

    /// Lets cursors have fewer fingerprints, so that tests reach the bound with less.
    #[must_use]
    pub fn holding(self, inline: usize) -> Self {
        let inline = inline.min(INLINE);
        Self { capacity: SeenCapacity { inline, ..self.capacity }, ..self }
    }

    /// The number of fingerprints that fit: into a cursor with a filter and a position, and in all.
    pub fn capacity(&self, filter: &[u8], position: &Position) -> SeenCapacity {
        let inline = self.capacity.inline.min(room_for_fingerprints(filter, position));
        SeenCapacity { inline, ..self.capacity }
    }

    /// The salt of the fingerprints of a list, from the first page on.
    pub fn salt(&self, list: &List) -> Salt {
        let salt = self.salts.sign(&[list.name().as_bytes()]);
        std::array::from_fn(|index| salt[index])
    }

    /// The text of a cursor for this list.
    pub fn seal(&self, list: &List, cursor: &Cursor) -> String {
        self.seal_for(list.name(), encode(cursor))
    }

    /// Reads what [`seal`](Self::seal) made for the same list.
    ///
    /// # Errors
    /// [`CursorError`] for anything else.
    pub fn open(&self, list: &List, text: &str) -> Result<Cursor, CursorError> {
        let body = self.open_for(list.name(), text)?;
        decode(&body).filter(|cursor| encode(cursor) == body).ok_or(CursorError::Damaged)
    }

    /// The text of a position in another list, with the name of the list and its owner. It is only valid for that list.
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
        let seal = self.seal.sign(&sealed(list, &bytes));
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
            Some(version) if matches!(version & !(HAS_WINDOW | IN_MINUTES), VERSION | FILTERED) => {
            }
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

/// No name contains a zero byte, so the name of a list and what follows it are unambiguous. A timeline has the name of its viewer.
fn sealed<'a>(list: &'a str, body: &'a [u8]) -> [&'a [u8]; 3] {
    [list.as_bytes(), b"\0", body]
}

/// The name of another list. No id contains `#`, so it is no timeline's.
fn in_list(list: &str, whose: &impl Display) -> String {
    format!("{list}#{whose}")
}

#[cfg(test)]
mod tests;
