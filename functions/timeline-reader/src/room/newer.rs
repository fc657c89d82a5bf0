//! What has arrived in a room since a position, whatever its `at`.
//!
//! Reads rows of [arrivals](shared::social::rooms) after a position. No row ever appears below an existing one, so nothing is missed,
//! and each position is passed once. The last row is not shown until it is whole; the next poll returns it then, and nothing
//! of it was acknowledged before.
//!
//! Deleted messages are left out. Who may read is checked after the rows were read, as for [pages](super::page_reader).
//!
//! A poll that finds nothing costs one query and one read of the room and of the viewer's membership: three read units. A poll
//! that finds something makes at most [`QUERIES`] queries, and stops once they have taken [`UNITS`].

use std::collections::HashMap;

use futures::future::try_join;
use shared::social::rooms::{Arrival, ArrivalPosition, ArrivalRow, ArrivalState, RoomMessage};

use super::cursor::{Cursor, Position};
use super::{FoundMessages, RoomRequest};
use function_http::Problem;

const QUERIES: usize = 5;
const UNITS: usize = 60;
const UNIT: usize = 4_096;
/// The most rows of one query.
const ROWS: usize = 24;

/// Reads what arrived after a position.
pub(super) async fn page(
    request: &RoomRequest<'_>,
    after: ArrivalPosition,
) -> Result<FoundMessages, Problem> {
    let RoomRequest { rooms, room, viewer, limit, .. } = *request;
    let (rows, more) = rows(request, after).await?;
    let asked: Vec<_> = rows.iter().flat_map(|row| asked(row, after, &request.cursor)).collect();
    let looked_at = &asked[..limit.min(asked.len())];
    // The last row of all may not be whole.
    let last = rows.last().filter(|_| !more);
    let of_last =
        last.iter().flat_map(|row| row.arrivals()).filter(|(position, _)| *position > after);
    let mut looked_for = looked_at.to_vec();
    looked_for.extend(of_last);
    let (entrance, states) =
        try_join(rooms.entrance(room, viewer), rooms.arrival_states(&looked_for)).await?;
    if !entrance.is_open() {
        return Err(Problem::Forbidden);
    }
    let end = end(&rows, last, &states).max(after);
    let in_time: Vec<_> = looked_at.iter().filter(|(position, _)| *position <= end).collect();
    let is_cut = asked.iter().filter(|(position, _)| *position <= end).count() > in_time.len();
    let newer = match in_time.last() {
        Some((position, _)) if is_cut => *position,
        _ => end,
    };
    let is_shown = |position: &ArrivalPosition| states.get(position) == Some(&ArrivalState::Shown);
    let shown = in_time.iter().filter(|(position, _)| is_shown(position));
    let mut messages: Vec<_> = shown.map(|(position, it)| message(*position, it)).collect();
    messages.sort_by(|one, other| one.sort_key.cmp(&other.sort_key));
    let next = (is_cut || more).then_some(Position::Newer(newer));
    Ok(FoundMessages { is_open: !entrance.room.private, messages, next, newer })
}

/// Rows after a position, until they contain more than is shown or the units are used up; and whether there may be more.
async fn rows(
    request: &RoomRequest<'_>,
    after: ArrivalPosition,
) -> Result<(Vec<ArrivalRow>, bool), Problem> {
    let RoomRequest { rooms, room, limit, .. } = *request;
    let (mut found, mut count, mut bytes, mut from) = (Vec::new(), 0, 0, after);
    for _ in 0..QUERIES {
        let some = rooms.arrivals_after(room, from, (limit + 1).min(ROWS)).await?;
        count += some.rows.iter().flat_map(|row| asked(row, after, &request.cursor)).count();
        bytes += some.rows.iter().map(ArrivalRow::bytes).sum::<usize>();
        from = some.rows.last().map_or(from, |row| ArrivalPosition::end_of(row.number));
        found.extend(some.rows);
        if !some.more {
            return Ok((found, false));
        }
        if count > limit || bytes > UNITS * UNIT {
            break;
        }
    }
    Ok((found, true))
}

/// The messages of a row that are after a position and that a cursor asks for.
fn asked<'r>(
    row: &'r ArrivalRow,
    after: ArrivalPosition,
    cursor: &Cursor,
) -> impl Iterator<Item = (ArrivalPosition, &'r Arrival)> {
    let (range, author) = (cursor.range, cursor.author.clone());
    row.arrivals().filter(move |(position, it)| {
        *position > after
            && range.from.is_none_or(|from| it.at >= from)
            && range.to.is_none_or(|to| it.at < to)
            && author.as_ref().is_none_or(|author| it.key.author_id == *author)
    })
}

/// The position up to which everything that was read is complete.
fn end(
    rows: &[ArrivalRow],
    last: Option<&ArrivalRow>,
    states: &HashMap<ArrivalPosition, ArrivalState>,
) -> ArrivalPosition {
    let Some(row) = rows.last() else { return ArrivalPosition::NOTHING };
    let is_absent =
        |position: &ArrivalPosition| states.get(position) == Some(&ArrivalState::Absent);
    match last.is_some_and(|last| last.arrivals().any(|(position, _)| is_absent(&position))) {
        true => ArrivalPosition::end_of(row.number - 1),
        false => ArrivalPosition::end_of(row.number),
    }
}

fn message(position: ArrivalPosition, arrival: &Arrival) -> RoomMessage {
    RoomMessage {
        sort_key: arrival.key.sort_key(arrival.at),
        author_id: arrival.key.author_id.clone(),
        payload: arrival.payload.clone(),
        arrived: position,
    }
}
