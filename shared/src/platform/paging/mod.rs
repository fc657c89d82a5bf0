//! Paging: lists in the order of time are read page after page, in both directions, while they change.
//!
//! ```text
//! list         the name of a list, for cursors and sets
//! cursor       a sealed position in a list
//! seen         what a client has been shown, so that polls return what became visible since
//! fingerprint  fingerprints of what was shown
//! seen_sets    stores what was shown if a cursor has no room for it
//! row_chunk    rows of a list; several lists read as one
//! ```
//!
//! Each list decides what is on a page, and where it comes from. All lists have in common that a row has a
//! [sort key](crate::platform::values::SortKey), which never changes.

mod cursor;
mod fingerprint;
mod list;
mod row_chunk;
mod seen;
pub(crate) mod seen_sets;

pub use cursor::{
    Cursor, CursorError, CursorSeal, Floor, MAX_CURSOR_LENGTH, MAX_FILTER_BYTES, Position, Range,
};
pub use fingerprint::Salt;
pub use list::List;
pub use row_chunk::{RowChunk, Slice, merged};
pub use seen::{INLINE, MOST, NewSet, Seen, SeenCapacity, SeenSet};
pub use seen_sets::{SeenSets, seen_sets};
