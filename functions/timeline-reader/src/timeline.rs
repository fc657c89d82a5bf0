//! A page of one viewer's timeline.
//!
//! If the viewer was [parked](shared::social::follows::parking), their timeline is completed before the page is read.

use std::sync::OnceLock;
use std::time::Duration;

use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{List, RowChunk};
use shared::platform::values::{Span, Timestamp, ViewerId};
use shared::social::follows::{Follows, Presence, Standing};
use shared::social::timelines::{EntryRow, Reconciler, Return, Timelines, VisibilitySnapshot};

use crate::page::{
    AskedLikes, ConsistentPageReader, Head, Paging, Request, Rows, Target, answer, parameters,
};
use crate::reader::{Context, Reader};
use function_http::Problem;
use function_http::reader::Requests;
use function_http::response::Answer;

/// How often a page is read because something on it has left retention meanwhile, or because the viewer was parked.
const READINGS: usize = 2;
/// The time that is left for a page, and for a note of how far it has come, when a timeline is being completed.
const RESERVE: Duration = Duration::from_millis(1_500);

/// The entries of a timeline.
struct Entries<'a> {
    timelines: &'a Timelines,
    viewer: &'a ViewerId,
    /// What the first view says of the viewer.
    presence: OnceLock<Presence>,
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

    fn note(&self, view: &VisibilitySnapshot) {
        // A page of which the first view is complete is complete: nobody is parked within a request.
        self.presence.get_or_init(|| view.presence().clone());
    }
}

/// `GET /v1/timelines/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let Reader { timelines, retention, requests: Requests { clock, .. }, .. } = cx.reader;
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let list = List::timeline(&viewer);
    let request = Request::parse(cx, &parameters(cx.event, &[])?, &list, Vec::new(), &[])?;
    let likes = AskedLikes::new(cx, &request);
    let attendance = Attendance { reader: cx.reader, viewer: &viewer };
    if request.is_poll() {
        attendance.before_poll().await?;
    }
    let (mut now, mut readings) = (cx.now, 0);
    let (paging, page) = loop {
        let entries = Entries { timelines, viewer: &viewer, presence: OnceLock::new() };
        let paging = Paging::new(cx, &list, &request, now, retention.start(now));
        let page =
            ConsistentPageReader::new(cx, &entries, timelines, &likes, now).page(&paging).await?;
        (now, readings) = (clock.now(), readings + 1);
        let was_complete = attendance.is_complete(entries.presence.into_inner(), now).await?;
        // Retention ends for readers and for writers at one moment: what has left it before a follow came to copy it is
        // not in the timeline. So what has left it by now is not on the page.
        let retained_from = retention.start(now);
        match (was_complete, readings == READINGS) {
            (true, is_last) if is_last || page.is_retained(retained_from) => {
                break (paging, page.retained(retained_from));
            }
            (false, true) => return Err(Problem::Returning),
            _ => {}
        }
    };
    let head = Head::Timeline { viewer_id: &viewer };
    answer(cx, &paging, &page, &likes.shown(), head).await
}

/// A viewer reads, which counts.
struct Attendance<'a> {
    reader: &'a Reader,
    viewer: &'a ViewerId,
}

impl Attendance<'_> {
    /// A poll that finds nothing reads no view, so it asks before.
    async fn before_poll(&self) -> Result<(), Problem> {
        let Reader { ledger, parking, requests, .. } = self.reader;
        if parking.is_on() {
            let presence = Follows::new(ledger).presence(self.viewer).await?;
            self.is_complete(Some(presence), requests.clock.now()).await?;
        }
        Ok(())
    }

    /// True if a timeline was complete when its viewer was noted to be present so. If it was not, it is now.
    async fn is_complete(&self, seen: Option<Presence>, now: Timestamp) -> Result<bool, Problem> {
        let (Some(presence), Reader { ledger, parking, .. }) = (seen, self.reader) else {
            return Ok(true);
        };
        match parking.standing(&presence, now) {
            Standing::Reading => Ok(true),
            Standing::Due => {
                let follows = Follows::new(ledger);
                follows.note_reading(parking, self.viewer, &presence, now).await?;
                Ok(true)
            }
            Standing::Away => self.bring_back(&presence).await.map(|()| false),
        }
    }

    async fn bring_back(&self, presence: &Presence) -> Result<(), Problem> {
        let Reader { ledger, timelines, retention, hold, parking, requests, .. } = self.reader;
        let reconciler =
            Reconciler::new(ledger, timelines.clone(), *retention, requests.clock.clone(), *hold);
        let deadline = timelines.table().deadline();
        let checkpoint_at = deadline.within(deadline.remaining().saturating_sub(RESERVE));
        let returned = reconciler.bring_back(parking, self.viewer, presence, checkpoint_at).await?;
        match returned {
            Return::Whole => Ok(()),
            Return::Unfinished => Err(Problem::Returning),
        }
    }
}
