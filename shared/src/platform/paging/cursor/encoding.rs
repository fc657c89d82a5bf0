//! The bytes of a cursor, without its seal.

use super::super::fingerprint::{FINGERPRINT, minute, start_of};
use super::super::seen::{self, INLINE, Seen, StoredSet, is_exact};
use super::{Cursor, Floor, MAX_CURSOR_LENGTH, MAX_FILTER_BYTES, Position, Range};
use crate::platform::crypto::seal::SEAL_LENGTH;
use crate::platform::values::{ActivityId, MAX_ID_LENGTH, Order, SortKey, Timestamp};

/// The first byte.
pub(super) const VERSION: u8 = 2;
/// The first byte of a cursor with a filter, whose length and bytes follow.
pub(super) const FILTERED: u8 = 3;
/// Set in the first byte if what was seen says where its window begins.
pub(super) const HAS_WINDOW: u8 = 4;
/// Set beside it if that is a whole minute, and not an instant.
pub(super) const IN_MINUTES: u8 = 8;

const OLDEST_FIRST: u8 = 1;
/// Of a poll, which knows no order: the key that it continues from follows its floor.
const GOES_ON: u8 = OLDEST_FIRST;
pub(super) const HAS_FROM: u8 = 2;
const HAS_TO: u8 = 4;
pub(super) const HAS_KEY: u8 = 8;
const HAS_SEEN: u8 = 16;
pub(super) const IS_NEWER: u8 = 32;
pub(super) const HAS_SET: u8 = 64;
const HAS_LIKES: u8 = 128;

/// Version, filter, flags, range, key, what was seen: each where there is one.
pub(super) fn encode(cursor: &Cursor) -> Vec<u8> {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let mut bytes = match u8::try_from(cursor.filter.len()) {
        Ok(0) | Err(_) => vec![VERSION],
        Ok(length) => [&[FILTERED, length], cursor.filter.as_slice()].concat(),
    };
    if let Some((newest, since)) =
        cursor.seen.as_ref().and_then(|it| it.since.map(|since| (it.newest, since)))
    {
        bytes[0] |= HAS_WINDOW | flag(!is_exact(newest, since), IN_MINUTES);
    }
    let at_flags = bytes.len();
    bytes.push(0);
    let mut flags = flag(cursor.range.from.is_some(), HAS_FROM)
        | flag(cursor.range.to.is_some(), HAS_TO)
        | flag(cursor.seen.is_some(), HAS_SEEN)
        | flag(cursor.likes, HAS_LIKES);
    for instant in [cursor.range.from, cursor.range.to].into_iter().flatten() {
        put_instant(&mut bytes, instant);
    }
    match &cursor.position {
        Position::Page { order, after } => {
            flags |= flag(*order == Order::Oldest, OLDEST_FIRST) | flag(after.is_some(), HAS_KEY);
            after.iter().for_each(|key| put_sort_key(&mut bytes, key));
        }
        Position::Newer { floor, after } => {
            flags |= IS_NEWER | flag(floor.is_some(), HAS_KEY) | flag(after.is_some(), GOES_ON);
            match floor {
                Some(Floor::After(key)) => put_sort_key(&mut bytes, key),
                Some(Floor::From(instant)) => put_key(&mut bytes, *instant, ""),
                None => {}
            }
            after.iter().for_each(|key| put_sort_key(&mut bytes, key));
        }
    }
    if let Some(seen) = &cursor.seen {
        put_instant(&mut bytes, seen.newest);
        bytes.extend_from_slice(&seen.salt);
        if let Some(StoredSet { id, count }) = seen.stored {
            flags |= HAS_SET;
            bytes.extend_from_slice(&id);
            bytes.extend_from_slice(&count.to_be_bytes());
        }
        bytes.extend(seen.since.iter().flat_map(|since| put_since(seen.newest, *since)));
        bytes.extend(seen.recent().flatten());
    }
    bytes[at_flags] = flags;
    bytes
}

/// Takes whatever [`encode`] can have made, and more.
pub(super) fn decode(bytes: &[u8]) -> Option<Cursor> {
    let mut rest = bytes;
    let rest = &mut rest;
    let [version] = take(rest)?;
    let filter = match version & !(HAS_WINDOW | IN_MINUTES) {
        FILTERED => take_filter(rest)?,
        _ => Vec::new(),
    };
    let [flags] = take(rest)?;
    let has = |flag: u8| flags & flag != 0;
    let from = if has(HAS_FROM) { Some(take_instant(rest)?) } else { None };
    let to = if has(HAS_TO) { Some(take_instant(rest)?) } else { None };
    let position = if has(IS_NEWER) {
        let floor = if has(HAS_KEY) { Some(take_floor(rest)?) } else { None };
        let after = if has(GOES_ON) { Some(take_sort_key(rest)?) } else { None };
        Position::Newer { floor, after }
    } else {
        let after = if has(HAS_KEY) { Some(take_sort_key(rest)?) } else { None };
        let order = if has(OLDEST_FIRST) { Order::Oldest } else { Order::Newest };
        Position::Page { order, after }
    };
    let seen = match has(HAS_SEEN) {
        true => Some(take_seen(rest, has(HAS_SET), version)?),
        false => None,
    };
    let (range, likes) = (Range { from, to }, has(HAS_LIKES));
    rest.is_empty().then_some(Cursor { range, position, seen, likes, filter })
}

fn put_instant(bytes: &mut Vec<u8>, instant: Timestamp) {
    bytes.extend_from_slice(&instant.unix_millis().to_be_bytes());
}

fn put_sort_key(bytes: &mut Vec<u8>, key: &SortKey) {
    put_key(bytes, key.published_at, key.activity_id.as_str());
}

fn put_key(bytes: &mut Vec<u8>, at: Timestamp, id: &str) {
    put_instant(bytes, at);
    bytes.push(u8::try_from(id.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(id.as_bytes());
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*bytes)
}

fn take_filter(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let [length] = take(rest)?;
    let (filter, tail) = rest.split_at_checked(usize::from(length))?;
    *rest = tail;
    (filter.len() <= MAX_FILTER_BYTES).then(|| filter.to_vec())
}

fn take_instant(rest: &mut &[u8]) -> Option<Timestamp> {
    Some(Timestamp::from_unix_millis(i64::from_be_bytes(take(rest)?)))
}

/// An instant, and an id unless it is empty.
fn take_key(rest: &mut &[u8]) -> Option<(Timestamp, Option<ActivityId>)> {
    let at = take_instant(rest)?;
    let [length] = take(rest)?;
    let (id, tail) = rest.split_at_checked(usize::from(length))?;
    *rest = tail;
    match std::str::from_utf8(id).ok()? {
        "" => Some((at, None)),
        id => Some((at, Some(ActivityId::new(id).ok()?))),
    }
}

fn take_sort_key(rest: &mut &[u8]) -> Option<SortKey> {
    let (published_at, id) = take_key(rest)?;
    Some(SortKey { published_at, activity_id: id? })
}

fn take_floor(rest: &mut &[u8]) -> Option<Floor> {
    Some(match take_key(rest)? {
        (published_at, Some(activity_id)) => Floor::After(SortKey { published_at, activity_id }),
        (instant, None) => Floor::From(instant),
    })
}

/// How long before the instant after the newest, in milliseconds. If there is no room for that, how many minutes before the minute of
/// the newest.
fn put_since(newest: Timestamp, since: Timestamp) -> [u8; 3] {
    let ago = match is_exact(newest, since) {
        true => newest.unix_millis() + 1 - since.unix_millis(),
        false => minute(newest) - minute(since),
    };
    let [_, bytes @ ..] = u32::try_from(ago).unwrap_or(0).to_be_bytes();
    bytes
}

fn take_seen(rest: &mut &[u8], has_set: bool, version: u8) -> Option<Seen> {
    let mut seen = Seen::until(take_instant(rest)?, take(rest)?);
    if has_set {
        seen.stored = Some(StoredSet { id: take(rest)?, count: u16::from_be_bytes(take(rest)?) });
    }
    if version & HAS_WINDOW != 0 {
        let [a, b, c] = take(rest)?;
        let ago = i64::from(u32::from_be_bytes([0, a, b, c]));
        seen.since = Some(match version & IN_MINUTES {
            0 => seen.newest.plus_millis(1 - ago),
            _ => start_of(minute(seen.newest) - ago),
        });
    }
    seen.with_recent(std::mem::take(rest))
}

/// How many bytes fit, in base64.
const MOST: usize = MAX_CURSOR_LENGTH / 4 * 3;
/// All but the filter, keys and fingerprints: version, the filter's length, flags, two instants, what was seen, the seal.
const FRAME: usize = 3 + 2 * 8 + seen::FRAME + SEAL_LENGTH;
/// A key without its id.
const KEY: usize = 8 + 1;

fn room(filter: &[u8], keys: usize) -> usize {
    MOST.saturating_sub(FRAME + filter.len() + keys)
}

/// How many characters of an id there is room for, of the row that a poll continues from above a floor.
pub(super) fn room_for_id(filter: &[u8], floor: Option<&Floor>) -> usize {
    room(filter, length_of_floor(floor) + KEY).min(MAX_ID_LENGTH)
}

/// How many fingerprints there is room for.
pub(super) fn room_for_fingerprints(filter: &[u8], position: &Position) -> usize {
    let keys = match position {
        Position::Page { after, .. } => length(after.as_ref()),
        Position::Newer { floor, after } => {
            length_of_floor(floor.as_ref()) + length(after.as_ref())
        }
    };
    (room(filter, keys) / FINGERPRINT).min(INLINE)
}

fn length(key: Option<&SortKey>) -> usize {
    key.map_or(0, |key| KEY + key.activity_id.as_str().len())
}

fn length_of_floor(floor: Option<&Floor>) -> usize {
    match floor {
        Some(Floor::After(key)) => length(Some(key)),
        Some(Floor::From(_)) => KEY,
        None => 0,
    }
}

// Beside the longest id there is room for all fingerprints, and beside that and the longest filter for the beginning of
// another id.
const _: () = assert!(MOST - FRAME - KEY - MAX_ID_LENGTH == INLINE * FINGERPRINT);
const _: () = assert!(MOST - FRAME - 2 * KEY - MAX_ID_LENGTH - MAX_FILTER_BYTES >= 6);
