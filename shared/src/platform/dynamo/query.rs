//! Queries and scans, in one call or page after page.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{Stream, TryStreamExt, stream};
use serde::Deserialize;

use super::answer::{AnsweredItem, WrittenValue};
use super::item::{Item, Row};
use super::request::{Request, pairs};
use super::transport::read_answer;
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

/// The result of one call.
#[derive(Debug)]
pub struct Page<'a> {
    pub rows: Vec<Row<'a>>,
    /// The key to continue after, if there may be more.
    pub next: Option<Item>,
    pub scanned: u64,
}

/// The response of DynamoDB. Its items are required: without them, rows would be taken for missing.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct QueryAnswer {
    items: Vec<AnsweredItem>,
    last_evaluated_key: Option<AnsweredItem>,
    #[serde(default)]
    scanned_count: u64,
}

impl Table {
    /// Makes one call of a query.
    pub fn page<'c, 't: 'c>(&'t self, query: &'c Query<'_>) -> Calling<'c, Page<'t>> {
        Box::pin(async move {
            let (operation, order) = match query.keys {
                Some(_) => ("Query", query.descending.then_some(false)),
                None => ("Scan", None),
            };
            let (segment, segments) = query.segment.unzip();
            let body = Request::to_table(self.name())
                .maybe("IndexName", query.index)
                .maybe("KeyConditionExpression", query.keys)
                .maybe("FilterExpression", query.filter)
                .maybe("ProjectionExpression", query.projection)
                .placeholders(query.names.iter().copied(), pairs(&query.values))
                .maybe("ExclusiveStartKey", query.start.as_ref().map(WrittenValue))
                .maybe("ConsistentRead", (query.index.is_none() && !query.eventual).then_some(true))
                .maybe("ScanIndexForward", order)
                .maybe("Limit", query.limit)
                .maybe("Segment", segment)
                .maybe("TotalSegments", segments)
                .body()?;
            let answer =
                self.call(operation, body, |answer| read_answer::<QueryAnswer>(answer)).await?;
            let rows = answer.items.into_iter().map(|item| self.row(item.into())).collect();
            let next = answer.last_evaluated_key.map(Item::from);
            Ok(Page { rows, next, scanned: answer.scanned_count })
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
