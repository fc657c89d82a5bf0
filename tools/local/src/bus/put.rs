//! `PutEvents`, by the rules of EventBridge.

use nagare_client::local_stack::REGION;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use shared::platform::values::Timestamp;
use uuid::Uuid;

use super::{LocalBus, NAME};
use crate::aws_models::{self, Unknown};

/// The prefix of every operation's target.
pub(crate) const TARGET: &str = "AWSEvents.";
/// The most bytes of all entries of a request.
const MOST_BYTES: usize = 256 * 1024;
/// The account id that a local stack uses.
const ACCOUNT: &str = "000000000000";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    entries: Vec<PutEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutEntry {
    #[serde(default)]
    source: String,
    #[serde(default)]
    detail_type: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    resources: Vec<String>,
    event_bus_name: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PutAnswer {
    failed_entry_count: usize,
    entries: Vec<Answered>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answered {
    Taken {
        #[serde(rename = "EventId")]
        event_id: String,
    },
    Failed {
        #[serde(rename = "ErrorCode")]
        code: &'static str,
        #[serde(rename = "ErrorMessage")]
        message: &'static str,
    },
}

/// An event in the form in which a rule hands it to a target.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Envelope<'a> {
    version: &'static str,
    id: &'a str,
    detail_type: &'a str,
    source: &'a str,
    account: &'static str,
    time: String,
    region: &'static str,
    resources: &'a [String],
    detail: &'a RawValue,
}

impl PutEntry {
    fn bytes(&self) -> usize {
        let resources = self.resources.iter().map(String::len).sum::<usize>();
        self.source.len() + self.detail_type.len() + self.detail.len() + resources
    }

    /// True if it is for the bus of this stack, by its name or its ARN.
    fn is_for_this(&self) -> bool {
        let name = self.event_bus_name.as_deref().unwrap_or("default");
        name == NAME || name.rsplit_once(":event-bus/").is_some_and(|(_, name)| name == NAME)
    }
}

impl LocalBus {
    /// Answers a call of EventBridge: the status, and a body in JSON.
    pub fn call(&self, target: &str, body: &[u8]) -> (u16, String) {
        if target != "AWSEvents.PutEvents" {
            return refused("UnknownOperationException", "There is PutEvents alone here.");
        }
        let malformed =
            || refused("SerializationException", "The request is not one of PutEvents.");
        let Ok(request) = serde_json::from_slice(body) else { return malformed() };
        if let Err(violation) = aws_models::check("events.PutEvents", &request, Unknown::Ignored) {
            return refused("ValidationException", &violation.to_string());
        }
        let Ok(Request { entries }) = serde_json::from_value(request) else { return malformed() };
        if entries.iter().map(PutEntry::bytes).sum::<usize>() > MOST_BYTES {
            return refused(
                "ValidationException",
                "Total size of the entries in the request is over the limit.",
            );
        }
        let entries: Vec<_> = entries.iter().map(|entry| self.take(entry)).collect();
        let failed = entries.iter().filter(|it| matches!(it, Answered::Failed { .. })).count();
        let answer = PutAnswer { failed_entry_count: failed, entries };
        match serde_json::to_string(&answer) {
            Ok(answer) => (200, answer),
            Err(failure) => (500, error("InternalException", &failure.to_string())),
        }
    }

    fn take(&self, entry: &PutEntry) -> Answered {
        let PutEntry { source, detail_type, detail, resources, .. } = entry;
        let failed = |code, message| Answered::Failed { code, message };
        for (text, message) in [
            (source, "Parameter Source is not valid."),
            (detail_type, "Parameter DetailType is not valid."),
        ] {
            if text.is_empty() {
                return failed("InvalidArgument", message);
            }
        }
        let parsed = serde_json::from_str::<&RawValue>(detail).ok();
        let Some(detail) = parsed.filter(|detail| detail.get().starts_with('{')) else {
            return failed("MalformedDetail", "Detail is malformed.");
        };
        let (event_id, now) = (Uuid::new_v4().to_string(), self.clock.now());
        // EventBridge takes what is for a bus that does not exist, and drops it.
        if !entry.is_for_this() {
            return Answered::Taken { event_id };
        }
        let envelope = Envelope {
            version: "0",
            id: &event_id,
            detail_type,
            source,
            account: ACCOUNT,
            time: to_the_second(now),
            region: REGION,
            resources,
            detail,
        };
        match serde_json::value::to_raw_value(&envelope) {
            Ok(event) => self.keep(event),
            Err(_) => return failed("InternalFailure", "The event cannot be written."),
        }
        Answered::Taken { event_id }
    }
}

/// An instant as EventBridge writes it.
fn to_the_second(at: Timestamp) -> String {
    let text = at.to_string();
    text.split_once('.').map_or_else(|| text.clone(), |(seconds, _)| format!("{seconds}Z"))
}

fn refused(name: &str, message: &str) -> (u16, String) {
    (400, error(name, message))
}

fn error(name: &str, message: &str) -> String {
    json!({"__type": name, "message": message}).to_string()
}
