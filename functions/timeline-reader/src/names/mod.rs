//! The names of a tenant's events, each with how often it happened (docs/QUERIES.md).
//!
//! A name is spread over several items, which are read side by side and added up.

pub(crate) mod one;

use serde::Serialize;
use shared::paging::CursorError;
use shared::summaries::{NamePage, NameTally, Summaries};
use shared::values::{EventName, TenantId, Timestamp};

use crate::Context;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::page::{DEFAULT_LIMIT, limit};

/// The name of the list, for its cursors.
const LIST: &str = "names";

#[derive(Serialize)]
struct Body {
    items: Vec<Item>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct Item {
    name: EventName,
    count: u64,
    first_at: Timestamp,
    last_at: Timestamp,
}

impl Item {
    fn of(name: EventName, NameTally { count, first_at, last_at }: NameTally) -> Self {
        Self { name, count, first_at, last_at }
    }
}

/// `GET /v1/tenants/{tenant_id}/names`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let tenant = cx.path.parameter("tenant_id", TenantId::new)?;
    cx.caller.may_read_tenant(&tenant)?;
    let parameters = Parameters::of(cx.event, &["limit", "cursor"])?;
    let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
    let after = parameters.get("cursor").map(|text| open(cx, &tenant, text)).transpose()?;
    let summaries = Summaries::new(&cx.reader.views).over(cx.dynamo);
    let page = summaries.names(&tenant, after.as_ref(), limit, cx.deadline).await?;
    let NamePage { names, next } = page;
    let items = names.into_iter().filter_map(|(name, view)| Some(Item::of(name, view.tally?)));
    let items: Vec<_> = items.collect();
    let next_cursor =
        next.map(|next| cx.reader.seal.seal_in(LIST, &tenant, next.as_str().as_bytes()));
    let (shown, body) = (items.len(), Body { items, next_cursor });
    Ok(Answer { body: serde_json::to_string(&body)?, items: shown })
}

/// Behind which name a cursor goes on.
fn open(cx: &Context<'_>, tenant: &TenantId, text: &str) -> Result<EventName, Problem> {
    let opened = cx.reader.seal.open_in(LIST, tenant, text).and_then(|position| {
        let name = String::from_utf8(position).map_err(|_| CursorError::Damaged)?;
        EventName::new(name).map_err(|_| CursorError::Damaged)
    });
    opened.map_err(|e| Problem::invalid("cursor", e.to_string()))
}
