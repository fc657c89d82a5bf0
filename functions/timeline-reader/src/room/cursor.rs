//! The cursors of rooms: where a page continues, or up to where arrivals were read.
//!
//! A cursor does not say who may read, so every page checks that again.

use shared::platform::paging::{CursorError, Range};
use shared::platform::values::{Order, RoomId, SortKey, Timestamp, ViewerId};
use shared::social::rooms::ArrivalPosition;

use crate::reader::Context;
use function_http::Problem;
use function_http::page::{from, order, to};
use function_http::reader::query::Parameters;

/// What a cursor of a room is sealed for.
const LIST: &str = "messages";

const OLDEST_FIRST: u8 = 1;
const HAS_FROM: u8 = 2;
const HAS_TO: u8 = 4;
const HAS_KEY: u8 = 8;
const HAS_PLACE: u8 = 16;
const IS_NEWER: u8 = 32;

/// A position in a room, and which of its messages are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) range: Range,
    pub(super) author: Option<ViewerId>,
    pub(super) position: Position,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Position {
    /// A page in the order of `at`.
    Page {
        order: Order,
        after: Option<SortKey>,
        /// The last arrival when the walk began.
        since: Option<ArrivalPosition>,
    },
    /// What has arrived after a position.
    Newer(ArrivalPosition),
}

impl Cursor {
    /// The cursor of a request; the start of a list is a cursor too.
    pub(super) fn parse(
        cx: &Context<'_>,
        parameters: &Parameters<'_>,
        room: &RoomId,
    ) -> Result<Self, Problem> {
        let invalid = |error: CursorError| Problem::invalid("cursor", error.to_string());
        if let Some(text) = parameters.get("cursor") {
            parameters.without("cursor", &["order", "from", "to", super::AUTHOR])?;
            let bytes = cx.requests().seal.open_in(LIST, room, text).map_err(invalid)?;
            let read = Self::decode(&bytes).filter(|cursor| cursor.encode() == bytes);
            return read.ok_or_else(|| invalid(CursorError::Damaged));
        }
        let author =
            |text| ViewerId::new(text).map_err(|e| Problem::of_query(super::AUTHOR, text, &e));
        let order = parameters.get("order").map_or(Ok(Order::Newest), order)?;
        Ok(Self {
            range: Range {
                from: parameters.get("from").map(from).transpose()?,
                to: parameters.get("to").map(to).transpose()?,
            },
            author: parameters.get(super::AUTHOR).map(author).transpose()?,
            position: Position::Page { order, after: None, since: None },
        })
    }

    /// The text of a cursor for the same messages.
    pub(super) fn seal(&self, cx: &Context<'_>, room: &RoomId, position: Position) -> String {
        let cursor = Self { position, ..self.clone() };
        cx.requests().seal.seal_in(LIST, room, &cursor.encode())
    }

    /// Flags, range, position, key, author, as far as present.
    fn encode(&self) -> Vec<u8> {
        let (mut flags, mut bytes) = (0, Vec::new());
        let mut put = |flag: u8, value: [u8; 8]| {
            flags |= flag;
            bytes.extend(value);
        };
        let Range { from, to } = self.range;
        from.iter().for_each(|it| put(HAS_FROM, it.unix_millis().to_be_bytes()));
        to.iter().for_each(|it| put(HAS_TO, it.unix_millis().to_be_bytes()));
        let key = match &self.position {
            Position::Newer(ArrivalPosition(position)) => {
                put(HAS_PLACE | IS_NEWER, position.to_be_bytes());
                None
            }
            Position::Page { order, after, since } => {
                since
                    .iter()
                    .for_each(|ArrivalPosition(position)| put(HAS_PLACE, position.to_be_bytes()));
                flags |= if *order == Order::Oldest { OLDEST_FIRST } else { 0 };
                after.as_ref()
            }
        };
        if let Some(key) = key {
            let key = key.to_string();
            flags |= HAS_KEY;
            // An instant and an id: less than two hundred.
            bytes.push(u8::try_from(key.len()).unwrap_or(u8::MAX));
            bytes.extend(key.as_bytes());
        }
        bytes.extend(self.author.iter().flat_map(|author| author.as_str().as_bytes()));
        bytes.insert(0, flags);
        bytes
    }

    /// Takes whatever [`encode`](Self::encode) can have made, and more.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (flags, mut rest) = bytes.split_first()?;
        let has = |flag: u8| flags & flag != 0;
        let mut take = |flag: u8| -> Option<Option<[u8; 8]>> {
            if !has(flag) {
                return Some(None);
            }
            let (value, tail) = rest.split_first_chunk()?;
            rest = tail;
            Some(Some(*value))
        };
        let instant = |bytes| Timestamp::from_unix_millis(i64::from_be_bytes(bytes));
        let (from, to) = (take(HAS_FROM)?.map(instant), take(HAS_TO)?.map(instant));
        let position = take(HAS_PLACE)?.map(|bytes| ArrivalPosition(u64::from_be_bytes(bytes)));
        let after = match has(HAS_KEY) {
            true => {
                let (length, tail) = rest.split_first()?;
                let (key, tail) = tail.split_at_checked(usize::from(*length))?;
                rest = tail;
                Some(std::str::from_utf8(key).ok()?.parse::<SortKey>().ok()?)
            }
            false => None,
        };
        let author = match rest {
            [] => None,
            id => Some(ViewerId::new(std::str::from_utf8(id).ok()?).ok()?),
        };
        let order = if has(OLDEST_FIRST) { Order::Oldest } else { Order::Newest };
        let position = match has(IS_NEWER) {
            true => Position::Newer(position?),
            false => Position::Page { order, after, since: position },
        };
        Some(Self { range: Range { from, to }, author, position })
    }
}
