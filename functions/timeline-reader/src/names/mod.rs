//! The names of a tenant's events, each with how often it happened (docs/QUERIES.md).
//!
//! A name is spread over several items, which are read side by side and added up.

pub(crate) mod one;

use serde::Serialize;
use shared::summaries::{NamePage, NameTally, Summaries};
use shared::values::{EventName, TenantId, Timestamp};

use crate::Context;
use crate::http::list;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::page::{DEFAULT_LIMIT, limit};

/// The name of this list in its cursors.
const LIST: &str = "names";

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
    let after = parameters
        .get("cursor")
        .map(|text| list::open(cx, LIST, &tenant, text, behind))
        .transpose()?;
    let summaries = Summaries::new(&cx.reader.views);
    let page = summaries.names(&tenant, after.as_ref(), limit).await?;
    let NamePage { names, next } = page;
    let items = names.into_iter().filter_map(|(name, view)| Some(Item::of(name, view.tally?)));
    let items: Vec<_> = items.collect();
    let next_cursor =
        next.map(|next| cx.reader.seal.seal_in(LIST, &tenant, next.as_str().as_bytes()));
    list::answer(items, next_cursor)
}

/// The name that a cursor continues after.
fn behind(position: &[u8]) -> Option<EventName> {
    EventName::new(list::text(position)?).ok()
}
