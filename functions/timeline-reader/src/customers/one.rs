//! One customer of a tenant, with what they did.

use shared::events::Customer;
use shared::projection::View;
use shared::summaries::{CustomerView, Summaries, SummaryView};
use shared::values::{CustomerId, TenantId};

use super::Item;
use crate::Context;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;

/// `GET /v1/tenants/{tenant_id}/customers/{customer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let tenant_id = cx.path.parameter("tenant_id", TenantId::new)?;
    let customer_id = cx.path.parameter("customer_id", CustomerId::new)?;
    cx.caller.may_read_tenant(&tenant_id)?;
    Parameters::of(cx.event, &[])?;
    let customer = Customer { tenant_id, customer_id };
    let views = cx.reader.views.over(cx.dynamo);
    let key = SummaryView::Customer(customer.clone()).key();
    let view = views.read(key, View::<CustomerView>::read_from, cx.deadline).await?;
    // A customer who has a payload alone is joined here.
    if !view.is_there() {
        return Err(Problem::NotFound(&[]));
    }
    let summary = Summaries::new(&views).with_names(&customer, view.state, cx.deadline).await?;
    let item = Item::of(customer.customer_id, &summary);
    Ok(Answer { body: serde_json::to_string(&item)?, items: 1 })
}
