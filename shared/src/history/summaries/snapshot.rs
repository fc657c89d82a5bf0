//! The summary of a customer as a decision reads it.

use aws_sdk_dynamodb::types::TransactWriteItem;

use super::{CustomerSummary, CustomerView, Summaries, SummaryView};
use crate::history::events::Customer;
use crate::platform::dynamo::item::number;
use crate::platform::dynamo::{Condition, DynamoError};
use crate::platform::projection::View;

/// The summary of a customer, and the life of its view: how often an erasure has emptied it.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub customer: Customer,
    pub summary: CustomerSummary,
    pub life: u64,
}

impl Summaries {
    /// The complete summary of a customer to decide on. An unknown customer has an empty one.
    pub async fn snapshot(&self, customer: &Customer) -> Result<Snapshot, DynamoError> {
        let key = SummaryView::Customer(customer.clone()).key();
        let view = self.views.read(key, View::<CustomerView>::read_from).await?;
        self.snapshot_of(customer.clone(), view).await
    }

    /// The life of the view of a customer.
    pub async fn life(&self, customer: &Customer) -> Result<u64, DynamoError> {
        let key = SummaryView::Customer(customer.clone()).key();
        let view = self.views.read(key, View::<CustomerView>::read_from).await?;
        Ok(view.state.life())
    }

    pub(super) async fn snapshot_of(
        &self,
        customer: Customer,
        view: View<CustomerView>,
    ) -> Result<Snapshot, DynamoError> {
        let life = view.state.life();
        let summary = self.whole(&customer, view.state).await?;
        Ok(Snapshot { customer, summary, life })
    }

    /// The condition that no erasure has emptied the view of a customer since it had this life, as
    /// a part of a transaction.
    pub fn lives(&self, customer: &Customer, life: u64) -> Result<TransactWriteItem, DynamoError> {
        let unchanged = match life {
            0 => Condition::new("attribute_not_exists(#life)"),
            _ => Condition::new("#life = :life").value(":life", number(life)),
        };
        let key = SummaryView::Customer(customer.clone()).key().into_item();
        Ok(self.views.table().checking(key, &unchanged.name("#life", "life"))?)
    }
}
