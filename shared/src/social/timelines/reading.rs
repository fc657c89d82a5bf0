//! Reads the entries of timelines. [`hydration`](super::hydration) decides whether they are shown.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;

use super::Timelines;
use crate::platform::dynamo::item::{Item, text};
use crate::platform::dynamo::{BATCH_GET, DynamoError, Query};
use crate::platform::paging::Slice;
use crate::platform::values::{ActorId, Order, SortKey, ViewerId};

/// An entry as stored. Anybody with write access to the table may have put it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    /// The sort key as stored.
    pub sort_key: String,
    /// The actor as stored, if there is one.
    pub actor_id: Option<String>,
    /// The TTL as stored, if there is one.
    pub expires_at: Option<i64>,
}

impl EntryRow {
    /// The activity that the entry points at; `None` if no writer can have written the entry.
    pub fn target(&self) -> Option<(SortKey, ActorId)> {
        let sort_key = self.sort_key.parse::<SortKey>().ok()?;
        Some((sort_key, ActorId::new(self.actor_id.as_deref()?).ok()?))
    }
}

impl Timelines {
    /// Reads a slice of a timeline. Returns the sort key to continue from if there may be more.
    pub async fn entries(
        &self,
        viewer: &ViewerId,
        slice: Slice<'_>,
    ) -> Result<(Vec<EntryRow>, Option<String>), DynamoError> {
        let Slice { span, after, limit } = slice;
        let Some(keys) = span.keys(after) else { return Ok((vec![], None)) };
        let query = Query {
            keys: Some("viewer_id = :viewer AND sort_key BETWEEN :first AND :last"),
            values: vec![
                (":viewer", text(viewer.as_str())),
                (":first", text(keys.first)),
                (":last", text(keys.last)),
            ],
            start: keys.start.map(|key| entry_key(viewer, &key)),
            descending: span.order == Order::Newest,
            limit: Some(i32::try_from(limit).unwrap_or(i32::MAX)),
            ..Query::default()
        };
        let page = self.table().page(&query).await?;
        let next = page.next.and_then(|mut key| into_text(key.remove("sort_key")?));
        let rows = page.rows.into_iter().map(|row| entry_row(row.item));
        Ok((rows.collect(), next))
    }

    /// Those of these viewers that have an entry at a sort key. The viewers must differ.
    pub async fn holders<'v>(
        &self,
        viewers: &'v [ViewerId],
        sort_key: &str,
    ) -> Result<Vec<&'v ViewerId>, DynamoError> {
        let calls = viewers.chunks(BATCH_GET).map(|viewers| {
            let keys = viewers.iter().map(|viewer| entry_key(viewer, sort_key)).collect();
            self.table().batch_get(keys)
        });
        let rows = try_join_all(calls).await?.into_iter().flatten();
        let holders: HashSet<_> =
            rows.filter_map(|mut row| into_text(row.item.remove("viewer_id")?)).collect();
        Ok(viewers.iter().filter(|viewer| holders.contains(viewer.as_str())).collect())
    }
}

pub fn entry_key(viewer: &ViewerId, sort_key: &str) -> Item {
    let viewer = ("viewer_id".to_owned(), text(viewer.as_str()));
    HashMap::from([viewer, ("sort_key".to_owned(), text(sort_key))])
}

pub fn entry_row(mut item: Item) -> EntryRow {
    let number = |value: &AttributeValue| value.as_n().ok()?.parse().ok();
    EntryRow {
        expires_at: item.get("expires_at").and_then(number),
        sort_key: item.remove("sort_key").and_then(into_text).unwrap_or_default(),
        actor_id: item.remove("actor_id").and_then(into_text),
    }
}

fn into_text(value: AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}
