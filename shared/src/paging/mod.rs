//! Paging: lists that are in the order of time, read page after page, in both directions, while they change.
//!
//! ```text
//! list         which list it is, as cursors and sets name it
//! cursor       a sealed position in a list
//! seen         what a client has been shown, so that it is shown what became visible since
//! fingerprint  what something that was shown is remembered by
//! seen_sets    what was shown, where a cursor has no room for it
//! row_chunk    rows of a list; several lists read as one
//! ```
//!
//! What is on a page, and where it comes from, is the concern of each list. Here is what all of them have in
//! common: a row stands at a [sort key](crate::values::SortKey), which never changes.

mod cursor;
mod fingerprint;
mod list;
mod row_chunk;
mod seen;
mod seen_sets;

pub use cursor::{
    Cursor, CursorError, CursorSeal, Floor, MAX_CURSOR_LENGTH, MAX_FILTER_BYTES, Position, Range,
};
pub use fingerprint::Salt;
pub use list::List;
pub use row_chunk::{RowChunk, merged};
pub use seen::{Capacity, INLINE, MOST, NewSet, Seen, SeenSet};
pub use seen_sets::{SeenSets, seen_sets};
