//! Pages of what an actor published, of any age, without deleted activities.

use futures::future::try_join_all;

use super::outbox::outbox_row;
use super::{Activities, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::paging::{RowChunk, Slice, merged};
use crate::platform::values::{ActorId, Kind, SortKey};

impl Activities {
    /// Reads a slice of an actor's outbox. Leaves out rows that are marked as deleted.
    pub async fn published_by(
        &self,
        actor: &ActorId,
        slice: Slice<'_>,
    ) -> Result<RowChunk<SortKey>, DynamoError> {
        let pk = keys::outbox(actor);
        RowChunk::read(&self.ledger, &pk, slice, published_row).await
    }

    /// Reads rows of activities that may be of these kinds; the records decide. One Query for each kind, all at once.
    pub async fn published_of_kinds(
        &self,
        actor: &ActorId,
        kinds: impl IntoIterator<Item = &Kind>,
        slice: Slice<'_>,
    ) -> Result<RowChunk<SortKey>, DynamoError> {
        let lists = kinds.into_iter().map(|kind| async move {
            let pk = keys::of_kind(actor, kind);
            RowChunk::read(&self.ledger, &pk, slice, kind_row).await
        });
        Ok(merged(try_join_all(lists).await?, slice.span.order, ToString::to_string))
    }
}

fn published_row(row: &Row<'_>) -> Result<Option<SortKey>, DynamoError> {
    let row = outbox_row(row)?;
    Ok((!row.deleted).then_some(row.sort_key))
}

fn kind_row(row: &Row<'_>) -> Result<Option<SortKey>, DynamoError> {
    row.parsed("sk", "a sort key").map(Some)
}
