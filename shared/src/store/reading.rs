//! Reading timelines: which entries there are, and the facts that say whether they are shown.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use futures::future::try_join_all;

use super::activities::read_record;
use super::follows::read_state;
use super::item::{Item, Row, ledger_key, text};
use super::{Deadline, Store, StoreError};
use crate::activity::{ActivityKey, ActivityRecord, Published};
use crate::cursor::Order;
use crate::follow::FollowState;
use crate::id::{ActorId, ViewerId};
use crate::keys::{self, LedgerKey};
use crate::retry::Backoff;
use crate::sort_key::SortKey;
use crate::timestamp::Timestamp;

/// Keys one BatchGetItem call takes.
const BATCH_GET: usize = 100;

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

/// What the ledger says about some entries of one viewer.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    records: HashMap<ActivityKey, ActivityRecord>,
    edges: HashMap<ActorId, FollowState>,
}

impl Facts {
    /// What the viewer is shown of an entry: nothing if they do not follow the actor, if the
    /// activity was deleted, or if the entry is not where the activity's publish put it.
    #[must_use]
    pub fn shown(&self, sort_key: &SortKey, actor: &ActorId) -> Option<Published> {
        self.edges.get(actor).filter(|edge| edge.following)?;
        let activity_id = sort_key.activity_id.clone();
        let record = self.records.get(&ActivityKey { activity_id, actor_id: actor.clone() })?;
        record.visible().filter(|published| published.at == sort_key.published_at)
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

    /// Reads what the ledger says about entries: an edge for each actor, a record for each activity.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn facts(
        &self,
        viewer: &ViewerId,
        entries: &[(SortKey, ActorId)],
        deadline: Deadline,
    ) -> Result<Facts, StoreError> {
        let actors: HashSet<_> = entries.iter().map(|(_, actor)| actor).collect();
        let mut edges: HashMap<LedgerKey, &ActorId> = HashMap::new();
        edges.extend(actors.into_iter().map(|actor| (keys::edge(viewer, actor), actor)));
        let mut records: HashMap<LedgerKey, ActivityKey> = HashMap::new();
        records.extend(entries.iter().map(|(key, actor)| {
            let (activity_id, actor_id) = (key.activity_id.clone(), actor.clone());
            let key = ActivityKey { activity_id, actor_id };
            (keys::activity(&key), key)
        }));
        let wanted: Vec<_> = edges.keys().chain(records.keys()).cloned().collect();
        let pages = wanted.chunks(BATCH_GET).map(|keys| self.batch_get(keys, deadline));
        let mut facts = Facts::default();
        for item in try_join_all(pages).await?.into_iter().flatten() {
            let row = Row { table: &self.tables.ledger, item };
            let key = LedgerKey { pk: row.text("pk")?.to_owned(), sk: row.text("sk")?.to_owned() };
            if let Some(actor) = edges.get(&key) {
                facts.edges.insert((*actor).clone(), read_state(&row)?);
            } else if let Some(activity) = records.remove(&key) {
                facts.records.insert(activity, read_record(&row)?);
            }
        }
        Ok(facts)
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

    /// Reads ledger items by key; the keys DynamoDB gives back as unprocessed are asked for again.
    async fn batch_get(
        &self,
        keys: &[LedgerKey],
        deadline: Deadline,
    ) -> Result<Vec<Item>, StoreError> {
        let table = &self.tables.ledger;
        let mut left: Vec<_> = keys.iter().cloned().map(ledger_key).collect();
        let (mut found, mut backoff) = (Vec::with_capacity(left.len()), Backoff::default());
        while !left.is_empty() {
            let request = KeysAndAttributes::builder().set_keys(Some(left)).consistent_read(true);
            let request = request.build().map_err(|e| StoreError::Rejected {
                code: "request not built".to_owned(),
                message: e.to_string(),
            })?;
            let answer = self
                .attempt(deadline, || {
                    self.client.batch_get_item().request_items(table, request.clone()).send()
                })
                .await?;
            let items = answer.responses.and_then(|mut tables| tables.remove(table));
            found.extend(items.unwrap_or_default());
            let unprocessed = answer.unprocessed_keys.and_then(|mut keys| keys.remove(table));
            left = unprocessed.map(|keys| keys.keys).unwrap_or_default();
            self.meter.unprocessed(left.len());
            if !left.is_empty() {
                backoff.wait(deadline).await.map_err(|_| StoreError::Throttled)?;
            }
        }
        Ok(found)
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

fn into_text(value: AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}
