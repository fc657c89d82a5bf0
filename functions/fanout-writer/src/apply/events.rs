//! Events, alone or several in one message.
//!
//! [`shared::events`] decides on lateness, repetition and conflict. This module handles several events of one message: it puts up to
//! [`PUTS_IN_FLIGHT`] of them at a time. An event that can never be recorded becomes a dead letter of its own. Dead letters are sent
//! only when no other event of the message has to be tried again. So a repeated message has the same result for each of its events,
//! and makes the same dead letters.
//!
//! If several events of a message have the same identity, the first of them is put before the others. So the first one stays.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use shared::dynamo::DynamoError;
use shared::events::{Event, EventKey, EventRecorded, EventsRecorded, Recorded, SentEvent};
use shared::log_subject;
use shared::message::{CommandError, CommandPayload, MemberError};

use crate::dead_letters::RefusedEvent;
use crate::{Context, Disposition, Failure};

/// The most events of one message that are put at the same time.
const PUTS_IN_FLIGHT: usize = 16;

/// Records an event, unless it is too late or another event has its identity.
pub(crate) async fn record(cx: &Context, event: EventRecorded) -> Result<Disposition, Failure> {
    recorded(cx, &event.0).await?;
    Ok(Disposition::Applied(None))
}

/// Records the events of one message.
pub(crate) async fn record_all(
    cx: &Context,
    events: EventsRecorded,
) -> Result<Disposition, Failure> {
    let readable: Vec<_> = events.events.iter().filter_map(|it| it.event.as_ref().ok()).collect();
    cx.events.look_up(readable.into_iter(), cx.clock.now()).await;
    let mut refused = Vec::new();
    for turn in by_turn(&events.events) {
        let puts: Vec<_> =
            turn.into_iter().map(|(index, event)| placed(cx, index, event)).collect();
        let mut ended = stream::iter(puts).buffer_unordered(PUTS_IN_FLIGHT);
        let mut retryable = None;
        while let Some((index, event, ended)) = ended.next().await {
            match ended {
                Ok(()) => {}
                Err(failure) if failure.is_permanent() => {
                    refused.push(RefusedEvent { index, event, failure });
                }
                Err(failure) => retryable = Some(failure),
            }
        }
        if let Some(failure) = retryable {
            return Err(failure);
        }
    }
    if refused.is_empty() {
        return Ok(Disposition::Applied(None));
    }
    refused.sort_by_key(|it| it.index);
    cx.dead_letters.send_events(&cx.delivery, events.group(), &refused).await?;
    refused.iter().for_each(|it| log(cx, it));
    Ok(Disposition::AppliedBut(refused.len()))
}

/// Splits events, with their indices, into the first of each identity and the others.
fn by_turn(events: &[SentEvent]) -> [Vec<(usize, &SentEvent)>; 2] {
    let mut seen = HashSet::<&EventKey>::new();
    let indexed = events.iter().enumerate();
    let (first, others) = indexed.partition(|(_, sent)| match &sent.event {
        Ok(event) => seen.insert(&event.key),
        Err(_) => true,
    });
    [first, others]
}

async fn placed<'e>(
    cx: &Context,
    index: usize,
    sent: &'e SentEvent,
) -> (usize, &'e SentEvent, Result<(), Failure>) {
    let ended = match &sent.event {
        Ok(event) => recorded(cx, event).await,
        Err(error) => Err(error.clone().into()),
    };
    (index, sent, ended)
}

async fn recorded(cx: &Context, event: &Event) -> Result<(), Failure> {
    let (events, now) = (&cx.events, cx.clock.now());
    let EventKey { at, event_id, .. } = &event.key;
    let (at, earliest) = (*at, events.settings.earliest);
    if at < earliest {
        let problem = MemberError::TooEarly { found: at, earliest };
        return Err(CommandError::Malformed { member: "at", problem }.into());
    }
    let recorded = events.record(event, now).await;
    if matches!(recorded, Err(DynamoError::TableMissing(_))) {
        return Err(Failure::NotMade(events.settings.period_of(at)));
    }
    match recorded? {
        Recorded::There => Ok(()),
        Recorded::Conflict => Err(Failure::EventConflict { event_id: event_id.clone(), at }),
        Recorded::TooLate => {
            let period = events.settings.period_of(at);
            let until = events.settings.closes_at(period);
            Err(Failure::EventTooLate { event_id: event_id.clone(), at, period, until })
        }
    }
}

/// Logs a refused event. The log line of the message says how many were refused.
fn log(cx: &Context, refused: &RefusedEvent<'_>) {
    let RefusedEvent { index, event, failure } = refused;
    let subject = event.event.as_ref().ok().map(Event::subject).unwrap_or_default();
    log_subject!(
        warn,
        subject,
        message_id = cx.delivery.origin.as_str(),
        command = EventRecorded::TYPES[0],
        index,
        reason = failure.reason(),
        "refused: {failure}"
    );
}
