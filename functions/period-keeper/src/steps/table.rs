//! Makes, seals and drops the table of a period.

use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, PointInTimeRecoverySpecification,
    ScalarAttributeType, SseDescription, SseSpecification, SseType, StreamSpecification,
    StreamViewType, TableClass, TableDescription, TableStatus,
};
use shared::history::events::{MadeTable, PeriodRow, PeriodState, TableSeal};
use shared::platform::dynamo::{DynamoError, Table};
use shared::platform::runtime::retry::Backoff;

use super::outcome::Outcome;
use crate::error::KeeperError;
use crate::keeper::Keeper;

/// How long a tick waits for a table, which usually takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(30);

impl Keeper {
    /// Makes the table, turns on its backups, maps its stream, and notes its ARN.
    pub(crate) async fn make(&self, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        let table = self.tables.table(row.period);
        if describe(&table).await?.is_none() {
            create(&table).await?;
        }
        let Some(found) = wait_for(&table, TableStatus::Active).await? else {
            return Ok(Outcome::Waiting);
        };
        if let Some(difference) = difference(&found) {
            let why =
                format!("a table {} is there that was not made so: {difference}", table.name());
            return self.dispute(row, why).await;
        }
        let Some(made) = identity(&found) else { return Ok(Outcome::Waiting) };
        set_recovery(&table, true).await?;
        if !self.map(&found).await? {
            return Ok(Outcome::Waiting);
        }
        let state = PeriodState::Made;
        self.moved(PeriodRow { state, table: Some(made), ..row.clone() }).await
    }

    /// Denies everybody all writes of items.
    pub(crate) async fn seal(&self, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        let table = self.tables.table(row.period);
        if let Some(why) = self.stranger(row, &table).await? {
            return self.dispute(row, why).await;
        }
        let arn = row.table.as_ref().map(|made| made.arn.as_str()).unwrap_or_default();
        self.tables.seal((row.period, arn), TableSeal::All).await?;
        let row = PeriodRow { state: PeriodState::Sealed, ..row.clone() };
        self.moved(row).await
    }

    /// Drops the table, if it is the one that was archived.
    pub(crate) async fn drop_table(&self, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        let table = self.tables.table(row.period);
        let found = match describe(&table).await? {
            Some(found) => found,
            // The tick that dropped it died before it noted that.
            None if row.dropping => return self.dropped(row).await,
            None => {
                let why = format!("the table {} is gone, and nobody has dropped it", table.name());
                return self.dispute(row, why).await;
            }
        };
        if let Some(why) = differs_from_archive(row, &found) {
            return self.dispute(row, why).await;
        }
        if !row.dropping {
            if let Some(why) = self.witness_differs(row).await? {
                return self.dispute_until_folded(row, why).await;
            }
            let row = PeriodRow { dropping: true, ..row.clone() };
            return self.moved(row).await;
        }
        if found.table_status != Some(TableStatus::Deleting) {
            // A keeper that was frozen may have made one since.
            if !self.unmap(&found).await? {
                return Ok(Outcome::Waiting);
            }
            if found.deletion_protection_enabled == Some(true) {
                let update = || {
                    let update = table.client().update_table().table_name(table.name());
                    update.deletion_protection_enabled(false).send()
                };
                unless_missing(table.attempt(update).await.map(drop))?;
            }
            let delete = || table.client().delete_table().table_name(table.name()).send();
            unless_missing(table.attempt(delete).await.map(drop))?;
        }
        match wait_until_gone(&table).await? {
            true => self.dropped(row).await,
            false => Ok(Outcome::Waiting),
        }
    }

    async fn dropped(&self, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        // The spread of its customers is no longer needed, and its row stays permanently.
        let spread = std::collections::BTreeMap::new();
        let row = PeriodRow { state: PeriodState::Dropped, folded: true, spread, ..row.clone() };
        self.moved(row).await
    }

    /// Why the table of a period is not the one that was made for it, if it is not.
    pub(crate) async fn stranger(
        &self,
        row: &PeriodRow,
        table: &Table,
    ) -> Result<Option<String>, KeeperError> {
        let found = describe(table).await?;
        let found = found.ok_or_else(|| DynamoError::TableMissing(table.name().to_owned()))?;
        Ok(strange(row, &found))
    }
}

/// Why a table is not the archived one. By the time of the drop its number of items is final.
fn differs_from_archive(row: &PeriodRow, found: &TableDescription) -> Option<String> {
    if let Some(why) = strange(row, found) {
        return Some(why);
    }
    let Some(tally) = row.tally else { return Some("there is no tally of it".to_owned()) };
    let items = found.item_count.and_then(|items| u64::try_from(items).ok());
    let items = items.unwrap_or_default();
    let is_there = found.table_status != Some(TableStatus::Deleting);
    (is_there && items != tally.events)
        .then(|| format!("the table has {items} items, and its archive {} events", tally.events))
}

/// Why a table is not the one in a row, if it is not.
pub(super) fn strange(row: &PeriodRow, found: &TableDescription) -> Option<String> {
    let found = identity(found);
    if found.is_some() && found == row.table {
        return None;
    }
    let said = |made: Option<&MadeTable>| match made {
        Some(made) => format!("{} made at {}", made.arn, made.created_millis),
        None => "none".to_owned(),
    };
    let (found, noted) = (said(found.as_ref()), said(row.table.as_ref()));
    Some(format!("the table is {found}, and {noted} was noted"))
}

fn identity(found: &TableDescription) -> Option<MadeTable> {
    let created = found.creation_date_time.as_ref()?;
    let created_millis = created.to_millis().ok()?;
    Some(MadeTable { arn: found.table_arn.clone()?, created_millis })
}

/// Turns point-in-time recovery of a table on or off.
pub(super) async fn set_recovery(table: &Table, enabled: bool) -> Result<(), DynamoError> {
    let set = table.attempt(|| {
        let specification = PointInTimeRecoverySpecification::builder();
        let specification = specification.point_in_time_recovery_enabled(enabled).build().ok();
        let update = table.client().update_continuous_backups().table_name(table.name());
        update.set_point_in_time_recovery_specification(specification).send()
    });
    set.await.map(|_| ())
}

/// Moves a table to the class for infrequent access: its storage costs two fifths, its reads a quarter more. A refusal is not retried,
/// because only the price depends on it.
pub(super) async fn set_rarely_read(table: &Table) {
    let patient = table.until(table.deadline().within(PATIENCE));
    if let Err(error) = rarely_read(&patient).await {
        let table = table.name();
        tracing::warn!(table, "the table stays of the standard class: {error}");
    }
}

async fn rarely_read(table: &Table) -> Result<(), KeeperError> {
    let found = describe(table).await?;
    let class = found.and_then(|found| found.table_class_summary?.table_class);
    let rarely_read = TableClass::StandardInfrequentAccess;
    if class.as_ref() == Some(&rarely_read) {
        return Ok(());
    }
    let update = || {
        let update = table.client().update_table().table_name(table.name());
        update.table_class(rarely_read.clone()).send()
    };
    Ok(unless_missing(table.attempt(update).await.map(drop))?)
}

pub(crate) async fn describe(table: &Table) -> Result<Option<TableDescription>, KeeperError> {
    let describe = || table.client().describe_table().table_name(table.name()).send();
    match table.attempt(describe).await {
        Ok(answer) => Ok(answer.table),
        Err(DynamoError::TableMissing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The table is gone, or somebody else is changing it: the caller reads its state next.
pub(super) fn unless_missing(outcome: Result<(), DynamoError>) -> Result<(), DynamoError> {
    match outcome {
        Err(DynamoError::TableMissing(_)) => Ok(()),
        outcome => outcome,
    }
}

/// Requests the table. An existing one is noticed when its state is read.
async fn create(table: &Table) -> Result<(), KeeperError> {
    let create = || {
        let create = table.client().create_table().table_name(table.name());
        let stream = StreamSpecification::builder().stream_enabled(true);
        let stream = stream.stream_view_type(StreamViewType::NewAndOldImages).build().ok();
        create
            .set_attribute_definitions(Some(attributes()))
            .set_key_schema(Some(keys()))
            .billing_mode(BillingMode::PayPerRequest)
            .deletion_protection_enabled(true)
            .set_stream_specification(stream)
            .sse_specification(SseSpecification::builder().enabled(true).build())
            .send()
    };
    // `ResourceInUseException`: it exists, perhaps from an attempt whose response was lost.
    Ok(unless_missing(table.attempt(create).await.map(drop))?)
}

fn attributes() -> Vec<AttributeDefinition> {
    let text = |name| {
        let attribute = AttributeDefinition::builder().attribute_name(name);
        attribute.attribute_type(ScalarAttributeType::S).build().ok()
    };
    ["pk", "sk"].into_iter().filter_map(text).collect()
}

fn keys() -> Vec<KeySchemaElement> {
    let key =
        |(name, kind)| KeySchemaElement::builder().attribute_name(name).key_type(kind).build().ok();
    [("pk", KeyType::Hash), ("sk", KeyType::Range)].into_iter().filter_map(key).collect()
}

/// The difference between a table and what this makes, if there is one.
fn difference(found: &TableDescription) -> Option<&'static str> {
    let is_on_demand = found.billing_mode_summary.as_ref().and_then(|it| it.billing_mode.as_ref())
        == Some(&BillingMode::PayPerRequest);
    let view = found.stream_specification.as_ref().filter(|stream| stream.stream_enabled);
    let view = view.and_then(|stream| stream.stream_view_type.as_ref());
    let mut attributes_found = found.attribute_definitions.clone().unwrap_or_default();
    attributes_found.sort_by(|a, b| a.attribute_name.cmp(&b.attribute_name));
    let differs = [
        (found.key_schema.as_deref() != Some(keys().as_slice()), "its keys"),
        (attributes_found != attributes(), "its attributes"),
        (!is_on_demand, "how it is paid for"),
        (view != Some(&StreamViewType::NewAndOldImages), "its stream"),
        (found.deletion_protection_enabled != Some(true), "its protection against deletion"),
        (!has_account_key(found.sse_description.as_ref()), "its encryption"),
    ];
    differs.into_iter().find_map(|(differs, what)| differs.then_some(what))
}

/// True if a table is encrypted with a key of the account, as the tables of the template are. DynamoDB describes no encryption with its
/// own key.
fn has_account_key(encryption: Option<&SseDescription>) -> bool {
    encryption.and_then(|it| it.sse_type.as_ref()) == Some(&SseType::Kms)
}

/// Waits a little until a table has a status.
async fn wait_for(
    table: &Table,
    status: TableStatus,
) -> Result<Option<TableDescription>, KeeperError> {
    let (mut backoff, patience) = (Backoff::default(), table.deadline().within(PATIENCE));
    loop {
        let found = describe(table).await?;
        if found.as_ref().is_some_and(|it| it.table_status.as_ref() == Some(&status)) {
            return Ok(found);
        }
        if backoff.wait(patience).await.is_err() {
            return Ok(None);
        }
    }
}

/// Waits a little until a table is gone. Returns false if it is not.
async fn wait_until_gone(table: &Table) -> Result<bool, KeeperError> {
    let (mut backoff, patience) = (Backoff::default(), table.deadline().within(PATIENCE));
    loop {
        if describe(table).await?.is_none() {
            return Ok(true);
        }
        if backoff.wait(patience).await.is_err() {
            return Ok(false);
        }
    }
}
