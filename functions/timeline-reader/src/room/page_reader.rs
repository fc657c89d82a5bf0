//! Pages of the messages of a room, in the order of `at`.
//!
//! # One bound
//!
//! A page is made of several calls, and a query of many rows is not of one moment either. So the content of a page must not
//! depend on when the calls are answered. The last row of the [arrivals](shared::social::rooms) is read first. That row, or the one
//! before it if it is not whole yet, is the *bound* of the page. Then come
//!
//! * the messages. Everything up to the bound is written by then. Messages that arrived later say so and are left out, as are
//!   messages deleted since: nothing that is gone comes back.
//! * who may read. A room becomes private before its first private message arrives, so if it is found open, there is none up to
//!   the bound. A viewer who left before a message was posted is no longer present when that is checked.
//! * the outcome of the last row. Its messages may have been written after the query had passed their position. Then, and if
//!   the room has got more shards, the messages are read once more, which finds all of them.
//!
//! So a page takes at most three rounds, and more only to skip deleted messages. Both readings share one
//! [effort](shared::social::rooms::Effort): the second has what the first leaves, or else one round, which is enough to advance.
//! `newer_cursor` contains the bound. Every message whose processing ends later arrives after it.

use futures::future::{try_join, try_join3};
use shared::platform::dynamo::DynamoError;
use shared::platform::paging::RowChunk;
use shared::platform::values::{Order, SortKey, Span, Timestamp};
use shared::social::rooms::{
    ArrivalPosition, ArrivalRow, Effort, MessageList, MessagesQuery, RoomMessage, RowOutcome,
};

use super::cursor::{Cursor, Position};
use super::{FoundMessages, RoomRequest};
use function_http::Problem;

/// Reads a page in an order, after a message if one is given.
pub(super) async fn page(
    request: &RoomRequest<'_>,
    order: Order,
    after: Option<&SortKey>,
    since: Option<ArrivalPosition>,
) -> Result<FoundMessages, Problem> {
    let RoomRequest { rooms, room, viewer, limit, .. } = *request;
    let Cursor { range, author, .. } = &request.cursor;
    let span = Span { from: range.from.unwrap_or(Timestamp::FIRST), to: range.to, order };
    let (known, last) = try_join(rooms.room(room), rooms.last_arrivals(room)).await?;
    let after_key = after.map(ToString::to_string);
    let others = last.as_ref().map_or(0, |last| last.looked_at(author.as_ref()));
    let mut effort = Effort::of_page(limit + 1, others);
    let read = async |effort: &mut Effort, shards, until| {
        let list = MessageList { room, shards, author: author.as_ref() };
        let asked = MessagesQuery { span, after: after_key.as_deref(), wanted: limit + 1, until };
        rooms.messages(list, asked, effort).await
    };
    let upper =
        last.as_ref().map_or(ArrivalPosition::NOTHING, |last| ArrivalPosition::end_of(last.number));
    let (mut found, entrance, outcome) = try_join3(
        read(&mut effort, known.shards, upper),
        rooms.entrance(room, viewer),
        rooms.outcome(last.as_ref(), author.as_ref()),
    )
    .await?;
    if !entrance.is_open() {
        return Err(Problem::Forbidden);
    }
    let bound = bound(last.as_ref(), &outcome);
    let has_grown = entrance.room.shards != known.shards;
    if has_grown || is_beyond(&found, bound) || lacks(&found, &outcome, span, after) {
        found = read(&mut effort, entrance.room.shards, bound).await?;
    }
    let shown = shown(found, limit, order, since.unwrap_or(bound))?;
    Ok(FoundMessages { is_open: !entrance.room.private, ..shown })
}

/// The position up to which everything that has arrived is written.
fn bound(last: Option<&ArrivalRow>, outcome: &RowOutcome) -> ArrivalPosition {
    match last {
        Some(last) if outcome.is_whole => ArrivalPosition::end_of(last.number),
        Some(last) => ArrivalPosition::end_of(last.number - 1),
        None => ArrivalPosition::NOTHING,
    }
}

fn is_beyond(found: &RowChunk<RoomMessage>, bound: ArrivalPosition) -> bool {
    found.rows.iter().any(|it| it.arrived > bound)
}

/// True if a message was written after the query had passed its position.
fn lacks(
    found: &RowChunk<RoomMessage>,
    outcome: &RowOutcome,
    span: Span,
    after: Option<&SortKey>,
) -> bool {
    let is_between = |key: &SortKey| {
        let is_past = |from: &str| match span.order {
            Order::Newest => key.to_string().as_str() < from,
            Order::Oldest => key.to_string().as_str() > from,
        };
        key.published_at >= span.from
            && span.to.is_none_or(|to| key.published_at < to)
            && after.is_none_or(|after| is_past(&after.to_string()))
            && found.next.as_deref().is_none_or(|next| !is_past(next))
    };
    let is_found = |key: &SortKey| found.rows.iter().any(|it| it.sort_key == *key);
    outcome.shown.iter().any(|key| is_between(key) && !is_found(key))
}

fn shown(
    found: RowChunk<RoomMessage>,
    limit: usize,
    order: Order,
    since: ArrivalPosition,
) -> Result<FoundMessages, DynamoError> {
    let (mut messages, mut next) = (found.rows, found.next);
    if messages.len() > limit {
        messages.truncate(limit);
        next = messages.last().map(|it| it.sort_key.to_string());
    }
    // Stored keys are sort keys.
    let after = next.and_then(|key| key.parse::<SortKey>().ok());
    let next = after.map(|after| Position::Page { order, after: Some(after), since: Some(since) });
    Ok(FoundMessages { is_open: false, messages, next, newer: since })
}
