//! Running totals among the views: items of one partition, each with the sum up to its sort key. The sum at any point is in
//! the last item before that point, so reading it takes one item.
//!
//! An item adds to the one before it. So it may only be written once all items before it exist; then every writer computes
//! the same item, however often.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};

use super::{DerivedItem, Views};
use crate::platform::dynamo::item::{Key, text};
use crate::platform::dynamo::{DynamoError, IN_FLIGHT, Query};

impl Views {
    /// The totals of these numbers before a key: those of the last item before it.
    pub async fn total_before(&self, key: &Key, names: &[&str]) -> Result<Vec<i64>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk AND sk < :sk"),
            values: vec![(":pk", text(key.pk.as_str())), (":sk", text(key.sk.as_str()))],
            descending: true,
            limit: Some(1),
            ..Query::default()
        };
        let page = self.table().page(&query).await?;
        let Some(last) = page.rows.first() else { return Ok(vec![0; names.len()]) };
        names.iter().map(|name| last.number(name)).collect()
    }

    /// Writes derived items of views that are written; idempotent. Running totals are written after those that they add to.
    ///
    /// # Errors
    /// [`DynamoError`]; some of them may be written.
    pub fn put_all<'a>(
        &'a self,
        items: &'a [DerivedItem],
    ) -> BoxFuture<'a, Result<(), DynamoError>> {
        Box::pin(async move {
            let mut whole = Vec::with_capacity(items.len());
            // Items with the same sort key are in different partitions.
            let mut by_place: BTreeMap<&str, Vec<&DerivedItem>> = BTreeMap::new();
            for item in items {
                match item.goes_on {
                    true => by_place.entry(&item.key.sk).or_default().push(item),
                    false => whole.push(item.clone()),
                }
            }
            self.put_whole(&whole).await?;
            for items in by_place.into_values() {
                let totals = items.into_iter().map(|item| self.going_on(item));
                let totals = stream::iter(totals.collect::<Vec<_>>()).buffer_unordered(IN_FLIGHT);
                self.put_whole(&totals.try_collect::<Vec<_>>().await?).await?;
            }
            Ok(())
        })
    }

    async fn going_on(&self, item: &DerivedItem) -> Result<DerivedItem, DynamoError> {
        let names: Vec<_> = item.numbers.iter().map(|(name, _)| *name).collect();
        let before = self.total_before(&item.key, &names).await?;
        let numbers = item.numbers.iter().zip(before);
        let numbers = numbers.map(|((name, number), before)| (*name, number + before)).collect();
        Ok(DerivedItem {
            texts: item.texts.clone(),
            ..DerivedItem::total(item.key.clone(), numbers)
        })
    }
}
