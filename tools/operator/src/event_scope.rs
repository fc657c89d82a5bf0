//! Whose events are looked at, or erased.

use std::pin::pin;

use futures::{Stream, TryStreamExt, future, stream};
use shared::history::events::{
    ArchivedObject, Archives, Customer, EventTables, Period, PeriodRow, keys,
};
use shared::platform::dynamo::item::{Row, text};
use shared::platform::dynamo::{DynamoError, Query};
use shared::platform::values::{CustomerId, TenantId};

use super::{Result, progress};
use crate::scan::{filtered, partition};

/// Objects whose rows are read together.
const OBJECTS: i32 = 200;

/// All events of a tenant, or those of one of its customers.
#[derive(Debug, Clone)]
pub struct EventScope {
    pub tenant_id: TenantId,
    /// The customer; `None` for all of them.
    pub customer_id: Option<CustomerId>,
}

impl EventScope {
    pub fn customer(&self) -> Option<Customer> {
        let customer_id = self.customer_id.clone()?;
        Some(Customer { tenant_id: self.tenant_id.clone(), customer_id })
    }

    pub fn has(&self, Customer { tenant_id, customer_id }: &Customer) -> bool {
        self.holds(tenant_id.as_str(), customer_id.as_str())
    }

    /// The same, by ids as they stand in a line.
    pub fn holds(&self, tenant: &str, customer: &str) -> bool {
        let is_theirs = |id: &CustomerId| id.as_str() == customer;
        tenant == self.tenant_id.as_str() && self.customer_id.as_ref().is_none_or(is_theirs)
    }

    /// Visits the items of the scope in the table of a period, page by page. For a whole tenant this takes a scan of the table. Returns
    /// false if there is no such table. `what` names the items for the progress bar.
    pub(crate) async fn in_table(
        &self,
        tables: &EventTables,
        row: &PeriodRow,
        what: &'static str,
        mut each: impl AsyncFnMut(Vec<Row<'_>>) -> Result<()>,
    ) -> Result<bool> {
        let (table, bar) = (tables.table(row.period), progress::counter(what));
        for query in self.queries(row) {
            let mut pages = pin!(table.pages(query));
            loop {
                let page = match pages.try_next().await {
                    Ok(Some(page)) => page,
                    Ok(None) => break,
                    Err(DynamoError::TableMissing(_)) => return Ok(false),
                    Err(failure) => return Err(failure),
                };
                bar.inc(page.scanned);
                each(page.rows).await?;
            }
        }
        Ok(true)
    }

    /// The objects of the tenant in the archive of a period.
    pub(crate) fn objects(
        &self,
        archives: &Archives,
        period: Period,
    ) -> impl Stream<Item = Result<ArchivedObject>> {
        let all = objects_of(archives, period);
        all.try_filter(|object| future::ready(object.tenant_id == self.tenant_id))
    }

    fn queries(&self, row: &PeriodRow) -> Vec<Query<'static>> {
        let Some(customer) = self.customer() else {
            let tenant = text(format!("{}#", self.tenant_id));
            return vec![filtered("begins_with(pk, :tenant)", vec![(":tenant", tenant)])];
        };
        keys::partitions(&customer, row.keys_of(&customer)).map(partition).collect()
    }
}

/// The objects in the archive of a period, in the order of their rows, which are read page by page.
pub(crate) fn objects_of(
    archives: &Archives,
    period: Period,
) -> impl Stream<Item = Result<ArchivedObject>> {
    let pages = stream::try_unfold(Some(None), move |behind| async move {
        let Some(behind) = behind else { return Ok::<_, DynamoError>(None) };
        let page = archives.of_period(period, behind, OBJECTS).await?;
        Ok(Some((stream::iter(page.0.into_iter().map(Ok)), page.1.map(Some))))
    });
    pages.try_flatten()
}
