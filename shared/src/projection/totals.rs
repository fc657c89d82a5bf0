//! Running totals among the views: items of one partition, each of which says what something comes to up to there. What
//! it came to at any point is said by the last item before that point, so by one item.
//!
//! An item goes on from the one before it. Whoever writes one therefore has to know that those before it are all
//! there; then it comes to the same whoever writes it, and however often.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};

use super::{DerivedItem, Views};
use crate::dynamo::item::{Item, Key, text};
use crate::dynamo::{DynamoError, IN_FLIGHT, Query};
use crate::runtime::deadline::Deadline;

/// The attribute that all running totals have. An item without it counts for itself alone, as those of an earlier
/// version do.
pub(super) const RUNNING: &str = "running";

/// True if an item is a running total.
#[must_use]
pub fn is_running(item: &Item) -> bool {
    item.contains_key(RUNNING)
}

impl Views {
    /// What these numbers come to before a key: those of the last item before it. Where that is no running total, and
    /// those before it are not, of all up to one that is.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn total_before(
        &self,
        key: &Key,
        names: &[&str],
        deadline: Deadline,
    ) -> Result<Vec<i64>, DynamoError> {
        let mut query = Query {
            keys: Some("pk = :pk AND sk < :sk"),
            values: vec![(":pk", text(key.pk.as_str())), (":sk", text(key.sk.as_str()))],
            descending: true,
            limit: Some(1),
            ..Query::default()
        };
        let mut total = vec![0; names.len()];
        loop {
            let page = self.table().page(&query, deadline).await?;
            for row in &page.rows {
                for (sum, name) in total.iter_mut().zip(names) {
                    *sum += row.number(name)?;
                }
                if is_running(&row.item) {
                    return Ok(total);
                }
            }
            if page.next.is_none() {
                return Ok(total);
            }
            (query.start, query.limit) = (page.next, None);
        }
    }

    /// Writes items that follow from views that are written, however often: those that go on from others after those.
    ///
    /// # Errors
    /// [`DynamoError`]; some of them may be written.
    pub async fn put_all(
        &self,
        items: &[DerivedItem],
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let mut whole = Vec::with_capacity(items.len());
        // Those of one sort key are of different partitions.
        let mut by_place: BTreeMap<&str, Vec<&DerivedItem>> = BTreeMap::new();
        for item in items {
            match item.goes_on {
                true => by_place.entry(&item.key.sk).or_default().push(item),
                false => whole.push(item.clone()),
            }
        }
        self.put_whole(&whole, deadline).await?;
        for items in by_place.into_values() {
            let totals = items.into_iter().map(|item| self.going_on(item, deadline));
            let totals = stream::iter(totals.collect::<Vec<_>>()).buffer_unordered(IN_FLIGHT);
            self.put_whole(&totals.try_collect::<Vec<_>>().await?, deadline).await?;
        }
        Ok(())
    }

    async fn going_on(
        &self,
        item: &DerivedItem,
        deadline: Deadline,
    ) -> Result<DerivedItem, DynamoError> {
        let names: Vec<_> = item.numbers.iter().map(|(name, _)| *name).collect();
        let before = self.total_before(&item.key, &names, deadline).await?;
        let numbers = item.numbers.iter().zip(before);
        let numbers = numbers.map(|((name, number), before)| (*name, number + before)).collect();
        Ok(DerivedItem {
            texts: item.texts.clone(),
            ..DerivedItem::total(item.key.clone(), numbers)
        })
    }
}
