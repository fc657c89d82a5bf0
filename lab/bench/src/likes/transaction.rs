//! What likes are compared with: m3's design, in which each like is one transaction over four tables.
//!
//! m3, a Japanese company, described the likes of its service for physicians in "Likes and their notifications,
//! designed with DynamoDB: harder than expected" (<https://www.m3tech.blog/entry/2023/08/25/110000>, 25 August 2023,
//! in Japanese). Of that article these requirements are taken: a comment shows how many like it, and whether the
//! caller does; a like can be undone and done again; all unread likes of a comment are one notification, which says
//! who they are of; an undone like may stay in it; read ones are kept for a while and then go.
//!
//! The transaction is written down from a description of the article, not copied from it:
//!
//! ```text
//! likes                  put, if it is not there            who likes what
//! counts                 add 1                              how many like it
//! unread notifications   append to the list of who liked    one for a comment, its author's
//! unread numbers         add 1                              how many are unread, of an author
//! read notifications     -                                  a notification that was read moves here, with a TTL
//! ```
//!
//! An undo deletes the like, if it is there, and takes 1 off the count. The condition on the like makes both safe
//! to repeat. How keys are made is not known. Here they are what suits the design best: likes are spread over all
//! partitions, and each table has a limit of its own. With `--m3-tables 1` its rows share one table, so that its
//! limit is that of the design, as it is for an account that pays by the unit.
//!
//! The embedded tables execute one call after the other, so transactions never conflict here. On AWS those that
//! meet at one item at the same time do, and only one of them goes on. The local throttle counts an item as one unit
//! (two in a transaction) whatever its size, though the list of who liked grows; and here a transaction that it
//! refuses takes nothing. All three favour this design.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};
use futures::future::try_join_all;
use nagare::Failure;
use nagare_client::tables::TableNames;
use nagare_local::schema;
use shared::platform::dynamo::item::{Item, list, number, text};
use shared::platform::dynamo::{DynamoError, Table};
use shared::platform::runtime::deadline::Deadline;
use shared::social::likes::LikeChange;
use tokio::time::Instant;

use super::super::ACTOR;
use super::super::stage::{Stage, broken};
use super::plan::{LikesPlan, activity};
use super::report::Counted;

/// How long a client goes on with one transaction.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long it waits at most before it tries again. Longer waits, as SDKs have them, leave capacity unused.
const WAIT: Duration = Duration::from_millis(50);

/// Where its rows are: a table and the names of its keys.
#[derive(Debug, Clone)]
struct Place {
    table: String,
    hash: &'static str,
    range: &'static str,
}

impl Place {
    fn new(table: &str) -> Self {
        let range = "sk";
        Self { table: table.to_owned(), hash: "pk", range }
    }

    fn key(&self, hash: String, range: String) -> Item {
        Item::from([(self.hash.to_owned(), text(hash)), (self.range.to_owned(), text(range))])
    }
}

/// Its four tables, among those that there are.
#[derive(Debug, Clone)]
pub(super) struct Design {
    likes: Place,
    counts: Place,
    notifications: Place,
    numbers: Place,
}

impl Design {
    /// Its rows in four tables.
    pub(super) fn in_four() -> Self {
        let TableNames { timelines, ledger, facts, views, .. } = schema::names();
        let notifications = Place { table: timelines, hash: "viewer_id", range: "sort_key" };
        let [likes, counts, numbers] = [facts, views, ledger].map(|name| Place::new(&name));
        Self { likes, counts, notifications, numbers }
    }

    /// Its rows in one table.
    pub(super) fn in_one() -> Self {
        let place = Place::new(&schema::names().views);
        let [likes, counts, notifications] = [(); 3].map(|()| place.clone());
        Self { likes, counts, notifications, numbers: place }
    }

    /// The transaction of a like or an undo.
    fn transaction(&self, change: &LikeChange) -> Result<Vec<TransactWriteItem>, BuildError> {
        let like =
            self.likes.key(format!("likes#{}", change.viewer_id), change.activity_id.to_string());
        if !change.state.on {
            return Ok(vec![delete(&self.likes, like)?, self.count(change, "-1")?]);
        }
        Ok(vec![
            put(&self.likes, like)?,
            self.count(change, "1")?,
            self.notify(change)?,
            self.unread()?,
        ])
    }

    fn count(&self, change: &LikeChange, by: &str) -> Result<TransactWriteItem, BuildError> {
        let key = self.counts.key(format!("count#{}", change.activity_id), "likes".to_owned());
        update(&self.counts, key, "ADD likes :by", [(":by", number(by))])
    }

    fn notify(&self, change: &LikeChange) -> Result<TransactWriteItem, BuildError> {
        let key = self.notifications.key(format!("unread#{ACTOR}"), change.activity_id.to_string());
        let append = "SET likers = list_append(if_not_exists(likers, :none), :who), liked_at = :at";
        let who = list(vec![text(change.viewer_id.to_string())]);
        let none = list(Vec::new());
        let at = text(change.state.changed_at.to_string());
        update(&self.notifications, key, append, [(":none", none), (":who", who), (":at", at)])
    }

    fn unread(&self) -> Result<TransactWriteItem, BuildError> {
        let key = self.numbers.key(format!("number#{ACTOR}"), "unread".to_owned());
        update(&self.numbers, key, "ADD unread :one", [(":one", number(1))])
    }
}

fn put(place: &Place, item: Item) -> Result<TransactWriteItem, BuildError> {
    let put = Put::builder().table_name(&place.table).set_item(Some(item));
    let put = put.condition_expression(format!("attribute_not_exists({})", place.hash)).build()?;
    Ok(TransactWriteItem::builder().put(put).build())
}

fn delete(place: &Place, key: Item) -> Result<TransactWriteItem, BuildError> {
    let delete = Delete::builder().table_name(&place.table).set_key(Some(key));
    let there = format!("attribute_exists({})", place.hash);
    Ok(TransactWriteItem::builder().delete(delete.condition_expression(there).build()?).build())
}

fn update<const N: usize>(
    place: &Place,
    key: Item,
    expression: &str,
    values: [(&str, AttributeValue); N],
) -> Result<TransactWriteItem, BuildError> {
    let values = values.map(|(name, value)| (name.to_owned(), value));
    let update = Update::builder().table_name(&place.table).set_key(Some(key));
    let update = update.update_expression(expression);
    let update = update.set_expression_attribute_values(Some(Item::from(values))).build()?;
    Ok(TransactWriteItem::builder().update(update).build())
}

/// Delivers all of a plan, N transactions at once. Returns when the last one has ended.
pub(super) async fn run(
    stage: &Stage,
    design: &Design,
    plan: &LikesPlan,
    clients: usize,
) -> Result<Instant, Failure> {
    let next = AtomicUsize::new(0);
    let client = || async {
        while let Some(change) = plan.deliveries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let transaction = design.transaction(change).map_err(|e| broken(&e))?;
            if commit(stage.tables.views.table(), transaction).await? {
                stage.meter.store();
            }
        }
        Ok::<_, Failure>(())
    };
    try_join_all((0..clients).map(|_| client())).await?;
    Ok(Instant::now())
}

/// Tries until it is done, or refused by its condition: then it was done before.
async fn commit(table: &Table, items: Vec<TransactWriteItem>) -> Result<bool, DynamoError> {
    let deadline = Deadline::after(PATIENCE);
    let table = table.until(deadline);
    loop {
        match table.transact(items.clone()).await {
            Err(error) if error.is_retryable() => {
                deadline.sleep(WAIT.mul_f64(fastrand::f64())).await?;
            }
            ended => return ended,
        }
    }
}

/// What it shows in the end.
pub(super) async fn counted(stage: &Stage, design: &Design) -> Result<Counted, Failure> {
    let Design { counts, notifications, .. } = design;
    let activity = activity()?;
    let count =
        get(stage, counts, counts.key(format!("count#{activity}"), "likes".to_owned())).await?;
    let likes = count.get("likes").and_then(|likes| likes.as_n().ok()?.parse().ok());
    let key = notifications.key(format!("unread#{ACTOR}"), activity.to_string());
    let unread = get(stage, notifications, key).await?;
    let likers = unread.get("likers").and_then(|likers| likers.as_l().ok());
    Ok(Counted { likes: likes.unwrap_or(0), notified: likers.map(|likers| likers.len() as u64) })
}

async fn get(stage: &Stage, place: &Place, key: Item) -> Result<Item, Failure> {
    let table = stage.tables.dynamo.table(&place.table);
    let row = table.get(key).await?;
    Ok(row.map(|row| row.item).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use shared::platform::values::Timestamp;

    use super::*;

    async fn delivered(stage: &Stage, design: &Design, plan: &LikesPlan) -> f64 {
        stage.meter.reset();
        run(stage, design, plan, 4).await.unwrap();
        stage.meter.read().all_units()
    }

    #[tokio::test]
    async fn a_like_is_eight_write_units_and_counts_once() {
        let now = Timestamp::from_unix_millis(1_795_000_000_000);
        for design in [Design::in_four(), Design::in_one()] {
            let stage = Stage::new(&"".parse().unwrap()).unwrap();
            let (like, undo) = (LikesPlan::one(now).unwrap(), LikesPlan::undo(now).unwrap());
            assert_eq!(delivered(&stage, &design, &like).await, 8.0);
            assert_eq!(delivered(&stage, &design, &like).await, 0.0);
            assert_eq!(stage.meter.read().refused, 1);
            assert_eq!(counted(&stage, &design).await.unwrap().likes, 1);
            assert_eq!(delivered(&stage, &design, &undo).await, 4.0);
            assert_eq!(counted(&stage, &design).await.unwrap().likes, 0);
            let many = LikesPlan::of(100, [0.0, 0.3], now).unwrap();
            delivered(&stage, &design, &many).await;
            let shown = counted(&stage, &design).await.unwrap();
            // The viewer whose like was undone has liked it again.
            assert_eq!((shown.likes, shown.notified), (100, Some(101)));
        }
    }
}
