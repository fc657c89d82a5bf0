//! The answer and the cursors of lists that are paged by a `cursor` alone.

use std::fmt::Display;

use serde::Serialize;
use shared::paging::CursorError;

use super::problem::Problem;
use super::response::Answer;
use crate::Context;

#[derive(Serialize)]
struct Body<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

/// The answer with a page of these items.
pub(crate) fn answer<T: Serialize>(
    items: Vec<T>,
    next_cursor: Option<String>,
) -> Result<Answer, Problem> {
    let shown = items.len();
    Ok(Answer { body: serde_json::to_string(&Body { items, next_cursor })?, items: shown })
}

/// Opens a cursor of a list, and reads the position in it. `read` returns `None` for bytes that are no position of the list.
pub(crate) fn open<T>(
    cx: &Context<'_>,
    list: &str,
    whose: &impl Display,
    cursor: &str,
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T, Problem> {
    let opened = cx.reader.seal.open_in(list, whose, cursor);
    let opened = opened.and_then(|position| read(&position).ok_or(CursorError::Damaged));
    opened.map_err(|e| Problem::invalid("cursor", e.to_string()))
}

/// Reads a position that consists of text.
pub(crate) fn text(position: &[u8]) -> Option<&str> {
    std::str::from_utf8(position).ok()
}
