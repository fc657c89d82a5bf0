//! Reading timelines: which entries there are. [`hydration`](super::hydration) says whether they are
//! shown.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::item::{Item, text};
use super::{Deadline, Store, StoreError};
use crate::cursor::Order;
use crate::id::{ActorId, ViewerId};
use crate::sort_key::SortKey;
use crate::timestamp::Timestamp;

/// A stretch of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first instant in it.
    pub from: Timestamp,
    /// The first instant beyond it, if it ends.
    pub to: Option<Timestamp>,
    /// Which end to begin at.
    pub order: Order,
}

/// An entry as it stands in the table, which anybody with write access may have put there.
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
    /// What the entry points at, if it is one that a writer could have written.
    #[must_use]
    pub fn target(&self) -> Option<(SortKey, ActorId)> {
        let sort_key = SortKey::parse(&self.sort_key).ok()?;
        Some((sort_key, ActorId::new(self.actor_id.as_deref()?).ok()?))
    }
}

impl Store {
    /// Reads at most `limit` entries of a stretch, beyond a stored sort key if one is given.
    /// Returns the sort key to go on from if the table may hold more.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn entries(
        &self,
        viewer: &ViewerId,
        span: Span,
        after: Option<&str>,
        limit: usize,
        deadline: Deadline,
    ) -> Result<(Vec<EntryRow>, Option<String>), StoreError> {
        let first = span.from.to_string();
        // `~` sorts behind every character of a key, so nothing in the last millisecond is missed.
        let last = span.to.map_or_else(|| format!("{}~", Timestamp::LAST), |to| to.to_string());
        // DynamoDB refuses a start key outside the condition, and one that retention has passed by
        // lies outside: what was beyond it is then either all of the span or nothing.
        let after = match (after, span.order) {
            (Some(place), Order::Newest) if place < first.as_str() => return Ok((vec![], None)),
            (Some(place), Order::Oldest) if place > last.as_str() => return Ok((vec![], None)),
            (Some(place), _) if (first.as_str()..=last.as_str()).contains(&place) => Some(place),
            _ => None,
        };
        if first > last {
            return Ok((vec![], None));
        }
        let answer = self
            .attempt(deadline, || {
                self.client
                    .query()
                    .table_name(&self.tables.timelines)
                    .consistent_read(true)
                    .key_condition_expression(
                        "viewer_id = :viewer AND sort_key BETWEEN :first AND :last",
                    )
                    .expression_attribute_values(":viewer", text(viewer.as_str()))
                    .expression_attribute_values(":first", text(&first))
                    .expression_attribute_values(":last", text(&last))
                    .set_exclusive_start_key(after.map(|place| entry_key(viewer, place)))
                    .scan_index_forward(span.order == Order::Oldest)
                    .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                    .send()
            })
            .await?;
        let next = answer.last_evaluated_key.and_then(|mut key| into_text(key.remove("sort_key")?));
        let rows = answer.items.unwrap_or_default().into_iter().map(entry_row);
        Ok((rows.collect(), next))
    }

    /// How many entries the table says it holds. The embedded engine counts them; DynamoDB brings the
    /// number up to date every six hours or so.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn entry_count(&self, deadline: Deadline) -> Result<u64, StoreError> {
        let table = &self.tables.timelines;
        let answer =
            self.attempt(deadline, || self.client.describe_table().table_name(table).send());
        let count = answer.await?.table.and_then(|table| table.item_count).unwrap_or(0);
        Ok(u64::try_from(count).unwrap_or(0))
    }
}

pub(super) fn entry_key(viewer: &ViewerId, sort_key: &str) -> Item {
    let viewer = ("viewer_id".to_owned(), text(viewer.as_str()));
    HashMap::from([viewer, ("sort_key".to_owned(), text(sort_key))])
}

pub(super) fn entry_row(mut item: Item) -> EntryRow {
    let number = |value: &AttributeValue| value.as_n().ok()?.parse().ok();
    EntryRow {
        expires_at: item.get("expires_at").and_then(number),
        sort_key: item.remove("sort_key").and_then(into_text).unwrap_or_default(),
        actor_id: item.remove("actor_id").and_then(into_text),
    }
}

pub(super) fn into_text(value: AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}
