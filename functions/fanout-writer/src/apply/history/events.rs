//! Events, alone or several in one message.
//!
//! [`shared::history::events`] decides on lateness, repetition and conflict. This module handles several events of one message: it puts up to
//! [`PUTS_IN_FLIGHT`] of them at a time. An event that can never be recorded becomes a dead letter of its own. Dead letters are sent
//! only when no other event of the message has to be tried again. So a repeated message has the same result for each of its events,
//! and makes the same dead letters. [Refusals](shared::history::refusals) beyond those of a day are counted, without a letter.
//!
//! If several events of a message have the same identity, the first of them is put before the others. So the first one stays.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use shared::history::events::{
    Event, EventKey, EventOutcome, EventRecorded, EventsRecorded, SentEvent,
};
use shared::history::refusals::{self, Refusal, RefusedMessage, RefusedSubject};
use shared::log_subject;
use shared::platform::dynamo::DynamoError;
use shared::platform::message::{CommandError, CommandPayload, MemberError};
use shared::platform::values::RefusalReason;

use crate::context::Context;
use crate::context::History;
use crate::dead_letters::RefusedEvent;
use crate::disposition::Disposition;
use crate::failure::Failure;
use crate::refusal::refused_event;

/// The most events of one message that are put at the same time.
const PUTS_IN_FLIGHT: usize = 16;

/// Records an event, unless it is too late or another event has its identity.
pub(crate) async fn record(
    history: History<'_>,
    event: EventRecorded,
) -> Result<Disposition, Failure> {
    recorded(history, &event.event).await?;
    Ok(Disposition::Applied(None))
}

/// Records the events of one message.
pub(crate) async fn record_all(
    history: History<'_>,
    events: EventsRecorded,
) -> Result<Disposition, Failure> {
    let readable: Vec<_> = events.events.iter().filter_map(|it| it.event.as_ref().ok()).collect();
    let cx = history.cx;
    history.events.look_up(readable.into_iter(), cx.clock.now()).await;
    let mut refused = Vec::new();
    for turn in by_turn(&events.events) {
        let puts: Vec<_> =
            turn.into_iter().map(|(index, event)| placed(history, index, event)).collect();
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
    let kept = kept(cx, &events, &refused).await?;
    let letters: Vec<_> = refused.iter().filter(|it| kept.contains(&it.index)).collect();
    cx.dead_letters.send_events(&cx.delivery, events.group(), &letters).await?;
    refused.iter().for_each(|it| log(cx, it));
    Ok(Disposition::AppliedBut(refused.len()))
}

/// Counts refused events. Returns the indexes of those that are kept as dead letters.
async fn kept(
    cx: &Context,
    events: &EventsRecorded,
    refused: &[RefusedEvent<'_>],
) -> Result<HashSet<usize>, Failure> {
    let counted = refused.iter().filter_map(|RefusedEvent { index, event, failure }| {
        let reason = RefusalReason::parse(failure.reason())?;
        let event = match &event.event {
            Ok(event) => refused_event(event, failure),
            Err(_) => refusals::RefusedEvent::unreadable(failure.unredacted()),
        };
        Some(Refusal { index: *index, reason, event: Some(event) })
    });
    let counted: Vec<_> = counted.collect();
    let subject = RefusedSubject::of_command(&events.subject());
    let tenant = events.tenant_id.as_ref();
    let message = RefusedMessage { origin: &cx.delivery.origin, subject: &subject, tenant };
    let refusals = cx.dead_letters.refusals(&cx.ledger);
    let kept = refusals.count(message, &counted, cx.clock.now()).await?;
    let kept: HashSet<_> = kept.into_iter().map(|refusal| refusal.index).collect();
    // A failure that is not a refusal is always kept.
    let is_refusal = |it: &&RefusedEvent<'_>| RefusalReason::parse(it.failure.reason()).is_some();
    let others = refused.iter().filter(|it| !is_refusal(it)).map(|it| it.index);
    Ok(others.chain(kept).collect())
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
    history: History<'_>,
    index: usize,
    sent: &'e SentEvent,
) -> (usize, &'e SentEvent, Result<(), Failure>) {
    let ended = match &sent.event {
        Ok(event) => recorded(history, event).await,
        Err(error) => Err(error.clone().into()),
    };
    (index, sent, ended)
}

async fn recorded(History { cx, events }: History<'_>, event: &Event) -> Result<(), Failure> {
    let now = cx.clock.now();
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
        EventOutcome::There => Ok(()),
        EventOutcome::Conflict => Err(Failure::EventConflict { event_id: event_id.clone(), at }),
        EventOutcome::TooLate => {
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
