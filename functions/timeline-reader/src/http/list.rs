//! Lists that are paged by `limit` and `cursor` alone.

use std::fmt::Display;
use std::str::FromStr;

use serde::Serialize;
use shared::platform::paging::CursorError;
use shared::platform::values::TenantId;

use super::problem::Problem;
use super::query::Parameters;
use super::response::Answer;
use crate::Context;
use crate::page::{DEFAULT_LIMIT, limit};

/// The `state` of what is not marked as read.
pub(crate) const UNREAD: &str = "unread";

#[derive(Serialize)]
struct Body<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

/// A list, to which its cursors are bound.
pub(crate) struct List<'a, W> {
    cx: &'a Context<'a>,
    name: &'static str,
    /// Whose list it is, or of what.
    pub(crate) whose: W,
}

impl<'a> List<'a, TenantId> {
    /// A list of the tenant in the path, whom the caller has to be allowed to read.
    pub(crate) fn of_tenant(cx: &'a Context<'a>, name: &'static str) -> Result<Self, Problem> {
        let whose = cx.path.parameter("tenant_id", TenantId::new)?;
        cx.caller.may_read_tenant(&whose)?;
        Ok(Self { cx, name, whose })
    }
}

impl<'a, W: Display> List<'a, W> {
    /// A list by its name in cursors.
    pub(crate) fn new(cx: &'a Context<'a>, name: &'static str, whose: W) -> Self {
        Self { cx, name, whose }
    }

    /// The position in the cursor that was sent, if one was, and the most items of the page. `read` returns `None` for bytes that are no
    /// position of the list.
    pub(crate) fn page<T>(
        &self,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(Option<T>, usize), Problem> {
        self.page_of(&Parameters::of(self.cx.event, &["limit", "cursor"])?, read)
    }

    /// The same, from parameters among which there are others.
    pub(crate) fn page_of<T>(
        &self,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(Option<T>, usize), Problem> {
        let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
        let open = |cursor: &str| {
            let opened = self.cx.reader.seal.open_in(self.name, &self.whose, cursor);
            let opened = opened.and_then(|position| read(&position).ok_or(CursorError::Damaged));
            opened.map_err(|e| Problem::invalid("cursor", e.to_string()))
        };
        Ok((parameters.get("cursor").map(open).transpose()?, limit))
    }

    /// The cursor with a position.
    pub(crate) fn seal(&self, position: impl AsRef<[u8]>) -> String {
        self.cx.reader.seal.seal_in(self.name, &self.whose, position.as_ref())
    }

    /// The answer with a page of these items, and a cursor with the position to continue from, if there may be more.
    pub(crate) fn answer<T: Serialize>(
        &self,
        items: Vec<T>,
        next: Option<impl AsRef<[u8]>>,
    ) -> Result<Answer, Problem> {
        let (shown, next_cursor) = (items.len(), next.map(|position| self.seal(position)));
        Ok(Answer { body: serde_json::to_string(&Body { items, next_cursor })?, items: shown })
    }
}

/// True if `state` asks for unread ones alone.
pub(crate) fn is_unread_only(parameters: &Parameters<'_>) -> Result<bool, Problem> {
    match parameters.get("state") {
        None => Ok(false),
        Some(UNREAD) => Ok(true),
        Some(_) => Err(Problem::invalid("state", format!("expected `{UNREAD}`"))),
    }
}

/// Reads a position that consists of text.
pub(crate) fn text(position: &[u8]) -> Option<&str> {
    std::str::from_utf8(position).ok()
}

/// Reads a position that is an id, or something like it.
pub(crate) fn id<T: FromStr>(position: &[u8]) -> Option<T> {
    text(position)?.parse().ok()
}
