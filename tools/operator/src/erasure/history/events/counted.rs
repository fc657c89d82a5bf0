//! Events that are in no archive: each is deleted in the transaction that lowers what counts it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::types::{Delete, TransactWriteItem};
use shared::history::events::{Customer, Event, Period, PeriodRow, Tally};
use shared::history::summaries::{NamedDays, Removal, RemovalOutcome, day_of};
use shared::platform::dynamo::DynamoError;
use shared::platform::dynamo::item::{Key, Row};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry::Backoff;

use super::EventErasure;
use crate::Result;

/// The number of events that one transaction deletes, together with what counts them.
const TOGETHER: usize = 16;
/// How long to try while others write the same views.
const PATIENCE: Duration = Duration::from_secs(60);

impl EventErasure {
    /// Deletes the events from the table of a period, each with what counts it. Returns how many there were.
    pub(super) async fn counted_table(&self, row: &PeriodRow) -> Result<u64> {
        let (table, mut erased) = (self.events.tables().table(row.period), 0);
        let delete = async |rows: Vec<Row<'_>>| {
            let mut of_customers = BTreeMap::<Customer, Vec<(Key, Event)>>::new();
            for found in &rows {
                let key = Key::of(found)?;
                match Event::read(found) {
                    Ok(event) => {
                        let customer = event.key.customer.clone();
                        of_customers.entry(customer).or_default().push((key, event));
                    }
                    // Nothing counts what is no event.
                    Err(_) => drop(table.delete(key.into_item(), None).await?),
                }
            }
            for events in of_customers.into_values() {
                for some in events.chunks(TOGETHER) {
                    erased += self.counted(row.period, some.to_vec()).await?;
                }
            }
            Ok(())
        };
        self.scope.in_table(self.events.tables(), row, "events", delete).await?;
        Ok(erased)
    }

    /// Deletes the events of one customer that still exist, and lowers what counts them. Returns how many.
    async fn counted(&self, period: Period, mut events: Vec<(Key, Event)>) -> Result<u64> {
        let (number, mut together) = (events.len() as u64, events.len());
        let (deadline, mut backoff) = (Deadline::after(PATIENCE), Backoff::default());
        while !events.is_empty() {
            let some = &events[..together.min(events.len())];
            let (taking, deletes) = self.taking(period, some)?;
            match self.summaries.take(&taking, deletes).await {
                Ok(RemovalOutcome::Done) => {
                    events.drain(..some.len());
                    backoff.reset();
                    continue;
                }
                Ok(RemovalOutcome::TooMuch) if together > 1 => {
                    together /= 2;
                    continue;
                }
                Ok(RemovalOutcome::TooMuch) => return Err(DynamoError::Contended),
                Ok(RemovalOutcome::Refused) => {}
                Err(failure) if !failure.is_retryable() => return Err(failure),
                Err(_) => {}
            }
            backoff.wait(deadline).await?;
            // Those that an attempt has deleted whose answer was lost, or somebody else.
            let keys = events.iter().map(|(key, _)| key.clone().into_item()).collect();
            let there = self.events.tables().table(period);
            let there = there.batch_get(keys).await?;
            let there: BTreeSet<Key> = there.iter().map(Key::of).collect::<Result<_, _>>()?;
            events.retain(|(key, _)| there.contains(key));
        }
        Ok(number)
    }

    fn taking(
        &self,
        period: Period,
        events: &[(Key, Event)],
    ) -> Result<(Removal, Vec<TransactWriteItem>)> {
        let (mut days, mut tally) = (NamedDays::new(), Tally::default());
        let mut deletes = Vec::with_capacity(events.len());
        let (_, first) = &events[0];
        for (key, event) in events {
            days.entry(event.name.clone()).or_default().add(day_of(event.key.at), 1);
            tally.add(Tally::of_line(&event.line()));
            let delete = Delete::builder()
                .table_name(self.events.tables().name(period))
                .set_key(Some(key.clone().into_item()))
                .condition_expression("attribute_exists(pk)");
            deletes.push(TransactWriteItem::builder().delete(delete.build()?).build());
        }
        let customer = first.key.customer.clone();
        let witness = Some((period, tally));
        Ok((Removal { customer, days, from_names: true, witness }, deletes))
    }
}
