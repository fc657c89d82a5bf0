//! One name of a tenant's events, with how often it happened on each of the latest days.

use serde::Serialize;
use shared::history::events::PeriodLength;
use shared::history::summaries::{SHOWN_DAYS, Summaries, day_of, start_of};
use shared::platform::values::{EventName, TenantId};

use super::NameItem;
use crate::reader::Context;
use function_http::Problem;
use function_http::response::Answer;

#[derive(Serialize)]
struct NameBody {
    #[serde(flatten)]
    item: NameItem,
    days: Vec<Day>,
}

#[derive(Serialize)]
struct Day {
    date: String,
    count: u64,
}

/// `GET /v1/tenants/{tenant_id}/names/{name}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let tenant = cx.path.parameter("tenant_id", TenantId::new)?;
    let name = cx.path.parameter("name", EventName::new)?;
    cx.caller.may_read_tenant(&tenant)?;
    let summaries = Summaries::new(&cx.reader.views);
    let view = summaries.name(&tenant, &name).await?;
    let (tally, days) =
        view.and_then(|view| Some((view.tally?, view.days))).ok_or(Problem::NotFound(&[]))?;
    let earliest = (day_of(cx.now) + 1).saturating_sub(SHOWN_DAYS);
    let days = days.iter().rev().filter(|(day, _)| *day >= earliest).map(|(day, count)| Day {
        date: PeriodLength::Day.period_of(start_of(day)).to_string(),
        count,
    });
    let body = NameBody { item: NameItem::new(name, tally), days: days.collect() };
    Ok(Answer { body: serde_json::to_string(&body)?, items: 1 })
}
