//! The names of a tenant's events, each with how often it happened (docs/QUERIES.md).
//!
//! A name is spread over several items, which are read side by side and added up.

pub(crate) mod one;

use serde::Serialize;
use shared::history::summaries::{NamePage, NameTally, Summaries};
use shared::platform::values::{EventName, Timestamp};

use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::{self, List};
use function_http::response::Answer;

#[derive(Serialize)]
struct NameItem {
    name: EventName,
    count: u64,
    first_at: Timestamp,
    last_at: Timestamp,
}

impl NameItem {
    fn new(name: EventName, NameTally { count, first_at, last_at }: NameTally) -> Self {
        Self { name, count, first_at, last_at }
    }
}

/// `GET /v1/tenants/{tenant_id}/names`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let list = List::of_tenant(cx, "names")?;
    let (after, limit) = list.page(list::id)?;
    let summaries = Summaries::new(&cx.reader.views);
    let page = summaries.names(&list.whose, after.as_ref(), limit).await?;
    let NamePage { names, next } = page;
    let items = names.into_iter().filter_map(|(name, view)| Some(NameItem::new(name, view.tally?)));
    let items: Vec<_> = items.collect();
    list.answer(items, next.map(String::from))
}
