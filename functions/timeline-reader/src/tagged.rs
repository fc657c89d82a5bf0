//! A page of what somebody is tagged in (docs/QUERIES.md). Every authenticated caller may read that of every viewer.
//!
//! An ordinary page costs the same as one of a timeline: one query of the listings, a parallel read of the change log, and at most one
//! call for the records that are not cached. Activities are of any age, because retention only applies to timelines. The record of an
//! activity has its kind: other kinds are skipped like hidden activities.

use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{List, RowChunk, Slice};
use shared::platform::values::{Timestamp, ViewerId};
use shared::social::activities::Published;
use shared::social::tags::Tags;

use crate::page::{
    AskedLikes, ConsistentPageReader, Head, Kinds, Paging, Request, Rows, Target, answer,
    parameters,
};
use crate::reader::Context;
use function_http::Problem;
use function_http::response::Answer;

/// What somebody is tagged in.
struct Listings<'a> {
    tags: Tags,
    person: &'a ViewerId,
    kinds: Kinds,
}

impl Rows for Listings<'_> {
    async fn rows(&self, slice: Slice<'_>) -> Result<RowChunk<Target>, DynamoError> {
        self.tags.listings(self.person, slice).await
    }

    fn shows(&self, published: &Published) -> bool {
        self.kinds.show(&published.kind)
    }
}

/// `GET /v1/viewers/{viewer_id}/tagged`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    let list = List::about("tagged", &viewer);
    let parameters = parameters(cx.event, &[Kinds::PARAMETER])?;
    let filter = Kinds::parse(&parameters)?.write()?;
    let request = Request::parse(cx, &parameters, &list, filter, &[Kinds::PARAMETER])?;
    let kinds = Kinds::read(&request.cursor.filter);
    let likes = AskedLikes::new(cx, &request);
    let timelines = &cx.reader.timelines;
    let tags = Tags::new(&cx.reader.ledger);
    let listings = Listings { tags, person: &viewer, kinds };
    let paging = Paging::new(cx, &list, &request, cx.now, Timestamp::FIRST);
    let page =
        ConsistentPageReader::new(cx, &listings, timelines, &likes, cx.now).page(&paging).await?;
    answer(cx, &paging, &page, &likes.shown(), Head::Tagged { viewer_id: &viewer }).await
}
