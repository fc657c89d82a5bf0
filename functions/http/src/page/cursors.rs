//! The cursors of a page: `next_cursor` continues, `newer_cursor` polls for what becomes visible later.
//!
//! Both carry [what was shown](Seen) since the first page, including this page. So the `newer_cursor` of any page of a walk returns
//! what no page up to that one has shown. What lies below a newest-first page is returned only by its `next_cursor`. What lies above
//! an oldest-first page is returned by both.
//!
//! # Pages that are cut
//!
//! A page may [end](Page::end) before it is full, because too many rows are hidden. The next page continues from there. A poll that
//! is cut in this way has two positions: its floor, which stays, and the position of the walk. Each page of the walk, full or not,
//! continues after the last row that was examined, so hidden rows are skipped once in a walk. The page that ends the walk has a
//! `newer_cursor` with the floor alone. The next poll begins again at the start of the window, which was
//! [held](shared::platform::paging::Seen) during the walk, and returns what has appeared in the meantime. Until then `newer_cursor` and
//! `next_cursor` continue alike, so a client may follow either.
//!
//! With the longest filter and the longest ids, a cursor has no room for both positions. The position of the walk then has only the
//! beginning of a row's id, and some rows are examined again. If all rows that were examined have the same instant and that same
//! beginning, the walk would not advance. The floor then moves to the last row examined, and what appears below it
//! afterwards is no longer returned.

use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{Cursor, CursorSeal, Floor, Position, Seen};
use shared::platform::values::{Order, SortKey, Timestamp};

use super::{Page, Paging};

/// The cursors of a page.
#[derive(Debug)]
pub struct Cursors {
    /// `None` if there is nothing beyond the page.
    pub next: Option<Cursor>,
    pub newer: Cursor,
}

impl Cursors {
    /// The cursors of a page that was read. Stores first which activities were shown, if that does not fit into a cursor.
    pub async fn new<T>(
        paging: &Paging<'_>,
        page: &Page<T>,
        seal: &CursorSeal,
    ) -> Result<Self, DynamoError> {
        let of = &paging.request.cursor;
        let (next, newer) = match &of.position {
            Position::Page { order, after } => pages(*order, after.as_ref(), page),
            Position::Newer { floor, after } => {
                let lost = paging.seen().await?.and_then(|seen| seen.lost_until());
                let floor = lost.map(|until| Floor::From(until.plus_millis(1))).or(floor.clone());
                let newer = polled(floor, after.as_ref(), page, &of.filter);
                (page.more.then(|| newer.clone()), newer)
            }
        };
        let longest = next.as_ref().unwrap_or(&newer);
        let held = held(of, longest);
        let seen = seen_after(paging, page, held, longest, seal).await?;
        let cursor = |position: Position| {
            let position = in_window(position, seen.as_ref());
            Cursor { position, seen: seen.clone(), ..of.clone() }
        };
        Ok(Self { next: next.map(cursor), newer: cursor(newer) })
    }
}

/// For a page in an order: the position of the next page if there is one, and the position where a poll begins.
fn pages<T>(order: Order, after: Option<&SortKey>, page: &Page<T>) -> (Option<Position>, Position) {
    let last = page.keys().last().filter(|_| page.end.is_none());
    let last = page.end.as_ref().or(last).or(after).cloned();
    let floor = last.clone().filter(|_| page.more && order == Order::Newest).map(Floor::After);
    let next = page.more.then_some(Position::Page { order, after: last });
    (next, Position::Newer { floor, after: None })
}

/// The position after a page of a poll above a floor: that of the next page of the walk, or the floor alone if the walk is over.
fn polled<T>(
    floor: Option<Floor>,
    after: Option<&SortKey>,
    page: &Page<T>,
    filter: &[u8],
) -> Position {
    let is_walked = after.is_some();
    let last = page.keys().last().filter(|_| is_walked);
    let Some(row) = page.end.as_ref().or(last).or(after).filter(|_| page.more) else {
        return Position::Newer { floor, after: None };
    };
    let begun = after.max(floor_key(floor.as_ref())).cloned();
    let walking = Position::walking(floor, row, filter);
    match &walking {
        Position::Newer { after, .. } if page.end.is_some() && *after <= begun => {
            Position::Newer { floor: Some(Floor::After(row.clone())), after: None }
        }
        _ => walking,
    }
}

fn floor_key(floor: Option<&Floor>) -> Option<&SortKey> {
    match floor? {
        Floor::After(key) => Some(key),
        Floor::From(_) => None,
    }
}

/// While a poll that was cut is walked, the latest instant at which the window may begin. The first cut sets it to the last row examined;
/// later pages keep the start that the window has. So what appears behind the walk is still in the window when the next poll reads.
fn held(of: &Cursor, position: &Position) -> Option<Timestamp> {
    match (&of.position, position) {
        (Position::Newer { after: Some(_), .. }, _) => of.seen.as_ref().map(Seen::window),
        (_, Position::Newer { after: Some(row), .. }) => Some(row.published_at),
        _ => None,
    }
}

/// What was shown since the first page, including this one. Stores what does not fit into a cursor.
async fn seen_after<T>(
    paging: &Paging<'_>,
    page: &Page<T>,
    held: Option<Timestamp>,
    position: &Position,
    seal: &CursorSeal,
) -> Result<Option<Seen>, DynamoError> {
    let Cursor { seen: before, filter, .. } = &paging.request.cursor;
    let newest = page.keys().map(|key| key.published_at).max();
    let (seen, set) = match (before, paging.seen().await?) {
        // The stored set is gone, so what was shown is unknown. The poll begins a new set with what it shows.
        (Some(seen), Some(set)) if paging.request.is_newer() && set.lost_until().is_some() => {
            (seen.forgotten(), seen.forgotten().with_stored(None))
        }
        (Some(seen), Some(set)) => (seen.clone(), set.clone()),
        (Some(seen), None) => return Ok(Some(seen.clone())),
        (None, _) => {
            let Some(newest) = newest else { return Ok(None) };
            let seen = Seen::until(newest, seal.salt(paging.list));
            (seen.clone(), seen.with_stored(None))
        }
    };
    let (seen, new) = seen.and(&set, page.keys(), held, seal.capacity(filter, position));
    if let Some(new) = new {
        let Paging { list, now, .. } = *paging;
        paging.seen_sets.keep(list, new, now).await?;
    }
    Ok(Some(seen))
}

/// Drops a floor below the window, because it has no effect.
fn in_window(position: Position, seen: Option<&Seen>) -> Position {
    let (Position::Newer { floor, after }, Some(seen)) = (position.clone(), seen) else {
        return position;
    };
    let floor = floor.filter(|floor| match floor {
        Floor::After(SortKey { published_at: at, .. }) | Floor::From(at) => *at >= seen.window(),
    });
    Position::Newer { floor, after }
}
