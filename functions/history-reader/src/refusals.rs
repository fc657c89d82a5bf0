//! The refused events of a tenant by UTC day and reason, the newest day first (docs/QUERIES.md).

use serde::Serialize;
use shared::history::refusals::{Refusals, RefusalsOfDay, RefusedEvent};
use shared::platform::values::{CustomerId, EventId, TenantId, Timestamp};

use crate::reader::Context;
use function_http::Problem;
use function_http::response::Answer;

#[derive(Serialize)]
struct RefusalsBody {
    items: Vec<RefusalItem>,
}

#[derive(Serialize)]
struct RefusalItem {
    reason: &'static str,
    date: String,
    count: u64,
    examples: Vec<Example>,
}

#[derive(Serialize)]
struct Example {
    customer_id: Option<CustomerId>,
    event_id: Option<EventId>,
    at: Option<Timestamp>,
    detail: String,
}

impl From<RefusalsOfDay> for RefusalItem {
    fn from(RefusalsOfDay { day, reason, count, examples }: RefusalsOfDay) -> Self {
        let examples = examples.into_iter().map(Example::from).collect();
        Self { reason: reason.as_str(), date: day.to_string(), count, examples }
    }
}

impl From<RefusedEvent> for Example {
    fn from(RefusedEvent { customer_id, event_id, at, detail }: RefusedEvent) -> Self {
        Self { customer_id, event_id, at, detail }
    }
}

/// `GET /v1/tenants/{tenant_id}/refusals`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let tenant = cx.path.parameter("tenant_id", TenantId::new)?;
    cx.caller.may_read_tenant(&tenant)?;
    let refusals = Refusals::new(&cx.reader.ledger).of_tenant(&tenant, cx.now).await?;
    let items: Vec<_> = refusals.into_iter().map(RefusalItem::from).collect();
    let shown = items.len();
    Ok(Answer { body: serde_json::to_string(&RefusalsBody { items })?, items: shown })
}
