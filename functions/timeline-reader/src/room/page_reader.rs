//! Pages of what was said, in the order of `at`.
//!
//! # One bound
//!
//! A page is made of several calls, and a query of many rows is not of one moment either. So what is on it does not depend on
//! when they are answered. The last row of the [arrivals](shared::rooms) is read first: that row, or the one before
//! it where it is not whole yet, is the *bound* of the page. Then come
//!
//! * the messages. Whatever has arrived up to the bound is in its place by then, and what arrived later says so and is left
//!   out. So is what was deleted since: nothing that is gone comes back.
//! * who may read. A room is private before a message that says so arrives, so whoever finds it open finds none of them up to
//!   the bound. Who has left before a message was posted is not present any more when that is asked.
//! * what became of the last row. Its messages may have come into their places after the query had passed them. Then, and
//!   where the room has got more shards, the messages are read once more, which now finds them all.
//!
//! So a page takes three rounds at most, and more only to pass what was deleted. Both readings together have the
//! [effort](shared::rooms::Effort) of one: what the first leaves, or else one round, which is enough to come further.
//! `newer_cursor` says what the bound is. Every message of which the processing ends later arrives beyond it.

use futures::future::{try_join, try_join3};
use shared::dynamo::DynamoError;
use shared::paging::RowChunk;
use shared::rooms::{
    ArrivalPosition, ArrivalRow, Effort, Message, MessageList, MessagesQuery, RowOutcome,
};
use shared::values::{Order, SortKey, Span, Timestamp};

use super::cursor::{Cursor, Position};
use super::{Found, RoomRequest};
use crate::http::problem::Problem;

/// Reads a page in an order, beyond a message.
pub(super) async fn page(
    request: &RoomRequest<'_>,
    order: Order,
    after: Option<&SortKey>,
    since: Option<ArrivalPosition>,
) -> Result<Found, Problem> {
    let RoomRequest { rooms, room, viewer, deadline, limit, .. } = *request;
    let Cursor { range, author, .. } = &request.cursor;
    let span = Span { from: range.from.unwrap_or(Timestamp::FIRST), to: range.to, order };
    let (known, last) =
        try_join(rooms.room(room, deadline), rooms.last_arrivals(room, deadline)).await?;
    let after_key = after.map(ToString::to_string);
    let others = last.as_ref().map_or(0, |last| last.looked_at(author.as_ref()));
    let mut effort = Effort::of_page(limit + 1, others);
    let read = async |effort: &mut Effort, shards, until| {
        let list = MessageList { room, shards, author: author.as_ref() };
        let asked = MessagesQuery { span, after: after_key.as_deref(), wanted: limit + 1, until };
        rooms.messages(list, asked, effort, deadline).await
    };
    let upper =
        last.as_ref().map_or(ArrivalPosition::NOTHING, |last| ArrivalPosition::end_of(last.number));
    let (mut found, entrance, outcome) = try_join3(
        read(&mut effort, known.shards, upper),
        rooms.entrance(room, viewer, deadline),
        rooms.outcome(last.as_ref(), author.as_ref(), deadline),
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
    Ok(Found { is_open: !entrance.room.private, ..shown })
}

/// Up to where all that has arrived is in its place.
fn bound(last: Option<&ArrivalRow>, outcome: &RowOutcome) -> ArrivalPosition {
    match last {
        Some(last) if outcome.is_whole => ArrivalPosition::end_of(last.number),
        Some(last) => ArrivalPosition::end_of(last.number - 1),
        None => ArrivalPosition::NOTHING,
    }
}

fn is_beyond(found: &RowChunk<Message>, bound: ArrivalPosition) -> bool {
    found.rows.iter().any(|it| it.arrived.is_some_and(|arrived| arrived > bound))
}

/// True if a message came into its place after the query had passed there.
fn lacks(
    found: &RowChunk<Message>,
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
    found: RowChunk<Message>,
    limit: usize,
    order: Order,
    since: ArrivalPosition,
) -> Result<Found, DynamoError> {
    let (mut messages, mut next) = (found.rows, found.next);
    if messages.len() > limit {
        messages.truncate(limit);
        next = messages.last().map(|it| it.sort_key.to_string());
    }
    // A stored key is a sort key.
    let after = next.and_then(|key| SortKey::parse(&key).ok());
    let next = after.map(|after| Position::Page { order, after: Some(after), since: Some(since) });
    Ok(Found { is_open: false, messages, next, newer: since })
}
