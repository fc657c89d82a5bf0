//! Reading through a table.

use std::pin::pin;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::TryStreamExt;
use shared::platform::dynamo::item::{Row, text};
use shared::platform::dynamo::{Query, Table};

use super::Result;
use crate::progress;

/// A query of all items of a partition.
pub(crate) fn partition<'q>(pk: impl Into<String>) -> Query<'q> {
    Query { keys: Some("pk = :pk"), values: vec![(":pk", text(pk))], ..Query::default() }
}

/// A scan for the items that a filter lets through.
pub(crate) fn filtered<'q>(filter: &'q str, values: Vec<(&'q str, AttributeValue)>) -> Query<'q> {
    Query { filter: Some(filter), values, ..Query::default() }
}

/// Shows each item of a table that a query finds. `what` names the items for the progress bar.
pub async fn scan(
    table: &Table,
    what: &'static str,
    query: Query<'_>,
    mut each: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let bar = progress::counter(what);
    let mut pages = pin!(table.pages(query));
    while let Some(page) = pages.try_next().await? {
        bar.inc(page.scanned);
        page.rows.iter().try_for_each(&mut each)?;
    }
    Ok(())
}
