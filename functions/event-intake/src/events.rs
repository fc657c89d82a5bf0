//! Parses the body of a request: `{"events":[…]}`.
//!
//! An event is read by [`Event::parse`], like in the writer, so nothing that passes here is malformed there. An event of a closed period
//! would be refused there, and is refused here.

use std::fmt;

use function_http::Problem;
use function_http::problem::Fault;
use serde_json::value::RawValue;
use shared::history::events::{Event, EventSettings, Period};
use shared::platform::message::{CommandError, MemberNames, Members};
use shared::platform::values::{TenantId, Timestamp};

/// The most events of one request.
pub const MOST_EVENTS: usize = 500;

const EVENTS: &str = "events";
const NAMES: MemberNames = &[&[EVENTS]];

/// The events of a tenant.
///
/// # Errors
/// [`Problem::Rejected`] names all events that cannot be accepted.
pub(crate) fn parse(
    sent: &[&RawValue],
    tenant_id: &TenantId,
    settings: &EventSettings,
    now: Timestamp,
) -> Result<Vec<Event>, Problem> {
    let (mut events, mut faults) = (Vec::with_capacity(sent.len()), Vec::new());
    for (index, json) in sent.iter().enumerate() {
        match Event::parse(json.get(), tenant_id, settings.earliest, now) {
            Ok(event) => match settings.closed(event.key.at, now) {
                None => events.push(event),
                Some(period) => faults.push(Fault {
                    index: Some(index),
                    member: Some("at"),
                    detail: closed(period, settings),
                }),
            },
            Err(error) => faults.push(Fault {
                index: Some(index),
                member: error.member(),
                detail: detail(&error),
            }),
        }
    }
    if faults.is_empty() { Ok(events) } else { Err(Problem::Rejected(faults)) }
}

/// The texts of the events of a body: 1 to [`MOST_EVENTS`].
///
/// # Errors
/// [`Problem::Rejected`]
pub(crate) fn sent(body: &str, now: Timestamp) -> Result<Vec<&RawValue>, Problem> {
    let malformed = |e: CommandError| all(e.member(), e.to_string());
    let members = Members::read(body, NAMES, now).map_err(malformed)?;
    let expected = |found: &str| {
        let detail = format!("expected an array of 1 to {MOST_EVENTS} events, got {found}");
        all(Some(EVENTS), detail)
    };
    let json = members.raw(EVENTS).map_err(malformed)?.ok_or_else(|| expected("none"))?;
    let mut sent = Vec::new();
    let mut json = serde_json::Deserializer::from_str(json);
    let read = serde::Deserializer::deserialize_seq(&mut json, EventsVisitor(&mut sent));
    match (sent.len(), read) {
        (0, Ok(())) => Err(expected("0")),
        (1..=MOST_EVENTS, Ok(())) => Ok(sent),
        (0..=MOST_EVENTS, _) => Err(expected("something else")),
        _ => Err(expected("more")),
    }
}

/// Collects the texts of events, and ends with an error at the first that is too many.
struct EventsVisitor<'s, 'a>(&'s mut Vec<&'a RawValue>);

impl<'a> serde::de::Visitor<'a> for EventsVisitor<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: serde::de::SeqAccess<'a>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(event) = seq.next_element()? {
            self.0.push(event);
            if self.0.len() > MOST_EVENTS {
                return Err(serde::de::Error::custom("too many"));
            }
        }
        Ok(())
    }
}

fn closed(period: Period, settings: &EventSettings) -> String {
    format!(
        "expected an instant of a period that takes events, {period} took them until {}",
        settings.closes_at(period)
    )
}

/// What is wrong with an event of a body.
fn detail(error: &CommandError) -> String {
    match error {
        CommandError::NotAnObject(how) => format!("the event is not a JSON object ({how})"),
        _ => error.unredacted(),
    }
}

/// The problem of a body as a whole.
fn all(member: Option<&'static str>, detail: String) -> Problem {
    Problem::Rejected(vec![Fault { index: None, member, detail }])
}
