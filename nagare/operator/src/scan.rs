//! Reading through a table.

use std::pin::pin;

use crate::progress;
use futures::TryStreamExt;
use shared::dynamo::item::Row;
use shared::dynamo::{DynamoError, Query, Table};

/// Shows each item of a table that a query finds. `what` names the items for the progress bar.
///
/// # Errors
/// [`DynamoError`], of a call or of what is shown.
pub async fn scan(
    table: &Table,
    what: &'static str,
    query: Query<'_>,
    mut each: impl FnMut(&Row<'_>) -> Result<(), DynamoError>,
) -> Result<(), DynamoError> {
    let bar = progress::counter(what);
    let mut pages = pin!(table.pages(query));
    while let Some(page) = pages.try_next().await? {
        bar.inc(page.scanned);
        page.rows.iter().try_for_each(&mut each)?;
    }
    bar.finish_and_clear();
    Ok(())
}
