//! The archives of a tenant's events (docs/QUERIES.md): the objects of each period, with addresses that work for a quarter of an hour.
//!
//! Only complete archives are shown, from the state `archived` on, until they are deleted. A disputed one is left out: it may not have
//! what was recorded, and its events are still in their table. A row is read before the objects that are shown: a row with `archived`
//! has all of its objects by then, and objects that were read before may be incomplete. So objects are read to find out which rows
//! matter, and then again.
//!
//! A page has the objects of whole periods. It ends early, with a cursor, once it has [`MOST_OBJECTS`].

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::try_join_all;
use serde::Serialize;
use shared::history::events::{ArchivedObject, Archives, Period, PeriodState};
use shared::platform::dynamo::DynamoError;
use shared::platform::objects::{ObjectError, Objects};
use shared::platform::values::{TenantId, Timestamp};

use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::{self, List};
use function_http::response::Answer;

/// How long an address works.
const VALID: Duration = Duration::from_secs(15 * 60);
/// The objects of a page. The period that reaches this is its last. The address of an object has about 1.5 KB.
const MOST_OBJECTS: usize = 1_000;

#[derive(Serialize)]
struct ArchiveItem {
    period: String,
    from: Timestamp,
    to: Timestamp,
    state: String,
    events: u64,
    bytes: u64,
    objects: Vec<Object>,
}

#[derive(Serialize)]
struct Object {
    key: String,
    bytes: u64,
    sha256: String,
    url: String,
}

/// The objects of one period, in their order.
struct OfPeriod {
    period: Period,
    objects: Vec<ArchivedObject>,
}

/// `GET /v1/tenants/{tenant_id}/archives`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let list = List::of_tenant(cx, "archives")?;
    let (before, limit) = list.page(list::id)?;
    let Some(objects) = &cx.reader.objects else { return Err(Problem::NotFound(&[])) };
    let (mut periods, mut next) = read(cx, &list.whose, before, limit).await?;
    let states = try_join_all(periods.iter().map(|of| state(cx, of.period))).await?;
    let states: BTreeMap<_, _> = periods.iter().map(|of| of.period).zip(states).collect();
    if states.values().any(Option::is_some) {
        (periods, next) = read(cx, &list.whose, before, limit).await?;
    }
    let mut items = Vec::with_capacity(periods.len());
    for of in periods {
        if let Some(state) = states.get(&of.period).copied().flatten() {
            items.push(item(objects, cx.now, of, state).await?);
        }
    }
    list.answer(items, next.map(|next| next.to_string()))
}

/// The objects of up to `limit` periods before one, newest first, and the period to continue before if there may be more.
async fn read(
    cx: &Context<'_>,
    tenant: &TenantId,
    before: Option<Period>,
    limit: usize,
) -> Result<(Vec<OfPeriod>, Option<Period>), DynamoError> {
    let archives = Archives::new(&cx.reader.ledger);
    let mut periods: Vec<OfPeriod> = Vec::new();
    let (mut behind, mut objects) = (before.map(|period| period.to_string()), 0);
    loop {
        let page = archives.of_tenant(tenant, behind.as_deref()).await?;
        behind = page.1;
        for object in page.0 {
            let is_another = periods.last().is_none_or(|last| last.period != object.period);
            if is_another {
                if periods.len() == limit || objects >= MOST_OBJECTS {
                    let next = periods.last().map(|last| last.period);
                    return Ok((periods, next));
                }
                periods.push(OfPeriod { period: object.period, objects: Vec::new() });
            }
            objects += 1;
            if let Some(last) = periods.last_mut() {
                last.objects.push(object);
            }
        }
        if behind.is_none() {
            return Ok((periods, None));
        }
    }
}

/// The state of a period whose archive is shown.
async fn state(cx: &Context<'_>, period: Period) -> Result<Option<PeriodState>, DynamoError> {
    let periods = &cx.reader.events;
    let row = periods.periods().row(period).await?;
    let is_shown = |state| {
        matches!(state, PeriodState::Archived | PeriodState::Verified | PeriodState::Dropped)
    };
    Ok(row.filter(|row| is_shown(row.state) && !row.expired).map(|row| row.state))
}

async fn item(
    bucket: &Objects,
    now: Timestamp,
    of: OfPeriod,
    state: PeriodState,
) -> Result<ArchiveItem, Problem> {
    let OfPeriod { period, objects: mut archived } = of;
    // They came in the opposite order.
    archived.reverse();
    let (mut events, mut bytes, mut objects) = (0, 0, Vec::with_capacity(archived.len()));
    for object in archived {
        events += object.tally.events;
        bytes += object.size;
        let key = object.key();
        let url = bucket.presigned(&key, now, VALID).await.map_err(unsigned)?;
        objects.push(Object { key, bytes: object.size, sha256: object.sha256, url });
    }
    let (from, to, state) = (period.from(), period.to(), state.to_string());
    Ok(ArchiveItem { period: period.to_string(), from, to, state, events, bytes, objects })
}

/// The problem of missing credentials, which may come a moment later.
fn unsigned(failure: ObjectError) -> Problem {
    DynamoError::Unavailable(failure.to_string()).into()
}
