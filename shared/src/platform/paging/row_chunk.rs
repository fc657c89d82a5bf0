//! Chunks of rows of lists. Several lists can be merged into one, in their common order.

use crate::platform::dynamo::item::{Row, text};
use crate::platform::dynamo::{DynamoError, Query};
use crate::platform::ledger::{Ledger, LedgerKey};
use crate::platform::values::{Order, Span};

/// Rows of a list, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChunk<R> {
    pub rows: Vec<R>,
    /// The number of rows read for them, including malformed ones.
    pub read: usize,
    /// The stored key to continue after, if there may be more.
    pub next: Option<String>,
}

/// The rows of a list to read.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    pub span: Span,
    /// The stored key to read after.
    pub after: Option<&'a str>,
    /// The most rows to read.
    pub limit: usize,
}

impl<R> RowChunk<R> {
    /// Reads a slice of a list. The list is a partition of the ledger with sort keys of activities. Leaves out rows for which `row`
    /// returns nothing.
    ///
    /// # Errors
    /// [`DynamoError`], or that of `row`.
    pub async fn read(
        ledger: &Ledger,
        pk: &str,
        slice: Slice<'_>,
        row: fn(&Row<'_>) -> Result<Option<R>, DynamoError>,
    ) -> Result<Self, DynamoError> {
        let Slice { span, after, limit } = slice;
        let Some(keys) = span.keys(after) else {
            return Ok(Self { rows: Vec::new(), read: 0, next: None });
        };
        let start = keys.start.map(|sk| LedgerKey { pk: pk.to_owned(), sk }.into_item());
        let query = Query {
            keys: Some("pk = :pk AND sk BETWEEN :first AND :last"),
            values: vec![
                (":pk", text(pk)),
                (":first", text(keys.first)),
                (":last", text(keys.last)),
            ],
            start,
            descending: span.order == Order::Newest,
            limit: Some(i32::try_from(limit).unwrap_or(i32::MAX)),
            ..Query::default()
        };
        let page = ledger.table().page(&query).await?;
        let read = page.rows.len();
        let rows =
            page.rows.iter().map(row).filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let next = page.next.and_then(|mut key| key.remove("sk"));
        Ok(Self { rows, read, next: next.and_then(|sk| sk.as_s().ok().cloned()) })
    }
}

/// Merges chunks of several lists. A repeated key is left out: it is the same row, listed twice.
///
/// The result ends at the nearest key at which a chunk ends, because that list may have more rows after it.
pub fn merged<R>(
    chunks: Vec<RowChunk<R>>,
    order: Order,
    key: impl Fn(&R) -> String,
) -> RowChunk<R> {
    let ends = chunks.iter().filter_map(|chunk| chunk.next.clone());
    let next = match order {
        Order::Newest => ends.max(),
        Order::Oldest => ends.min(),
    };
    let read = chunks.iter().map(|chunk| chunk.read).sum();
    let mut rows: Vec<_> = chunks
        .into_iter()
        .flat_map(|chunk| chunk.rows)
        .map(|row| (key(&row), row))
        .filter(|(key, _)| match (&next, order) {
            (None, _) => true,
            (Some(next), Order::Newest) => key >= next,
            (Some(next), Order::Oldest) => key <= next,
        })
        .collect();
    rows.sort_by(|(one, _), (other, _)| match order {
        Order::Newest => other.cmp(one),
        Order::Oldest => one.cmp(other),
    });
    rows.dedup_by(|(one, _), (other, _)| one == other);
    RowChunk { rows: rows.into_iter().map(|(_, row)| row).collect(), read, next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Up to `limit` rows of a list after a key, and where to continue.
    fn read(list: &[u8], after: Option<&str>, order: Order, limit: usize) -> RowChunk<u8> {
        let mut rows: Vec<u8> = list.to_vec();
        rows.sort_unstable();
        rows.dedup();
        if order == Order::Newest {
            rows.reverse();
        }
        let is_beyond = |row: &u8| {
            after.is_none_or(|after| match order {
                Order::Newest => key(row).as_str() < after,
                Order::Oldest => key(row).as_str() > after,
            })
        };
        rows.retain(is_beyond);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().map(key).filter(|_| more);
        RowChunk { read: rows.len(), rows, next }
    }

    fn key(row: &u8) -> String {
        format!("{row:03}")
    }

    proptest! {
        #[test]
        fn gives_every_row_once_in_order(
            lists in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 1..5),
            newest in any::<bool>(),
            limit in 1_usize..8,
        ) {
            let order = if newest { Order::Newest } else { Order::Oldest };
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let some = lists.iter().map(|list| read(list, after.as_deref(), order, limit));
                let chunk = merged(some.collect(), order, key);
                found.extend(chunk.rows);
                after = chunk.next;
                if after.is_none() {
                    break;
                }
            }
            let mut expected: Vec<_> = lists.concat();
            expected.sort_unstable();
            expected.dedup();
            if newest {
                expected.reverse();
            }
            prop_assert_eq!(found, expected);
        }
    }
}
