//! A page of one viewer's timeline.
//!
//! If an [idle viewer](shared::social::follows::idle_viewers) returns, the page is read again from a complete timeline.

use std::sync::OnceLock;

use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{List, RowChunk, Slice};
use shared::platform::values::ViewerId;
use shared::social::follows::{Follows, IdleState};
use shared::social::timelines::{EntryRow, Timelines, VisibilitySnapshot};

use crate::page::{
    AskedLikes, ConsistentPageReader, Head, Paging, Request, Rows, Target, answer, parameters,
};
use crate::reader::{Context, Reader};
use function_http::Problem;
use function_http::reader::Requests;
use function_http::response::Answer;

/// How often a page is read because something on it has left retention meanwhile, or because the viewer returns.
const READINGS: usize = 2;

struct Entries<'a> {
    timelines: &'a Timelines,
    viewer: &'a ViewerId,
    /// The idle state of the viewer in the first view.
    idle_state: OnceLock<IdleState>,
}

impl Rows for Entries<'_> {
    async fn rows(&self, slice: Slice<'_>) -> Result<RowChunk<Target>, DynamoError> {
        let (rows, next) = self.timelines.entries(self.viewer, slice).await?;
        let read = rows.len();
        Ok(RowChunk { rows: rows.iter().filter_map(EntryRow::target).collect(), read, next })
    }

    fn viewer(&self) -> Option<&ViewerId> {
        Some(self.viewer)
    }

    fn note(&self, view: &VisibilitySnapshot) {
        // If the first view is complete, so is the page: no viewer becomes idle within a request.
        self.idle_state.get_or_init(|| view.idle_state().clone());
    }
}

/// `GET /v1/timelines/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let Reader {
        timelines, retention, requests: Requests { clock, .. }, ledger, idle_viewers, ..
    } = cx.reader;
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let list = List::timeline(&viewer);
    let request = Request::parse(cx, &parameters(cx.event, &[])?, &list, Vec::new(), &[])?;
    let likes = AskedLikes::new(cx, &request);
    if request.is_poll() && idle_viewers.is_on() {
        // A poll that finds nothing does not read the idle state.
        let idle_state = Follows::new(ledger).idle_state(&viewer).await?;
        cx.reader.has_returned(&viewer, &idle_state, clock.now()).await?;
    }
    let (mut now, mut readings) = (cx.now, 0);
    let (paging, page) = loop {
        let entries = Entries { timelines, viewer: &viewer, idle_state: OnceLock::new() };
        let paging = Paging::new(cx, &list, &request, now, retention.start(now));
        let page =
            ConsistentPageReader::new(cx, &entries, timelines, &likes, now).page(&paging).await?;
        (now, readings) = (clock.now(), readings + 1);
        let idle_state = entries.idle_state.into_inner().unwrap_or_default();
        let has_returned = cx.reader.has_returned(&viewer, &idle_state, now).await?;
        // Retention ends for readers and for writers at one moment: what has left it before a follow came to copy it is
        // not in the timeline. So what has left it by now is not on the page.
        let (retained_from, is_last) = (retention.start(now), readings == READINGS);
        if !has_returned && (is_last || page.is_retained(retained_from)) {
            break (paging, page.retained(retained_from));
        }
        if has_returned && is_last {
            return Err(Problem::Returning);
        }
    };
    let head = Head::Timeline { viewer_id: &viewer };
    answer(cx, &paging, &page, &likes.shown(), head).await
}
