//! The customers of a tenant, by id, each with what they did (docs/QUERIES.md).
//!
//! A page takes one query for the ids of customers with events, one for those with payloads, one for the scores of the tenant, and then
//! one call for the views of a hundred customers. After these, it reads names beyond the views, and the days that scores need. A page
//! ends early if the names would be [`MOST_BLOCKS`] bytes.

pub(crate) mod one;

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use serde::Serialize;
use shared::history::events::{Customer, Period, PeriodLength};
use shared::history::summaries::{
    CustomerSummary, CustomerView, Day, NameTally, Summaries, day_of,
};
use shared::history::tenants::{Customers, Definitions, ScoreDefinition};
use shared::platform::values::{CustomerId, EventName, Payload, Timestamp};

use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::{self, List};
use function_http::response::Answer;

/// Bytes of blocks that a page reads, unless those of its first customer are more.
const MOST_BLOCKS: usize = 256 * 1024;

#[derive(Serialize)]
struct CustomerItem {
    customer_id: CustomerId,
    payload: Option<Payload>,
    events: u64,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    names: BTreeMap<EventName, NamedCount>,
    scores: BTreeMap<String, Score>,
}

#[derive(Serialize)]
struct NamedCount {
    count: u64,
    first_at: Timestamp,
    last_at: Timestamp,
}

#[derive(Serialize)]
struct Score {
    value: u8,
    as_of: String,
}

impl From<NameTally> for NamedCount {
    fn from(NameTally { count, first_at, last_at }: NameTally) -> Self {
        Self { count, first_at, last_at }
    }
}

impl CustomerItem {
    /// What is answered of a customer on a day.
    fn new(
        customer_id: CustomerId,
        summary: &CustomerSummary,
        payload: Option<Payload>,
        scores: &[ScoreDefinition],
        today: Period,
    ) -> Self {
        let score = |it: &ScoreDefinition| {
            let score = Score { value: it.score.value(summary, today), as_of: today.to_string() };
            (it.score_id.to_string(), score)
        };
        let names = summary.names().map(|(name, tally)| (name.clone(), tally.into()));
        Self {
            customer_id,
            payload,
            events: summary.events(),
            first_at: summary.first_at(),
            last_at: summary.last_at(),
            names: names.collect(),
            scores: scores.iter().map(score).collect(),
        }
    }
}

/// `GET /v1/tenants/{tenant_id}/customers`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let list = List::of_tenant(cx, "customers")?;
    let (after, limit) = list.page(list::id)?;
    let tenant = &list.whose;
    let summaries = Summaries::new(&cx.reader.views);
    let ledger = &cx.reader.ledger;
    let (customers, definitions) = (Customers::new(ledger), Definitions::new(ledger));
    // One more of each tells whether there are more. The first customers of both together are among the first of each.
    let (ids, (said, _), in_force) = futures::try_join!(
        summaries.ids(tenant, after.as_ref(), limit + 1),
        customers.page(tenant, after.as_ref(), limit + 1),
        definitions.in_force(tenant),
    )?;
    let mut payloads: BTreeMap<_, _> = said.into_iter().collect();
    let ids: BTreeSet<_> = ids.into_iter().chain(payloads.keys().cloned()).collect();
    let mut is_more = ids.len() > limit;
    let ids: Vec<_> = ids.into_iter().take(limit).collect();
    let views = summaries.views(tenant, &ids).await?;
    let views: Vec<_> = views.into_iter().map(|view| view.state).collect();
    let shown = fitting(&views);
    is_more |= shown < ids.len();
    let (scores, today) = (&in_force.scores, PeriodLength::Day.period_of(cx.now));
    let read = ids.into_iter().zip(views).take(shown).map(|(customer_id, view)| {
        let payload = payloads.remove(&customer_id).map(|said| said.payload);
        let customer = Customer { tenant_id: tenant.clone(), customer_id };
        let summaries = &summaries;
        async move {
            let since = first_day(scores, today);
            let summary = summaries.since(&customer, view, since).await?;
            Ok::<_, Problem>(CustomerItem::new(
                customer.customer_id,
                &summary,
                payload,
                scores,
                today,
            ))
        }
    });
    let read: Vec<_> = read.collect();
    let items = try_join_all(read).await?;
    let last = items.last().filter(|_| is_more).map(|item| item.customer_id.to_string());
    list.answer(items, last)
}

/// The first day that any score needs; `None` without scores.
fn first_day(scores: &[ScoreDefinition], today: Period) -> Option<Day> {
    let days = scores.iter().map(|it| it.score.days()).max()?;
    Some(day_of(today.from()).saturating_sub(Day::from(days) - 1))
}

/// The number of leading customers whose blocks a page reads.
fn fitting(views: &[CustomerView]) -> usize {
    let mut size = 0;
    let fits = |view: &&CustomerView| {
        size += view.bytes_of_other_names();
        size <= MOST_BLOCKS
    };
    views.iter().take_while(fits).count().max(1).min(views.len())
}
