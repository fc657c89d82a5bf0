//! How the table of a period is paid for: provisioned while the period is current, if the deployer wants that, else on demand.
//!
//! The row of the period says that its table may be provisioned before it is, and says so until the table was seen on demand again. So no
//! table is left provisioned that is no longer current, whoever dies, and tables that never were are not looked at.

use aws_sdk_dynamodb::types::{BillingMode, ProvisionedThroughput, TableDescription};
use shared::history::events::capacity::{self, Capacity, Decreases};
use shared::history::events::{PeriodRow, PeriodState};
use shared::platform::dynamo::Table;
use shared::platform::values::Timestamp;
use tracing::info;

use super::outcome::Outcome;
use super::table::{describe, strange, unless_missing};
use crate::error::KeeperError;
use crate::keeper::Keeper;

impl Keeper {
    /// Sets the capacity of a period's table, if it should be another.
    pub(crate) async fn set_capacity(
        &self,
        row: &PeriodRow,
        now: Timestamp,
    ) -> Result<Outcome, KeeperError> {
        let is_current = row.state == PeriodState::Current;
        let cloud_watch = self.cloud_watch.as_ref().filter(|_| is_current);
        let may_be_provisioned = row.provisioned && row.state.has_table();
        if row.forgetting || (cloud_watch.is_none() && !may_be_provisioned) {
            return Ok(Outcome::Unchanged);
        }
        let table = self.tables.table(row.period);
        let found = describe(&table).await?;
        // The next step disputes another table, or none.
        let Some(found) = found.filter(|found| strange(row, found).is_none()) else {
            return Ok(Outcome::Unchanged);
        };
        let set = capacity_of(&found);
        let next = match cloud_watch {
            Some(cloud_watch) => {
                let measured =
                    cloud_watch.measured(&self.tables, &self.settings, now, self.deadline());
                let measured = measured.await.map_err(KeeperError::CloudWatch)?;
                capacity::next(set, &measured, decreases(&found), now)
            }
            None => None,
        };
        match (next, set) {
            (None, None) if row.provisioned => {
                self.moved(PeriodRow { provisioned: false, ..row.clone() }).await
            }
            (Some(_), None) if !row.provisioned => {
                self.moved(PeriodRow { provisioned: true, ..row.clone() }).await
            }
            (next, set) if next == set => Ok(Outcome::Unchanged),
            (next, set) => {
                update(&table, next).await?;
                info!(period = %row.period, ?set, ?next, "the capacity of a table was changed");
                Ok(Outcome::Unchanged)
            }
        }
    }
}

/// The provisioned capacity of a table; `None` if it is on demand.
fn capacity_of(found: &TableDescription) -> Option<Capacity> {
    let mode = found.billing_mode_summary.as_ref().and_then(|it| it.billing_mode.as_ref());
    let throughput = found.provisioned_throughput.as_ref();
    let throughput = throughput.filter(|_| mode != Some(&BillingMode::PayPerRequest))?;
    let units = |units: Option<i64>| units.and_then(|units| u64::try_from(units).ok());
    let (reads, writes) = (throughput.read_capacity_units, throughput.write_capacity_units);
    Some(Capacity { reads: units(reads)?, writes: units(writes)? })
}

fn decreases(found: &TableDescription) -> Decreases {
    let Some(throughput) = &found.provisioned_throughput else { return Decreases::default() };
    let today = throughput.number_of_decreases_today;
    let last = throughput.last_decrease_date_time.and_then(|at| at.to_millis().ok());
    Decreases {
        today: today.and_then(|number| u64::try_from(number).ok()).unwrap_or_default(),
        last: last.map(Timestamp::from_unix_millis),
    }
}

/// Has a table a capacity, or has it on demand.
async fn update(table: &Table, capacity: Option<Capacity>) -> Result<(), KeeperError> {
    let units = |units: u64| i64::try_from(units).unwrap_or(i64::MAX);
    let throughput = capacity.and_then(|Capacity { reads, writes }| {
        let throughput = ProvisionedThroughput::builder().read_capacity_units(units(reads));
        throughput.write_capacity_units(units(writes)).build().ok()
    });
    let mode = match throughput {
        Some(_) => BillingMode::Provisioned,
        None => BillingMode::PayPerRequest,
    };
    let update = || {
        let update = table.client().update_table().table_name(table.name());
        let update = update.billing_mode(mode.clone());
        update.set_provisioned_throughput(throughput.clone()).send()
    };
    Ok(unless_missing(table.attempt(update).await.map(drop))?)
}
