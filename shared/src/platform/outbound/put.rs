//! The one call: up to ten events at once, each accepted or refused by itself.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{BusError, OutboundEvent, SOURCE};
use crate::platform::runtime::deadline::Deadline;
use crate::platform::runtime::retry;
use crate::platform::signed::{HttpAnswer, HttpCall, SignedError, SignedHttp};

/// Events that EventBridge takes in one call. The largest has less than 6 KB, so ten are far below the 256 KB of a call.
pub(super) const BATCH: usize = 10;
/// The operation, and its content type.
const TARGET: &str = "AWSEvents.PutEvents";
const CONTENT_TYPE: &str = "application/x-amz-json-1.1";

/// The result of each event of a call, in order.
pub(super) type PutResults = Vec<Result<(), BusError>>;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PutRequest<'a> {
    entries: Vec<Entry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Entry<'a> {
    source: &'static str,
    detail_type: &'a str,
    detail: &'a str,
    event_bus_name: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutEventsOutput {
    entries: Vec<PutEventsResult>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutEventsResult {
    event_id: Option<String>,
    error_code: Option<String>,
}

/// Sends at most [`BATCH`] events to a bus, with retries until there is a response or the deadline passes.
pub(super) async fn put(
    http: &SignedHttp,
    url: &str,
    bus: &str,
    events: impl Iterator<Item = &OutboundEvent>,
    deadline: Deadline,
) -> Result<PutResults, BusError> {
    let entry = |event| {
        let (detail_type, detail) = (OutboundEvent::kind(event), OutboundEvent::detail(event));
        Entry { source: SOURCE, detail_type, detail, event_bus_name: bus }
    };
    let request = PutRequest { entries: events.map(entry).collect() };
    let number = request.entries.len();
    let body = serde_json::to_vec(&request).map_err(|e| BusError::Refused(e.to_string()))?;
    let call = HttpCall {
        method: "POST",
        url,
        body: Bytes::from(body),
        content_type: Some(CONTENT_TYPE),
        target: Some(TARGET),
        attempt: retry::attempt,
    };
    http.call(call, deadline, |answer| read(&answer, number)).await
}

fn read(answer: &HttpAnswer, number: usize) -> Result<PutResults, BusError> {
    if !(200..300).contains(&answer.status) {
        return Err(BusError::answered(answer));
    }
    let said = serde_json::from_slice::<PutEventsOutput>(&answer.body).ok();
    let said = said.filter(|said| said.entries.len() == number);
    let said = said.ok_or_else(SignedError::unreadable)?;
    let of_one = |one: PutEventsResult| match (one.error_code, one.event_id) {
        (Some(code), _) => Err(BusError::of_code(&code)),
        (None, Some(_)) => Ok(()),
        (None, None) => Err(SignedError::unreadable().into()),
    };
    Ok(said.entries.into_iter().map(of_one).collect())
}
