//! What only operators do: read a whole timeline, read everybody a viewer follows, and remove an entry
//! that no command accounts for.

use crate::Result;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, TransactWriteItem};
use shared::platform::dynamo::Query;
use shared::platform::dynamo::item::{text, truth};
use shared::platform::ledger::{BY_FOLLOWER, Ledger};
use shared::platform::values::{ActorId, SortKey, ViewerId};
use shared::social::activities::{ActivityKey, keys};
use shared::social::timelines::{EntryRow, Timelines, entry_key, entry_row};

/// Reads a whole timeline as it is stored, including what has expired and what is not even an entry.
///
pub(crate) async fn stored_entries(
    timelines: &Timelines,
    viewer: &ViewerId,
) -> Result<Vec<EntryRow>> {
    let query = Query {
        keys: Some("viewer_id = :viewer"),
        values: vec![(":viewer", text(viewer.as_str()))],
        ..Query::default()
    };
    let rows = timelines.table().all(query).await?;
    Ok(rows.into_iter().map(|row| entry_row(row.item)).collect())
}

/// Reads whom a viewer follows or followed. The index lags slightly behind the edges.
pub(crate) async fn followees(ledger: &Ledger, viewer: &ViewerId) -> Result<Vec<ActorId>> {
    let query = Query {
        index: Some(BY_FOLLOWER),
        keys: Some("follower_id = :viewer"),
        values: vec![(":viewer", text(viewer.as_str()))],
        ..Query::default()
    };
    let rows = ledger.table().all(query).await?;
    rows.iter().map(|row| row.parsed("followee_id", "an id")).collect()
}

/// Removes an entry that its activity does not account for, unless it does by now: a publish may be
/// writing this very entry. An entry of an activity that is published at its sort key is left alone;
/// whether the viewer follows is checked by [`Timelines::purge`].
/// If it fails, the entry may be removed.
pub(crate) async fn delete_unaccounted(
    timelines: &Timelines,
    ledger: &Ledger,
    viewer: &ViewerId,
    row: &EntryRow,
) -> Result<()> {
    // The row as it was read: whatever a writer puts there names the true actor.
    let seen = row.actor_id.clone().unwrap_or_default();
    let delete = Delete::builder()
        .table_name(timelines.table().name())
        .set_key(Some(entry_key(viewer, &row.sort_key)))
        .condition_expression("NOT attribute_type(actor_id, :string) OR actor_id = :seen")
        .expression_attribute_values(":string", text("S"))
        .expression_attribute_values(":seen", text(seen))
        .build()?;
    let mut items = vec![TransactWriteItem::builder().delete(delete).build()];
    if let Some((SortKey { published_at, activity_id }, actor_id)) = row.target() {
        let check = ConditionCheck::builder()
            .table_name(ledger.table().name())
            .set_key(Some(keys::record(&ActivityKey { activity_id, actor_id }).into_item()))
            .condition_expression(
                "attribute_not_exists(published_at) OR published_at <> :there OR deleted = :yes",
            )
            .expression_attribute_values(":there", text(published_at.to_string()))
            .expression_attribute_values(":yes", truth(true))
            .build()?;
        items.push(TransactWriteItem::builder().condition_check(check).build());
    }
    let table = timelines.table();
    table.transact_again(items).await.map(|_| ())
}
