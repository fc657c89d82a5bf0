//! Parses the body of a request: `{"events":[…]}`.
//!
//! An event is read by [`Event::parse`], like in the writer, so nothing that passes here is malformed there.

use api::Problem;
use api::problem::Fault;
use serde_json::value::RawValue;
use shared::events::Event;
use shared::message::{CommandError, Members, Names};
use shared::values::{TenantId, Timestamp};

/// The most events of one request.
pub const MOST_EVENTS: usize = 500;

const EVENTS: &str = "events";
const NAMES: Names = Names { known: &[&[EVENTS]], besides: &[] };

/// The events of a tenant in a body.
///
/// # Errors
/// [`Problem::Rejected`] names all events that cannot be accepted.
pub(crate) fn parse(
    body: &str,
    tenant_id: &TenantId,
    earliest: Timestamp,
    now: Timestamp,
) -> Result<Vec<Event>, Problem> {
    let sent = sent(body, now)?;
    let (mut events, mut faults) = (Vec::with_capacity(sent.len()), Vec::new());
    for (index, json) in sent.into_iter().enumerate() {
        match Event::parse(json.get(), tenant_id, earliest, now) {
            Ok(event) => events.push(event),
            Err(error) => faults.push(Fault {
                index: Some(index),
                member: error.member(),
                detail: detail(&error),
            }),
        }
    }
    if faults.is_empty() { Ok(events) } else { Err(Problem::Rejected(faults)) }
}

/// The texts of the events.
fn sent(body: &str, now: Timestamp) -> Result<Vec<&RawValue>, Problem> {
    let members = Members::read(body, NAMES, now).map_err(|e| all(e.member(), e.to_string()))?;
    let expected = |found: &str| {
        let detail = format!("expected an array of 1 to {MOST_EVENTS} events, got {found}");
        all(Some(EVENTS), detail)
    };
    let json = members.raw(EVENTS).ok_or_else(|| expected("none"))?;
    let sent: Vec<&RawValue> =
        serde_json::from_str(json).map_err(|_| expected("something else"))?;
    match sent.len() {
        1..=MOST_EVENTS => Ok(sent),
        number => Err(expected(&number.to_string())),
    }
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
