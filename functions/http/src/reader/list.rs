//! Lists that are paged by `limit` and `cursor` alone.

use std::fmt::Display;
use std::str::FromStr;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use serde::Serialize;
use shared::platform::paging::{CursorError, CursorSeal};
use shared::platform::values::TenantId;

use super::query::Parameters;
use super::{Context, Routes};
use crate::page::{DEFAULT_LIMIT, limit};
use crate::problem::Problem;
use crate::response::Answer;

/// The `state` of what is not marked as read.
pub const UNREAD: &str = "unread";

#[derive(Serialize)]
struct Body<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

/// A list, to which its cursors are bound.
pub struct List<'a, W> {
    event: &'a ApiGatewayV2httpRequest,
    seal: &'a CursorSeal,
    name: &'static str,
    /// Whose list it is, or of what.
    pub whose: W,
}

impl<'a> List<'a, TenantId> {
    /// A list of the tenant in the path, whom the caller has to be allowed to read.
    pub fn of_tenant(
        cx: &'a Context<'a, impl Routes>,
        name: &'static str,
    ) -> Result<Self, Problem> {
        let whose = cx.path.parameter("tenant_id", TenantId::new)?;
        cx.caller.may_read_tenant(&whose)?;
        Ok(Self::new(cx, name, whose))
    }
}

impl<'a, W: Display> List<'a, W> {
    /// A list by its name in cursors.
    pub fn new(cx: &'a Context<'a, impl Routes>, name: &'static str, whose: W) -> Self {
        Self { event: cx.event, seal: &cx.requests().seal, name, whose }
    }

    /// The position in the cursor that was sent, if one was, and the most items of the page. `read` returns `None` for bytes that are no
    /// position of the list.
    pub fn page<T>(
        &self,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(Option<T>, usize), Problem> {
        self.page_of(&Parameters::parse(self.event, &["limit", "cursor"])?, read)
    }

    /// The same, from parameters among which there are others.
    pub fn page_of<T>(
        &self,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(Option<T>, usize), Problem> {
        let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
        let open = |cursor: &str| {
            let opened = self.seal.open_in(self.name, &self.whose, cursor);
            let opened = opened.and_then(|position| read(&position).ok_or(CursorError::Damaged));
            opened.map_err(|e| Problem::invalid("cursor", e.to_string()))
        };
        Ok((parameters.get("cursor").map(open).transpose()?, limit))
    }

    /// The cursor with a position.
    pub fn seal(&self, position: impl AsRef<[u8]>) -> String {
        self.seal.seal_in(self.name, &self.whose, position.as_ref())
    }

    /// The answer with a page of these items, and a cursor with the position to continue from, if there may be more.
    pub fn answer<T: Serialize>(
        &self,
        items: Vec<T>,
        next: Option<impl AsRef<[u8]>>,
    ) -> Result<Answer, Problem> {
        let (shown, next_cursor) = (items.len(), next.map(|position| self.seal(position)));
        Ok(Answer { body: serde_json::to_string(&Body { items, next_cursor })?, items: shown })
    }
}

/// True if `state` asks for unread ones alone.
pub fn is_unread_only(parameters: &Parameters<'_>) -> Result<bool, Problem> {
    match parameters.get("state") {
        None => Ok(false),
        Some(UNREAD) => Ok(true),
        Some(_) => Err(Problem::invalid("state", format!("expected `{UNREAD}`"))),
    }
}

/// Reads a position that consists of text.
pub fn text(position: &[u8]) -> Option<&str> {
    std::str::from_utf8(position).ok()
}

/// Reads a position that is an id, or something like it.
pub fn id<T: FromStr>(position: &[u8]) -> Option<T> {
    text(position)?.parse().ok()
}
