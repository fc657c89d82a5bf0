//! Whose events are looked at, or erased.

use std::pin::pin;

use futures::TryStreamExt;
use indicatif::ProgressBar;
use shared::dynamo::item::{Row, text};
use shared::dynamo::{DynamoError, Query};
use shared::events::{Customer, EventTables, PeriodRow, keys};
use shared::values::{CustomerId, TenantId};

/// All events of a tenant, or those of one of its customers.
#[derive(Debug, Clone)]
pub struct EventScope {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The customer; `None` for all of them.
    pub customer_id: Option<CustomerId>,
}

impl EventScope {
    /// The customer, if the scope is a single one.
    #[must_use]
    pub fn customer(&self) -> Option<Customer> {
        let customer_id = self.customer_id.clone()?;
        Some(Customer { tenant_id: self.tenant_id.clone(), customer_id })
    }

    /// True if the scope contains this customer.
    #[must_use]
    pub fn holds(&self, tenant: &str, customer: &str) -> bool {
        let is_theirs = |id: &CustomerId| id.as_str() == customer;
        tenant == self.tenant_id.as_str() && self.customer_id.as_ref().is_none_or(is_theirs)
    }

    /// Visits the items of the scope in the table of a period, page by page. For a whole tenant this takes a scan of the table. Returns
    /// false if there is no such table.
    ///
    /// # Errors
    /// [`DynamoError`], of a call or of what is done with a page.
    pub(crate) async fn in_table(
        &self,
        tables: &EventTables,
        row: &PeriodRow,
        bar: &ProgressBar,
        mut each: impl AsyncFnMut(Vec<Row<'_>>) -> Result<(), DynamoError>,
    ) -> Result<bool, DynamoError> {
        let table = tables.table(row.period);
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

    fn queries(&self, row: &PeriodRow) -> Vec<Query<'static>> {
        let Some(customer) = self.customer() else {
            let tenant = text(format!("{}#", self.tenant_id));
            let filter = Some("begins_with(pk, :tenant)");
            return vec![Query { filter, values: vec![(":tenant", tenant)], ..Query::default() }];
        };
        let of_key = |pk| Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(pk))],
            ..Query::default()
        };
        keys::partitions(&customer, row.keys_of(&customer)).map(of_key).collect()
    }
}
