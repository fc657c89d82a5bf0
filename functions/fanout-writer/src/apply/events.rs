//! Events, alone or several in one message.
//!
//! [`shared::events`] decides on lateness, repetition and conflict. This module handles several events of one message: up to
//! [`PUTS_IN_FLIGHT`] are put at a time. An event that can never be recorded becomes a dead letter of its own, once no other event
//! of the message has to be tried again. So a repeated message has the same result for each of its events, and makes the same
//! letters.
//!
//! Two events of one message with the same identity are put one after the other: the first of them stays.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use shared::dynamo::DynamoError;
use shared::events::{Event, EventKey, EventRecorded, EventsRecorded, Recorded, SentEvent};
use shared::log_subject;
use shared::message::{CommandError, CommandPayload, MemberError};

use crate::dead_letters::RefusedEvent;
use crate::{Context, Disposition, Failure};

/// Events of one message that are put at once.
const PUTS_IN_FLIGHT: usize = 16;

/// Records an event, unless it is too late or another event has its identity.
pub(crate) async fn record(cx: &Context, event: EventRecorded) -> Result<Disposition, Failure> {
    recorded(cx, &event.0).await?;
    Ok(Disposition::Applied(None))
}

/// Records several.
pub(crate) async fn record_all(
    cx: &Context,
    events: EventsRecorded,
) -> Result<Disposition, Failure> {
    let readable: Vec<_> = events.events.iter().filter_map(|it| it.event.as_ref().ok()).collect();
    cx.events.look_up(readable.into_iter(), cx.clock.now(), cx.delivery.deadline).await;
    let mut refused = Vec::new();
    for some in by_turn(&events.events) {
        let puts: Vec<_> =
            some.into_iter().map(|(index, event)| placed(cx, index, event)).collect();
        let mut ended = stream::iter(puts).buffer_unordered(PUTS_IN_FLIGHT);
        let mut passing = None;
        while let Some((index, event, ended)) = ended.next().await {
            match ended {
                Ok(()) => {}
                Err(failure) if failure.is_permanent() => {
                    refused.push(RefusedEvent { index, event, failure });
                }
                Err(failure) => passing = Some(failure),
            }
        }
        if let Some(failure) = passing {
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

/// Events with their indices: the first of each identity, and the others.
fn by_turn(events: &[SentEvent]) -> [Vec<(usize, &SentEvent)>; 2] {
    let mut seen = HashSet::<&EventKey>::new();
    let places = events.iter().enumerate();
    let (first, others) = places.partition(|(_, sent)| match &sent.event {
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
    let recorded = events.record(event, now, cx.delivery.deadline).await;
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

/// The log line of a refused event. The line of its message says how many there were.
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
