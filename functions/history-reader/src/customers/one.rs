//! One customer of a tenant, with what they did.

use shared::history::events::{Customer, PeriodLength};
use shared::history::summaries::{CustomerView, Summaries, SummaryView};
use shared::history::tenants::{Customers, Definitions};
use shared::platform::projection::View;
use shared::platform::values::{CustomerId, TenantId};

use super::{CustomerItem, first_day};
use crate::reader::Context;
use function_http::Problem;
use function_http::response::Answer;

/// `GET /v1/tenants/{tenant_id}/customers/{customer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let tenant_id = cx.path.parameter("tenant_id", TenantId::new)?;
    let customer_id = cx.path.parameter("customer_id", CustomerId::new)?;
    cx.caller.may_read_tenant(&tenant_id)?;
    let customer = Customer { tenant_id, customer_id };
    let (views, ledger) = (&cx.reader.views, &cx.reader.ledger);
    let (customers, definitions) = (Customers::new(ledger), Definitions::new(ledger));
    let key = SummaryView::Customer(customer.clone()).key();
    let (view, said, in_force) = futures::try_join!(
        views.read(key, View::<CustomerView>::read_from),
        customers.get(&customer),
        definitions.in_force(&customer.tenant_id),
    )?;
    let (scores, today) = (&in_force.scores, PeriodLength::Day.period_of(cx.now));
    let since = first_day(scores, today);
    let summary = Summaries::new(views).since(&customer, view.state, since).await?;
    if summary.events() == 0 && said.is_none() {
        return Err(Problem::NotFound(&[]));
    }
    let payload = said.map(|said| said.payload);
    let item = CustomerItem::new(customer.customer_id, &summary, payload, scores, today);
    Ok(Answer { body: serde_json::to_string(&item)?, items: 1 })
}
