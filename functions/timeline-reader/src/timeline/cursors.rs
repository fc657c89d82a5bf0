//! The cursors of a page: one to go on with, one to come back with for what becomes visible later.
//!
//! Both carry [what was shown](Seen) since the start, this page included, so that the `newer_cursor` of any page of a
//! walk brings what none of its pages has shown. A page of the newest leaves what lies below it to its
//! `next_cursor`; one of the oldest leaves what lies above it to both.

use shared::dynamo::DynamoError;
use shared::timelines::{Cursor, CursorSeal, Floor, Order, Position, Seen};
use shared::values::SortKey;

use super::page::{Page, Reading};

/// The cursors of a page.
#[derive(Debug)]
pub(super) struct Cursors {
    /// If there is more beyond the page.
    pub(super) next: Option<Cursor>,
    pub(super) newer: Cursor,
}

impl Cursors {
    /// Those of a page that was read. What they have no room for is stored before.
    pub(super) async fn of(
        reading: &Reading<'_>,
        page: &Page,
        seal: &CursorSeal,
    ) -> Result<Self, DynamoError> {
        let seen = seen_after(reading, page, seal).await?;
        let Cursor { range, position, likes, .. } = &reading.request.cursor;
        let cursor =
            |position| Cursor { range: *range, position, seen: seen.clone(), likes: *likes };
        Ok(match position {
            Position::Page { order, after } => {
                let last = page.last().or_else(|| after.clone());
                let floor = last.clone().filter(|_| page.more && *order == Order::Newest);
                let next = page.more.then(|| cursor(Position::Page { order: *order, after: last }));
                let floor = floor.map(Floor::After);
                Self { next, newer: cursor(Position::Newer { floor: in_window(floor, &seen) }) }
            }
            Position::Newer { floor } => {
                let lost = reading.seen().await?.and_then(|seen| seen.lost_until());
                let floor = match lost {
                    Some(until) => Some(Floor::From(until.plus_millis(1))),
                    None => floor.clone(),
                };
                let newer = cursor(Position::Newer { floor: in_window(floor, &seen) });
                Self { next: page.more.then(|| newer.clone()), newer }
            }
        })
    }
}

/// What has been shown, now that this page is.
async fn seen_after(
    reading: &Reading<'_>,
    page: &Page,
    seal: &CursorSeal,
) -> Result<Option<Seen>, DynamoError> {
    let before = &reading.request.cursor.seen;
    let newest = page.keys().map(|key| key.published_at).max();
    let (seen, set) = match (before, reading.seen().await?) {
        // A poll begins again with what it shows, above a floor.
        (Some(seen), Some(set)) if reading.request.is_newer() && set.lost_until().is_some() => {
            (seen.forgotten(), seen.forgotten().with_stored(None))
        }
        (Some(seen), Some(set)) => (seen.clone(), set.clone()),
        (Some(seen), None) => return Ok(Some(seen.clone())),
        (None, _) => {
            let Some(newest) = newest else { return Ok(None) };
            let seen = Seen::until(newest, seal.salt(reading.viewer));
            (seen.clone(), seen.with_stored(None))
        }
    };
    let (seen, new) = seen.and(&set, page.keys(), seal.inline());
    if let Some(new) = new {
        let Reading { timelines, viewer, now, deadline, .. } = *reading;
        timelines.keep_seen(viewer, new, now, deadline).await?;
    }
    Ok(Some(seen))
}

/// A floor that lies below the window says nothing.
fn in_window(floor: Option<Floor>, seen: &Option<Seen>) -> Option<Floor> {
    let Some(seen) = seen else { return floor };
    floor.filter(|floor| match floor {
        Floor::After(SortKey { published_at: at, .. }) | Floor::From(at) => *at >= seen.window(),
    })
}
