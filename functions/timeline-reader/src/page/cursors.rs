//! The cursors of a page: one to go on with, one to come back with for what becomes visible later.
//!
//! Both carry [what was shown](Seen) since the start, this page included, so that the `newer_cursor` of any page of a
//! walk brings what none of its pages has shown. A page of the newest leaves what lies below it to its
//! `next_cursor`; one of the oldest leaves what lies above it to both.
//!
//! A page that [ends](Page::end) before it is full, because too much is hidden, is gone on with from there. So is a poll:
//! what appears later behind that place is not brought any more, as where more was shown than is remembered.

use shared::dynamo::DynamoError;
use shared::paging::{Cursor, CursorSeal, Floor, Position, Seen};
use shared::values::{Order, SortKey};

use super::{Page, Paging};

/// The cursors of a page.
#[derive(Debug)]
pub(crate) struct Cursors {
    /// If there is more beyond the page.
    pub(crate) next: Option<Cursor>,
    pub(crate) newer: Cursor,
}

impl Cursors {
    /// Those of a page that was read. What they have no room for is stored before.
    pub(crate) async fn of<T>(
        paging: &Paging<'_>,
        page: &Page<T>,
        seal: &CursorSeal,
    ) -> Result<Self, DynamoError> {
        let seen = seen_after(paging, page, seal).await?;
        let of = &paging.request.cursor;
        let cursor = |position| Cursor { position, seen: seen.clone(), ..of.clone() };
        Ok(match &of.position {
            Position::Page { order, after } => {
                let last = page.keys().last().filter(|_| page.end.is_none());
                let last = page.end.as_ref().or(last).or(after.as_ref()).cloned();
                let floor = last.clone().filter(|_| page.more && *order == Order::Newest);
                let next = page.more.then(|| cursor(Position::Page { order: *order, after: last }));
                let floor = floor.map(Floor::After);
                Self { next, newer: cursor(Position::Newer { floor: in_window(floor, &seen) }) }
            }
            Position::Newer { floor } => {
                let lost = paging.seen().await?.and_then(|seen| seen.lost_until());
                let end = page.end.clone().filter(|_| page.more);
                let floor = match (end, lost) {
                    (Some(end), _) => Some(Floor::After(end)),
                    (None, Some(until)) => Some(Floor::From(until.plus_millis(1))),
                    (None, None) => floor.clone(),
                };
                let newer = cursor(Position::Newer { floor: in_window(floor, &seen) });
                Self { next: page.more.then(|| newer.clone()), newer }
            }
        })
    }
}

/// What has been shown, now that this page is.
async fn seen_after<T>(
    paging: &Paging<'_>,
    page: &Page<T>,
    seal: &CursorSeal,
) -> Result<Option<Seen>, DynamoError> {
    let before = &paging.request.cursor.seen;
    let newest = page.keys().map(|key| key.published_at).max();
    let (seen, set) = match (before, paging.seen().await?) {
        // A poll begins again with what it shows, above a floor.
        (Some(seen), Some(set)) if paging.request.is_newer() && set.lost_until().is_some() => {
            (seen.forgotten(), seen.forgotten().with_stored(None))
        }
        (Some(seen), Some(set)) => (seen.clone(), set.clone()),
        (Some(seen), None) => return Ok(Some(seen.clone())),
        (None, _) => {
            let Some(newest) = newest else { return Ok(None) };
            let seen = Seen::until(paging.list.lookback(), newest, seal.salt(paging.list));
            (seen.clone(), seen.with_stored(None))
        }
    };
    let (seen, new) = seen.and(&set, page.keys(), seal.capacity(&paging.request.cursor.filter));
    if let Some(new) = new {
        let Paging { list, now, deadline, .. } = *paging;
        paging.seen_sets.keep(list, new, now, deadline).await?;
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
