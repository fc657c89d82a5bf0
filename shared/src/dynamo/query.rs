//! Queries and scans, in one call or page after page.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{Stream, TryStreamExt, stream};

use super::item::{Item, Row};
use super::table::{names, values};
use super::{Calling, DynamoError, Table};

/// A query or a scan. Reads are strongly consistent unless they are of an index, or `eventual`.
#[derive(Debug, Clone, Default)]
pub struct Query<'a> {
    /// The index, if it is not the table itself.
    pub index: Option<&'a str>,
    /// The key condition expression; `None` makes it a scan of all items.
    pub keys: Option<&'a str>,
    /// Eventually consistent, at half the cost.
    pub eventual: bool,
    /// The filter expression: which of the items read are returned.
    pub filter: Option<&'a str>,
    pub projection: Option<&'a str>,
    /// Names of attributes that stand for placeholders.
    pub names: Vec<(&'a str, &'a str)>,
    pub values: Vec<(&'a str, AttributeValue)>,
    /// The key to begin after.
    pub start: Option<Item>,
    /// Descending: the greatest sort key comes first.
    pub descending: bool,
    /// The most items read in one call.
    pub limit: Option<i32>,
    /// The segment of a parallel scan, and their number.
    pub segment: Option<(i32, i32)>,
}

impl Query<'_> {
    fn is_consistent(&self) -> bool {
        self.index.is_none() && !self.eventual
    }
}

/// The result of one call.
#[derive(Debug)]
pub struct Page<'a> {
    pub rows: Vec<Row<'a>>,
    /// The key to continue after, if there may be more.
    pub next: Option<Item>,
    pub scanned: u64,
}

impl Table {
    /// Makes one call of a query.
    pub fn page<'c, 't: 'c>(&'t self, query: &'c Query<'_>) -> Calling<'c, Page<'t>> {
        Box::pin(async move {
            let owned = |text: Option<&str>| text.map(ToOwned::to_owned);
            let consistent = query.is_consistent().then_some(true);
            // The two builders have different types and the same settings.
            macro_rules! call {
                ($builder:expr) => {
                    $builder
                        .table_name(self.name())
                        .set_index_name(owned(query.index))
                        .set_filter_expression(owned(query.filter))
                        .set_projection_expression(owned(query.projection))
                        .set_expression_attribute_names(names(&query.names))
                        .set_expression_attribute_values(values(&query.values))
                        .set_exclusive_start_key(query.start.clone())
                        .set_consistent_read(consistent)
                        .set_limit(query.limit)
                };
            }
            let (items, next, scanned) = match query.keys {
                Some(keys) => {
                    let call = || call!(self.client().query()).key_condition_expression(keys);
                    let order = query.descending.then_some(false);
                    let answer =
                        self.attempt(|| call().set_scan_index_forward(order).send()).await?;
                    (answer.items, answer.last_evaluated_key, answer.scanned_count)
                }
                None => {
                    let (segment, of) = query.segment.unzip();
                    let call = || call!(self.client().scan()).set_segment(segment);
                    let answer = self.attempt(|| call().set_total_segments(of).send()).await?;
                    (answer.items, answer.last_evaluated_key, answer.scanned_count)
                }
            };
            let rows = items.unwrap_or_default().into_iter().map(|item| self.row(item)).collect();
            Ok(Page { rows, next, scanned: u64::try_from(scanned).unwrap_or(0) })
        })
    }

    /// Makes calls of a query until nothing is left.
    pub fn pages<'q, 't: 'q>(
        &'t self,
        query: Query<'q>,
    ) -> impl Stream<Item = Result<Page<'t>, DynamoError>> {
        stream::try_unfold(Some(query), move |query| async move {
            let Some(mut query) = query else { return Ok(None) };
            let page = self.page(&query).await?;
            query.start.clone_from(&page.next);
            let more = query.start.is_some().then_some(query);
            Ok(Some((page, more)))
        })
    }

    /// The items of all [pages](Self::pages).
    pub async fn all(&self, query: Query<'_>) -> Result<Vec<Row<'_>>, DynamoError> {
        let pages: Vec<_> = self.pages(query).try_collect().await?;
        Ok(pages.into_iter().flat_map(|page| page.rows).collect())
    }
}
