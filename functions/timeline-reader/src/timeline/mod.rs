//! A page of one viewer's timeline.

use shared::dynamo::DynamoError;
use shared::paging::{List, RowChunk};
use shared::timelines::{EntryRow, Timelines};
use shared::values::{Span, ViewerId};

use crate::http::problem::Problem;
use crate::http::response::Answer;
use crate::page::{
    AskedLikes, ConsistentPageReader, Head, Paging, Request, Rows, Target, answer, parameters,
};
use crate::{Context, Reader};

/// How often a page is read because something on it has left retention meanwhile.
const READINGS: usize = 2;

/// The entries of a timeline.
struct Entries<'a> {
    timelines: &'a Timelines,
    viewer: &'a ViewerId,
}

impl Rows for Entries<'_> {
    async fn rows(
        &self,
        span: Span,
        after: Option<&str>,
        limit: usize,
    ) -> Result<RowChunk<Target>, DynamoError> {
        let (rows, next) = self.timelines.entries(self.viewer, span, after, limit).await?;
        let read = rows.len();
        Ok(RowChunk { rows: rows.iter().filter_map(EntryRow::target).collect(), read, next })
    }

    fn viewer(&self) -> Option<&ViewerId> {
        Some(self.viewer)
    }
}

/// `GET /v1/timelines/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let Reader { timelines, retention, clock, .. } = cx.reader;
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let list = List::timeline(&viewer);
    let request = Request::parse(cx, &parameters(cx.event, &[])?, &list, Vec::new(), &[])?;
    let likes = AskedLikes::new(cx, &request);
    let entries = Entries { timelines, viewer: &viewer };
    let (mut now, mut readings) = (cx.now, 0);
    let (paging, page) = loop {
        let paging = Paging::new(cx, &list, &request, now, retention.start(now));
        let page =
            ConsistentPageReader::new(cx, &entries, timelines, &likes, now).page(&paging).await?;
        (now, readings) = (clock.now(), readings + 1);
        // Retention ends for readers and for writers at one moment: what has left it before a follow came to copy it is
        // not in the timeline. So what has left it by now is not on the page.
        let retained_from = retention.start(now);
        if page.is_retained(retained_from) || readings == READINGS {
            break (paging, page.retained(retained_from));
        }
    };
    let head = Head::Timeline { viewer_id: &viewer };
    answer(cx, &paging, &page, &likes.shown(), head).await
}
