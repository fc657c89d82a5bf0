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
use super::fingerprint::Salt;
use super::seen::{Capacity, INLINE, MOST, Seen};
use crate::crypto::seal::{SEAL_LENGTH, Seal, Secrets};
use crate::values::{ActivityId, Order, SortKey, Timestamp};
use encoding::{FILTERED, HAS_WINDOW, VERSION, decode, encode, room_for_fingerprints, room_for_id};

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
    Page {
        order: Order,
        /// The last activity that was given out; the page begins beyond it. None: begin at the end.
        after: Option<SortKey>,
    },
    Newer {
        /// What is not looked at, if it reaches into the window.
        floor: Option<Floor>,
        /// While a poll that was cut is walked, up to where it has looked; the page begins beyond it. None: begin with what the
        /// window or the floor leaves.
        after: Option<SortKey>,
    },
}

impl Position {
    /// A poll above a floor that goes on beyond a row, beside a filter. Of the row's id it keeps as much as there is room
    /// for in a cursor, six characters at least: what it begins before the row for that was shown, or is hidden.
    #[must_use]
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

/// A position in a list, and the way to go on from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The range that was asked for at the start.
    pub range: Range,
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

    /// How many fingerprints there is room for, in a cursor beside a filter and a position and in all.
    #[must_use]
    pub fn capacity(&self, filter: &[u8], position: &Position) -> Capacity {
        let inline = self.capacity.inline.min(room_for_fingerprints(filter, position));
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
        decode(&body).filter(|cursor| encode(cursor) == body).ok_or(CursorError::Damaged)
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
            Some(version) if matches!(version & !HAS_WINDOW, VERSION | FILTERED) => {}
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
mod tests;
